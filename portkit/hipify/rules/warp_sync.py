"""A call of a warp function with a full mask.

CUDA's ``__shfl_xor_sync(mask, ...)`` and its kin take a 32-bit mask first and work on 32 lanes.
HIP's take a 64-bit mask or none and work on a wavefront, 32 or 64 lanes. The prelude's functions
work on logical warps of 32 lanes on every architecture; the mask goes.

Example: ``__shfl_xor_sync(0xffffffff, x, 16)`` becomes ``hipx::shfl_xor(x, 16)``.

Limits: only masks that name all lanes are translated (``0xffffffff``, ``~0``, ``-1``, casts of it,
``FULL_MASK`` and other names that end in ``FULL_MASK``, and a name that the file itself defines as
one of them, by ``#define`` or as a constant, which may be the function's own); with any other a
shuffle is for review (PH114), and the rest is refused (PH202).

Source: CUDA C++ Programming Guide, "Warp Shuffle Functions"; HIP headers,
amd_warp_sync_functions.h.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._common import rewritten
from portkit.tree.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH105"

_FULL_MASK = re.compile(
    r"0[xX][fF]{8}[uUlL]*|4294967295[uUlL]*|~0[xX]?0*[uUlL]*|-1|\w*FULL_?MASK|UINT(32)?_MAX|"
    r"(unsigned(int)?|uint32_t)\(-1\)|\((unsigned(int)?|uint32_t)\)-1|"
    r"(std::)?numeric_limits<(unsigned(int)?|uint32_t)>::max\(\)",
    re.IGNORECASE,
)
# Before a name that is used as it is; other names before it are types.
_USED = frozenset({"return", "else", "case"})


def is_full_mask(source: KernelSource, argument: range) -> bool:
    """Whether a mask argument names all 32 lanes."""
    tokens = [source.tokens[index] for index in argument]
    while len(tokens) > 2 and tokens[0].text == "(" and tokens[-1].text == ")":
        inner = tokens[1:-1]
        if any(token.text in "()" for token in inner):
            break
        tokens = inner
    text = "".join(token.text for token in tokens)
    # A file may have a name of its own for another mask that ends like one of all lanes.
    values = _values(source, text) if len(tokens) == 1 and tokens[0].kind == "name" else []
    if values is None:
        values = _in_scope(source, argument.start)
        if not values:
            return False
    if values:
        return all(_FULL_MASK.fullmatch(value) for value in values)
    return _FULL_MASK.fullmatch(text) is not None


def _values(source: KernelSource, name: str) -> list[str] | None:
    """Return what a file says that a name is, in each branch of the preprocessor.

    None where it is a variable somewhere, a parameter or an argument of a template.
    """
    values = []
    for index in source.names.get(name, ()):
        before = source.tokens[index - 1] if index else None
        if before is None or before.text in _USED:
            continue
        if before.text == "#define":
            end = source.text.find("\n", before.end)
            stop = len(source.text) if end < 0 else end
            values.append(_squeezed(source, index + 1, stop))
        elif _is_constant(source, index):
            stop = next((t.start for t in source.tokens[index:] if t.text in ";,"), 0)
            values.append(_squeezed(source, index + 2, stop))
        elif before.kind == "name" or source.is_token(index + 1, "="):
            return None
    return values


def _in_scope(source: KernelSource, use: int) -> list[str]:
    """Return what a constant is that a use of it sees; none where it sees a variable.

    It looks backwards through the blocks around the use, and the heads of those, where parameters
    and the variables of loops are: the first block that declares the name has it.
    """
    name = source.tokens[use].text
    values: list[str] = []
    depth = brackets = 0
    in_head = True  # of a loop without braces, or of the block that was left last
    for index in range(use - 1, -1, -1):
        token = source.tokens[index]
        if token.text == "}":
            depth += 1
            in_head = False
        elif token.text == "{":
            if depth == 0 and values:
                return values
            in_head = depth == 0
            depth = max(0, depth - 1)
        elif depth:
            continue
        elif token.text in "()":
            brackets += 1 if token.text == ")" else -1
        elif token.text == ";" and brackets <= 0:
            in_head = False
        elif token.text == name and (brackets <= 0 or in_head):
            before = source.tokens[index - 1]
            if _is_constant(source, index):
                stop = next((t.start for t in source.tokens[index:] if t.text in ";,"), 0)
                values.append(_squeezed(source, index + 2, stop))
            elif before.text not in _USED and (
                before.kind == "name" or before.text in ("*", "&", ">", "#define")
            ):
                return []
    return values


def _is_constant(source: KernelSource, index: int) -> bool:
    """Whether a constant is defined at an index, ``constexpr unsigned FULL = ..``."""
    if not source.is_token(index + 1, "="):
        return False
    for token in reversed(source.tokens[max(0, index - 8) : index]):
        if token.text in ("const", "constexpr"):
            return True
        if token.kind != "name" and token.text not in ("::",):
            return False
    return False


def _squeezed(source: KernelSource, first: int, stop: int) -> str:
    """Return the tokens up to an offset without the brackets around the whole."""
    texts = []
    for token in source.tokens[first:]:
        if token.start >= stop:
            break
        texts.append(token.text)
    if len(texts) > 2 and texts[0] in "({" and source.closing(first) == first + len(texts) - 1:
        texts = texts[1:-1]
    return "".join(texts)


def calls(source: KernelSource) -> Iterator[tuple[int, list[range] | None]]:
    """Return each masked call: the index of its name, and its arguments."""
    for name, mapping in api_table.corrections().items():
        if mapping.kind != "warp":
            continue
        for index in source.names.get(name, ()):
            defined = source.is_token(index - 1, "#define")
            if source.is_token(index + 1, "(") and not defined:
                yield index, source.arguments(index + 1)


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each call with a full mask, or with none where none is the default."""
    table = api_table.corrections()
    for index, arguments in calls(source):
        if arguments is None:
            continue
        token = source.tokens[index]
        new = table[token.text].hip
        edits = [Edit(token.start, token.end, new)]
        if arguments:
            if not is_full_mask(source, arguments[0]):
                continue
            mask = source.tokens[arguments[0].start].start
            rest = source.tokens[arguments[1].start].start if len(arguments) > 1 else None
            end = source.tokens[arguments[0].stop - 1].end if rest is None else rest
            edits.append(Edit(mask, end, ""))
        yield rewritten(
            source,
            CODE,
            index,
            arguments[0].stop if arguments else index,
            tuple(edits),
            construct="warp function",
            message=f"{token.text} becomes {new}, on logical warps of 32 lanes",
        )
