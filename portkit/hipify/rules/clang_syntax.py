"""Rules about C++ that nvcc accepts and clang does not: empty braces, dependent templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.api_table import load_corrections
from portkit.hipify.rules.queries import MEMBER
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.hipify.scopes import STATEMENT
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

_TYPES: Final = frozenset(
    {
        *("half", "__half", "half2", "__half2", "nv_bfloat16", "nv_bfloat162"),
        *("__nv_bfloat16", "__nv_bfloat162", "__hip_bfloat16", "__hip_bfloat162"),
    }
)

_BEGINS: Final = frozenset({";", "{", "}", "(", ",", ">", "const", "static", "__shared__"})
"""Tokens before the type in a declaration."""


def _find_brace_assignments(source: KernelSource) -> Iterator[Hit]:
    if not _TYPES & source.names.keys():
        return
    for index, text in enumerate(source.texts):
        if text != "=" or not source.reads(index + 1, "{", "}"):
            continue
        name = _read_assigned_name(source, index)
        kind = _find_type(source, name) if name is not None else ""
        if name is None or kind not in _TYPES:
            continue
        mapping = load_corrections().get(kind)
        written = mapping.hip if mapping and mapping.hip else kind
        brace = source.tokens[index + 1].start
        message = f"what is assigned is a {written}: braces alone suit several assignments"
        yield Hit(name, index, message, (Edit(brace, brace, written),))


def _read_assigned_name(source: KernelSource, index: int) -> int | None:
    """Return the variable or element that an assignment assigns to.

    None if it is a declaration or a member.
    """
    at = index - 1
    while source.is_token(at, "]"):
        begin = source.closing(at)
        if begin is None:
            return None
        at = begin - 1
    if at < 0 or source.tokens[at].kind != "name":
        return None
    before = source.tokens[at - 1] if at else None
    if before is None or before.text in MEMBER:
        return None
    if before.text in (";", "{", "}", ")", "else", "do") or before.kind == "directive":
        return at
    return at if _is_directive_end(source, at - 1) else None


def _is_directive_end(source: KernelSource, index: int) -> bool:
    """Whether a token is the last one of a line of the preprocessor's."""
    token = source.tokens[index]
    start = source.text.rfind("\n", 0, token.start) + 1
    end = source.text.find("\n", token.end)
    following = source.tokens[index + 1]
    return source.text[start:].lstrip().startswith("#") and end < following.start


def _find_type(source: KernelSource, use: int) -> str:
    """Return the type in the declaration that a use of a variable sees; empty if it sees none.

    It looks backwards through the blocks around the use, and the heads of those.
    """
    name = source.texts[use]
    depth = brackets = 0
    in_head = True  # of the statement, or of the block that was left last
    for index in range(use - 1, -1, -1):
        text = source.texts[index]
        if text == "}":
            depth += 1
            in_head = False
        elif text == "{":
            in_head = depth == 0
            depth = max(0, depth - 1)
        elif depth:
            continue
        elif text in "()":
            brackets += 1 if text == ")" else -1
        elif text == ";" and brackets <= 0:
            in_head = False
        elif text == name and (brackets <= 0 or in_head):
            declared = _read_declared_type(source, index)
            if declared is not None:
                return declared
    return ""


def _read_declared_type(source: KernelSource, index: int) -> str | None:
    """Return the type before a name, None if the name is used.

    It is empty if a declaration of several names may begin with the type.
    """
    before = index - 1
    while before > 0 and source.texts[before] in ("&", "*", "const", "__restrict__"):
        before -= 1
    token = source.tokens[before]
    if token.text == ",":
        return ""
    is_type = token.kind == "name" and token.text not in STATEMENT
    if not is_type or (before == index - 1 and _is_directive_end(source, before)):
        return None
    begins = before == 0 or source.texts[before - 1] in _BEGINS
    # A product, ``y = a * x``, looks as a pointer does.
    return token.text if begins or before == index - 1 else None


def _find_dependent_templates(source: KernelSource) -> Iterator[Hit]:
    if "template" not in source.names:
        return
    found = [at - 1 for at, text in enumerate(source.texts) if text == "<"]
    calls = [index for index in found if _is_call(source, index)]
    names = {source.texts[index] for index in calls}
    templates = {name for name in names if _is_template(source, name)}
    for index in calls:
        if (name := source.texts[index]) in templates:
            start = source.tokens[index].start
            edits = (Edit(start, start, "template "),)
            yield Hit(index, index, f"clang asks for the word template before {name}", edits)


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
    while index < len(source.texts):
        text = source.texts[index]
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
    for index in source.uses(name):
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
        text = source.texts[at]
        if text in (";", "{", "}"):
            return False
        if text == "template":
            return source.is_token(at + 1, "<")
    return False


RULES: Final = (
    KernelRule("PH115", "brace_assignment", "assignment of empty braces", _find_brace_assignments),
    KernelRule("PH116", "dependent_template", "dependent template", _find_dependent_templates),
)
