"""A call of a warp function with a full mask.

CUDA's ``__shfl_xor_sync(mask, ...)`` and its kin take a 32-bit mask first and work on 32 lanes.
HIP's take a 64-bit mask or none and work on a wavefront, 32 or 64 lanes. The prelude's functions
work on logical warps of 32 lanes on every architecture; the mask goes.

Example: ``__shfl_xor_sync(0xffffffff, x, 16)`` becomes ``hipx::shfl_xor(x, 16)``.

Limits: only masks that name all lanes are translated (``0xffffffff``, ``~0``, ``-1``, casts of it,
``FULL_MASK`` and other names that end in ``FULL_MASK``, and a name that the file itself defines as
one of them, by ``#define`` or as a constant, which may be the function's own); with any other a
shuffle is for review (PH114), and the rest is refused (PH202). Code that only AMD's compiler reads
is HIP's already and stays.

Source: CUDA C++ Programming Guide, "Warp Shuffle Functions"; HIP headers,
amd_warp_sync_functions.h.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from portkit.hipify import api_table
from portkit.hipify.rules._findings import drop_amd_uses, report_rewrite
from portkit.hipify.scopes import resolve_name
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH105"

_FULL_MASK = re.compile(
    r"0[xX][fF]{8}[uUlL]*|4294967295[uUlL]*|~0[xX]?0*[uUlL]*|-1|\w*FULL_?MASK|UINT(32)?_MAX|"
    r"(unsigned(int)?|uint32_t)\(-1\)|\((unsigned(int)?|uint32_t)\)-1|"
    r"(std::)?numeric_limits<(unsigned(int)?|uint32_t)>::max\(\)",
    re.IGNORECASE,
)
# Before a name that is used as it is; other names before it are types.
_USED = frozenset({"return", "else", "case"})


class WarpCall(NamedTuple):
    """A warp function that is called.

    Attributes:
        name: the index of the name.
        arguments: the tokens of each argument, the mask first; None without an end.
        is_full: whether the mask names all 32 lanes.
    """

    name: int
    arguments: list[range] | None
    is_full: bool


def find_masked_calls(source: KernelSource) -> Iterator[WarpCall]:
    """Yield each masked call, but for those that only AMD's compiler reads."""
    masks = _Masks(source)
    for name, mapping in api_table.load_corrections().items():
        if mapping.kind != "warp":
            continue
        for index in drop_amd_uses(source, source.names.get(name, ())):
            defined = source.is_token(index - 1, "#define")
            if source.is_token(index + 1, "(") and not defined:
                arguments = source.arguments(index + 1)
                is_full = masks.is_full(arguments[0]) if arguments else False
                yield WarpCall(index, arguments, is_full)


class _Masks:
    """The masks of one source; each name is resolved once."""

    def __init__(self, source: KernelSource) -> None:
        self._source = source
        self._values: dict[str, list[str] | None] = {}
        self._declared: dict[str, dict[int, list[int]]] = {}

    def is_full(self, argument: range) -> bool:
        """Whether a mask argument names all 32 lanes."""
        tokens = [self._source.tokens[index] for index in argument]
        first = argument.start
        while len(tokens) > 2 and tokens[0].text == "(" and tokens[-1].text == ")":
            inner = tokens[1:-1]
            if any(token.text in "()" for token in inner):
                break
            tokens, first = inner, first + 1
        text = "".join(token.text for token in tokens)
        # A file may have a name of its own for another mask that ends like one of all lanes.
        values: list[str] | None = []
        if len(tokens) == 1 and tokens[0].kind == "name":
            if text not in self._values:
                self._values[text] = _find_values(self._source, text)
            values = self._values[text]
        if values is None:
            values = self._find_in_scope(text, first)
            if not values:
                return False
        if values:
            return all(_FULL_MASK.fullmatch(value) for value in values)
        return _FULL_MASK.fullmatch(text) is not None

    def _find_in_scope(self, name: str, use: int) -> list[str]:
        """Return what a constant is that a use of it sees; none where it sees a variable."""
        if name not in self._declared:
            self._declared[name] = resolve_name(self._source, name)
        places = self._declared[name].get(use, [])
        if not all(_is_constant(self._source, index) for index in places):
            return []
        return [_strip_brackets(self._source, index + 2) for index in places]


def _find_values(source: KernelSource, name: str) -> list[str] | None:
    """Return what a file says that a name is, in each branch of the preprocessor.

    None where it is a variable somewhere, a parameter or an argument of a template.
    """
    values: dict[str, None] = {}
    for index in source.names.get(name, ()):
        before = source.tokens[index - 1] if index else None
        if before is None or before.text in _USED:
            continue
        if before.text == "#define":
            end = source.text.find("\n", before.end)
            stop = len(source.text) if end < 0 else end
            values[_strip_brackets(source, index + 1, stop)] = None
        elif _is_constant(source, index):
            values[_strip_brackets(source, index + 2)] = None
        elif before.kind == "name" or source.is_token(index + 1, "="):
            return None
    return list(values)


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


def _strip_brackets(source: KernelSource, first: int, stop: int | None = None) -> str:
    """Return a value without the brackets around the whole.

    Args:
        source: the file.
        first: index of the value's first token.
        stop: the offset where it ends; None for that of a declaration.
    """
    texts: list[str] = []
    for index in range(first, len(source.tokens)):
        token = source.tokens[index]
        if token.text in ";," if stop is None else token.start >= stop:
            break
        texts.append(token.text)
    if len(texts) > 2 and texts[0] in "({" and source.closing(first) == first + len(texts) - 1:
        texts = texts[1:-1]
    return "".join(texts)


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each call with a full mask, or with none where none is the default."""
    table = api_table.load_corrections()
    for index, arguments, is_full in find_masked_calls(source):
        if arguments is None:
            continue
        token = source.tokens[index]
        new = table[token.text].hip
        edits = [Edit(token.start, token.end, new)]
        if arguments:
            if not is_full:
                continue
            mask = source.tokens[arguments[0].start].start
            rest = source.tokens[arguments[1].start].start if len(arguments) > 1 else None
            end = source.tokens[arguments[0].stop - 1].end if rest is None else rest
            edits.append(Edit(mask, end, ""))
        yield report_rewrite(
            source,
            CODE,
            index,
            arguments[0].stop if arguments else index,
            tuple(edits),
            construct="warp function",
            message=f"{token.text} becomes {new}, on logical warps of 32 lanes",
        )
