"""Rules about warp functions with a mask: of all lanes, of some, or not known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from portkit.hipify.api_table import list_corrections, load_corrections
from portkit.hipify.rules.queries import drop_amd_uses
from portkit.hipify.rules.renames import WARP_SIZE
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.hipify.scopes import resolve_name
from portkit.workspace.finding import Applicability, Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

_FULL_MASK: Final = re.compile(
    r"0[xX][fF]{8}(?:[fF]{8})?[uUlL]*|4294967295[uUlL]*|~0[xX]?0*[uUlL]*|-1|\w*FULL_?MASK|"
    r"UINT(32)?_MAX|"
    r"(unsigned(int)?|uint32_t)\(-1\)|\((unsigned(int)?|uint32_t)\)-1|"
    r"(std::)?numeric_limits<(unsigned(int)?|uint32_t)>::max\(\)",
    re.IGNORECASE,
)
# Before a name that is used as it is; other names before it are types.
_USED: Final = frozenset({"return", "else", "case"})

_SHUFFLES: Final = frozenset(
    {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"}
)
_CHANGES: Final = frozenset({"=", "++", "--", "+=", "-=", "*=", "%=", "&=", "|=", "^=", "<<="})


class WarpCall(NamedTuple):
    """A warp function that is called."""

    at: int  # the index of the name
    name: str  # the function of CUDA
    hip: str  # the prelude's
    # the tokens of each argument, the mask first; None without an end
    arguments: list[range] | None
    is_full: bool  # whether the mask names all 32 lanes


def _find_warp_names(source: KernelSource) -> Iterator[tuple[int, str, str]]:
    """Yield each use of a function with a mask that CUDA's compiler reads, and HIP's name."""
    for mapping in list_corrections("warp"):
        for index in drop_amd_uses(source, source.uses(mapping.cuda)):
            if not source.is_token(index - 1, "#define"):
                yield index, mapping.cuda, mapping.hip


def _find_masked_calls(source: KernelSource) -> Iterator[WarpCall]:
    masks = _Masks(source)
    for index, name, hip in _find_warp_names(source):
        if source.is_token(index + 1, "("):
            arguments = source.arguments(index + 1)
            is_full = masks.is_full(arguments[0]) if arguments else False
            yield WarpCall(index, name, hip, arguments, is_full)


class _Masks:
    """The masks of one source; each name is resolved once."""

    def __init__(self, source: KernelSource) -> None:
        self._source = source
        self._values: dict[str, list[str] | None] = {}
        self._declared: dict[str, dict[int, list[int]]] = {}

    def is_full(self, argument: range) -> bool:
        """Whether a mask argument names all 32 lanes."""
        texts = self._source.texts[argument.start : argument.stop]
        first = argument.start
        while len(texts) > 2 and texts[0] == "(" and texts[-1] == ")":
            if not {"(", ")"}.isdisjoint(texts[1:-1]):
                break
            texts, first = texts[1:-1], first + 1
        text = "".join(texts)
        # A file may have a name of its own for another mask that ends like one of all lanes.
        values: list[str] | None = []
        if len(texts) == 1 and self._source.tokens[first].kind == "name":
            if text not in self._values:
                self._values[text] = _find_values(self._source, text)
            values = self._values[text]
        if values is None:
            values = self._find_in_scope(text, first)
            if not values:
                return False
        return all(_FULL_MASK.fullmatch(value) for value in values or [text])

    def _find_in_scope(self, name: str, use: int) -> list[str]:
        """Return the values of a constant that a use of it sees; none if it sees a variable."""
        if name not in self._declared:
            self._declared[name] = resolve_name(self._source, name)
        places = self._declared[name].get(use, [])
        if not all(_is_constant(self._source, index) for index in places):
            return []
        return [_strip_brackets(self._source, index + 2) for index in places]


def _find_values(source: KernelSource, name: str) -> list[str] | None:
    """Return the values of a name in a file, in each branch of the preprocessor.

    None if it is a variable somewhere, a parameter or an argument of a template.
    """
    values: dict[str, None] = {}
    for index in source.uses(name):
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
        if token.kind != "name" and token.text != "::":
            return False
    return False


def _strip_brackets(source: KernelSource, first: int, stop: int | None = None) -> str:
    """Return the value from a token to an offset, or of a declaration, without outer brackets."""
    texts: list[str] = []
    for index in range(first, len(source.tokens)):
        token = source.tokens[index]
        if token.text in ";," if stop is None else token.start >= stop:
            break
        texts.append(token.text)
    if len(texts) > 2 and texts[0] in "({" and source.closing(first) == first + len(texts) - 1:
        texts = texts[1:-1]
    return "".join(texts)


def _find_full_masks(source: KernelSource) -> Iterator[Hit]:
    for index, name, hip, arguments, is_full in _find_masked_calls(source):
        if arguments is None or (arguments and not is_full):
            continue
        token, last = source.tokens[index], index
        edits = [Edit(token.start, token.end, hip)]
        if arguments:
            last = arguments[0].stop
            mask = source.tokens[arguments[0].start].start
            rest = source.tokens[arguments[1].start].start if len(arguments) > 1 else None
            edits.append(Edit(mask, source.tokens[last - 1].end if rest is None else rest, ""))
        yield Hit(index, last, f"{name} becomes {hip}, on logical warps of 32 lanes", tuple(edits))


def _find_partial_masks(source: KernelSource) -> Iterator[Hit]:
    called = {call.at: call for call in _find_masked_calls(source)}
    for index, name, hip in _find_warp_names(source):
        call = called.get(index)
        if call is None or call.arguments is None:
            message = f"{name} is not called here: write the call with {hip} by hand"
            yield Hit(index, index, message)
        elif call.arguments and not call.is_full and not _is_partial_shuffle(source, call):
            message = (
                f"{name} has a mask that is not known to name all lanes: use the full mask "
                f"where every lane comes here, else branch and call {hip}"
            )
            yield Hit(index, call.arguments[0].stop - 1, message)


def _find_partial_shuffles(source: KernelSource) -> Iterator[Hit]:
    for call in _find_masked_calls(source):
        if not call.arguments or not _is_partial_shuffle(source, call):
            continue
        index, name, hip, _, _ = call
        token = source.tokens[index]
        mask, rest = (source.tokens[argument.start].start for argument in call.arguments[:2])
        yield Hit(
            index,
            call.arguments[0].stop,
            f"{name} becomes {hip}: the lanes that the mask names have to come here "
            "in one step, where CUDA has them wait for each other",
            (Edit(token.start, token.end, hip), Edit(mask, rest, "")),
            applicability=Applicability.REVIEW,
        )


def _is_partial_shuffle(source: KernelSource, call: WarpCall) -> bool:
    """Whether a call is a shuffle whose mask may go."""
    return (
        call.name in _SHUFFLES
        and call.arguments is not None
        and len(call.arguments) > 2
        and not call.is_full
        and _is_only_read(source, call.arguments[0])
    )


def _is_only_read(source: KernelSource, mask: range) -> bool:
    """Whether nothing is called or changed in a mask, and no other rule writes there."""
    for index in mask:
        kind, text, _, _ = source.tokens[index]
        if text in _CHANGES or kind not in ("name", "number", "punct"):
            return False
        if kind == "name" and (
            source.is_token(index + 1, "(")
            or text in (WARP_SIZE, "hipx")
            or text in load_corrections()
        ):
            return False
    return True


RULES: Final = (
    KernelRule("PH105", "warp_sync", "warp function", _find_full_masks),
    KernelRule("PH114", "warp_masked", "shuffle among some lanes", _find_partial_shuffles),
    KernelRule("PH202", "warp_mask", "partial warp mask", _find_partial_masks),
)
