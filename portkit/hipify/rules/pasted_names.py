"""The rule about names that the preprocessor puts together with ``##``."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from portkit.hipify.api_table import load_table
from portkit.hipify.preprocessor_conditions import find_amd_excluded, is_within
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.hipify.rules.unknown_name import SUSPECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.hipify.kernel_source import KernelSource

_PASTE: Final = "##"
_WORD: Final = re.compile(r"\w+")
_LOGICAL_LINE: Final = re.compile(r"(?:[^\n\\]|\\.)*", re.DOTALL)
_LEAST: Final = 4
"""How many letters of a name have to be known, as in ``cuda##name``."""
_SHOWN: Final = 3


def _find(source: KernelSource) -> Iterator[Hit]:
    if _PASTE not in source.text:
        return
    hidden = find_amd_excluded(source)
    places = [i for i, text in enumerate(source.texts) if text == "#define"]
    macros = []
    for index in places:
        start = source.tokens[index].start
        line = _LOGICAL_LINE.match(source.text, start)
        macros.append((start, line.end() if line else start))
    for index, (start, end) in zip(places, macros, strict=True):
        if not is_within(hidden, start):
            last = index
            while last < len(source.tokens) and source.tokens[last].start < end:
                last += 1
            yield from _find_in_macro(source, index + 1, last, macros)


def _find_in_macro(
    source: KernelSource, name: int, end: int, macros: Sequence[tuple[int, int]]
) -> Iterator[Hit]:
    """Yield the names of CUDA's that one macro puts together."""
    listed = source.closing(name + 1) if source.is_token(name + 1, "(") else None
    if listed is None:
        return
    parameters = [source.texts[i] for i in range(name + 2, listed) if source.texts[i] != ","]
    calls = [
        [source.texts[each.start] if len(each) == 1 else "" for each in arguments]
        for use in source.uses(source.texts[name])
        if use != name
        and (arguments := source.call(use))
        and len(arguments) == len(parameters)
        and not is_within(macros, source.tokens[use].start)
    ]
    index = listed + 1
    while index < end:
        last = index
        while last + 2 < end and source.texts[last + 1] in (_PASTE, "\\"):
            last += 1 if source.texts[last + 1] == "\\" else 2
        if last > index:
            parts = [source.texts[i] for i in range(index, last + 1, 2)]
            names = _list_names(parts, parameters, calls)
            if changed := [each for each in names if _is_changed(each)]:
                shown = ", ".join(changed[:_SHOWN]) + ", .." * (len(changed) > _SHOWN)
                message = (
                    f"{''.join(source.texts[index : last + 1])} names {shown}, which portkit does"
                    " not rename here. Write the HIP names in full, one macro for each"
                )
                yield Hit(index, last, message)
        index = last + 1


def _list_names(
    parts: Sequence[str], parameters: Sequence[str], calls: Sequence[Sequence[str]]
) -> list[str]:
    """Return the names that parts make.

    Those are the names of the calls in the file. Without such calls they are all names that fit.
    """
    fixed = "".join(part for part in parts if part not in parameters)
    if len(fixed) < _LEAST or not all(map(_WORD.fullmatch, parts)):
        return []
    made = []
    for arguments in calls:
        values = dict(zip(parameters, arguments, strict=True))
        whole = [values.get(part, part) for part in parts]
        if not all(map(_WORD.fullmatch, whole)):
            break
        made.append("".join(whole))
    else:
        if made:
            return list(dict.fromkeys(made))
    if parts[0] in parameters:
        return []
    pattern = re.compile("".join(r"\w*" if part in parameters else part for part in parts))
    known = [name for name in _list_changed_names() if pattern.fullmatch(name)]
    return known or ["".join("X" if part in parameters else part for part in parts)]


def _is_changed(name: str) -> bool:
    return name in _list_changed_names() or SUSPECT.fullmatch(name) is not None


@cache
def _list_changed_names() -> tuple[str, ...]:
    """Return the names that become others in HIP, or that HIP lacks."""
    return tuple(
        sorted(
            name
            for name, mapping in load_table().items()
            if _WORD.fullmatch(name)
            and mapping.hip != name
            and (mapping.group or mapping.kind in _KINDS or name.startswith("__"))
        )
    )


_KINDS: Final = ("warp", "unmasked", "intrinsic", "bfloat16", "fp8", "variable")

RULES: Final = (KernelRule("PH220", "pasted_name", "pasted name", _find),)
