"""A half or bfloat16, or a pair of them, that empty braces are assigned to.

HIP's types have an assignment for each of their representations, and empty braces suit all of them,
which clang refuses as ambiguous. With the type before the braces one value is made and assigned,
which is what they mean ([expr.ass]).

Example: ``x = {};`` becomes ``x = half2{};`` where ``x`` is a ``half2``.

Limits: variables that the file declares by themselves, as in ``half2 x``.

Source: HIP headers amd_hip_fp16.h and amd_hip_bf16.h; ISO C++17, [expr.ass] and [over.ics.list].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify import api_table
from portkit.hipify.rules._findings import MEMBER, report_rewrite
from portkit.hipify.scopes import STATEMENT
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH115"

_TYPES: Final = frozenset(
    {
        *("half", "__half", "half2", "__half2", "nv_bfloat16", "nv_bfloat162"),
        *("__nv_bfloat16", "__nv_bfloat162", "__hip_bfloat16", "__hip_bfloat162"),
    }
)

_BEGINS: Final = frozenset({";", "{", "}", "(", ",", ">", "const", "static", "__shared__"})
"""What stands before the type in a declaration."""


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such assignment."""
    if not _TYPES & source.names.keys():
        return
    for index, text in enumerate(source.texts):
        if text != "=" or not (source.is_token(index + 1, "{") and source.is_token(index + 2, "}")):
            continue
        name = _read_assigned_name(source, index)
        kind = _find_type(source, name) if name is not None else ""
        if name is None or kind not in _TYPES:
            continue
        mapping = api_table.load_corrections().get(kind)
        written = mapping.hip if mapping and mapping.hip else kind
        brace = source.tokens[index + 1].start
        yield report_rewrite(
            source,
            CODE,
            name,
            index,
            (Edit(brace, brace, written),),
            construct="assignment of empty braces",
            message=f"what is assigned is a {written}: braces alone suit several assignments",
        )


def _read_assigned_name(source: KernelSource, index: int) -> int | None:
    """Return the name that an assignment at an index assigns to, if it is a variable or element.

    None where it is a declaration or a member.
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
    """Whether a token stands on a line of the preprocessor's, and is the last of it."""
    token = source.tokens[index]
    start = source.text.rfind("\n", 0, token.start) + 1
    end = source.text.find("\n", token.end)
    following = source.tokens[index + 1]
    return source.text[start:].lstrip().startswith("#") and end < following.start


def _find_type(source: KernelSource, use: int) -> str:
    """Return the type in the declaration that a use of a variable sees; empty where it is not seen.

    It looks backwards through the blocks around the use, and the heads of those.
    """
    name = source.tokens[use].text
    depth = brackets = 0
    in_head = True  # of the statement, or of the block that was left last
    for index in range(use - 1, -1, -1):
        text = source.tokens[index].text
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
    """Return the type that stands before a name, None where the name is used.

    It is empty where a declaration of several names may begin with the type.
    """
    before = index - 1
    while before > 0 and source.tokens[before].text in ("&", "*", "const", "__restrict__"):
        before -= 1
    token = source.tokens[before]
    if token.text == ",":
        return ""
    is_type = token.kind == "name" and token.text not in STATEMENT
    if not is_type or (before == index - 1 and _is_directive_end(source, before)):
        return None
    begins = before == 0 or source.tokens[before - 1].text in _BEGINS
    # A product, ``y = a * x``, looks as a pointer does.
    return token.text if begins or before == index - 1 else None
