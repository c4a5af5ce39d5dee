"""A member template that is called through a type or value which depends on a parameter.

C++ wants ``template`` before its name there, since ``<`` would be read as less-than; nvcc does not
ask for it, and clang does. The word changes nothing else, and may stand wherever a template is
named after ``::``, ``.`` or ``->``, whether what is before depends on a parameter or not.

Example: ``vec_cast<T, U>::cast<n>(x)`` becomes ``vec_cast<T, U>::template cast<n>(x)``.

Limits: templates that the file itself declares, where no declaration there makes a variable of the
name; after ``::`` only where a template's arguments stand before that.

Source: ISO C++17, [temp.names], paragraphs 4 and 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules._findings import report_rewrite
from portkit.hipify.scopes import STATEMENT
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH116"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such call."""
    if "template" not in source.names:
        return
    found = [at - 1 for at, text in enumerate(source.texts) if text == "<"]
    calls = [index for index in found if _is_call(source, index)]
    names = {source.texts[index] for index in calls}
    templates = {name for name in names if _is_template(source, name)}
    for index in calls:
        if (name := source.texts[index]) in templates:
            start = source.tokens[index].start
            yield report_rewrite(
                source,
                CODE,
                index,
                index,
                (Edit(start, start, "template "),),
                construct="dependent template",
                message=f"clang asks for the word template before {name}",
            )


def _is_call(source: KernelSource, index: int) -> bool:
    """Whether a member is called at an index, before an angle bracket that opens."""
    before = source.texts[index - 1] if index > 1 else ""
    if before == "::" and not source.is_token(index - 2, ">"):
        return False
    if before not in ("::", ".", "->") or source.tokens[index].kind != "name":
        return False
    end = _skip_template_arguments(source, index + 1)
    return end is not None and source.is_token(end, "(")


def _skip_template_arguments(source: KernelSource, index: int) -> int | None:
    """Return the index after the bracket that closes the angle bracket at an index."""
    depth = 0
    while index < len(source.tokens):
        text = source.tokens[index].text
        if text in ("<", ">"):
            depth += 1 if text == "<" else -1
            if depth == 0:
                return index + 1
        elif text in ("(", "[", "{"):
            close = source.closing(index)
            if close is None:
                return None
            index = close
        elif text in (";", ")", "]", "}", "&&", "||", "<<<"):
            return None
        index += 1
    return None


def _is_template(source: KernelSource, name: str) -> bool:
    """Whether the file declares function templates of a name, and nothing else."""
    found = False
    for index in source.names[name]:
        before = source.tokens[index - 1] if index else None
        typed = before is not None and (before.kind == "name" or before.text in ("*", "&", ">"))
        if before is None or not typed or before.text in STATEMENT or before.text == "template":
            continue
        if source.is_token(index + 1, "(") and _has_template_parameters(source, index):
            found = True
        elif before.kind == "name" and not source.is_token(index + 1, "("):
            return False
    return found


def _has_template_parameters(source: KernelSource, index: int) -> bool:
    """Whether the declaration of a name begins with the parameters of a template."""
    for at in range(index - 1, -1, -1):
        text = source.tokens[at].text
        if text in (";", "{", "}"):
            return False
        if text == "template":
            return source.is_token(at + 1, "<")
    return False
