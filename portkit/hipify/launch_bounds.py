"""Launch bounds for kernels by their names, in sources that are compiled as they stand.

``hipx_names.h`` says them, as ``#pragma hipx bounds 128 mul_mat_q*_*``: a ``*`` ends a word, and
stands for what there is up to the next ``_``, so that kernels that are named alike take one line.
The crate's build puts them into its copy of the sources (``sources.rs`` in ``crates/build``), and
``assemble_sources`` does the same.
"""

from __future__ import annotations

import re
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    Bounds = tuple[str, str]
    """A pattern and a number of threads."""

_PRAGMA: Final = "#pragma hipx bounds "

_HEAD: Final = re.compile(r"__global__(?=\s*void\s+(\w+)\()", re.ASCII)
"""A kernel without launch bounds."""

_BOUNDED: Final = re.compile(r"__global__\s+void\s+__launch_bounds__\((\d+)\)\s+(\w+)\(")


def find_unbounded_kernels(text: str) -> list[str]:
    """Return the names of the kernels without launch bounds, in order."""
    return _HEAD.findall(text)


def find_bounds(text: str, names: Collection[str]) -> Iterator[Bounds]:
    """Yield which of some kernels a text gives launch bounds, and how many threads."""
    for threads, name in _BOUNDED.findall(text):
        if name in names:
            yield name, threads


def remove_bounds(text: str, old: str, names: Collection[str]) -> str:
    """Return a text in which the heads of some kernels are what they were in an older one."""

    def as_it_stood(match: re.Match[str]) -> str:
        head = re.search(rf"__global__\s+void\s+{match[2]}\(", old)
        return head[0] if head and match[2] in names else match[0]

    return _BOUNDED.sub(as_it_stood, text)


def render_bounds(bounds: Mapping[str, str], others: Collection[str]) -> list[str]:
    """Return the lines that say launch bounds."""

    def family(name: str) -> tuple[str, int, str]:
        words = name.split("_")
        return bounds[name], len(words), words[0]

    said = []
    for (threads, *_), group in groupby(sorted(bounds, key=family), family):
        names = [*group]
        pattern = _find_common_pattern(names)
        if any(_matches_pattern(other, pattern) for other in others):
            said += [(name, threads) for name in names]
        else:
            said.append((pattern, threads))
    return [f"{_PRAGMA}{threads} {pattern}\n" for pattern, threads in sorted(said)]


def read_bounds_header(header: str) -> list[Bounds]:
    """Return the launch bounds that a header says."""
    found = (line.removeprefix(_PRAGMA) for line in header.splitlines() if line.startswith(_PRAGMA))
    return [(pattern, threads) for threads, _, pattern in (rest.partition(" ") for rest in found)]


def add_bounds(text: str, bounds: Sequence[Bounds]) -> str:
    """Return a source whose kernels have their launch bounds."""

    def bounded(match: re.Match[str]) -> str:
        threads = next((t for pattern, t in bounds if _matches_pattern(match[1], pattern)), "")
        return f"{match[0]} __launch_bounds__({threads})" if threads else match[0]

    return _HEAD.sub(bounded, text)


def _find_common_pattern(names: Sequence[str]) -> str:
    """Return the pattern of names with as many words each: what differs in one is a ``*``."""
    return "_".join(
        _find_common_word(words) for words in zip(*(n.split("_") for n in names), strict=True)
    )


def _find_common_word(words: Sequence[str]) -> str:
    first, last = min(words), max(words)
    if first == last:
        return first
    # What the first and the last in order begin with, all between them begin with.
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(letter for letter, _ in same) + "*"


def _matches_pattern(name: str, pattern: str) -> bool:
    """Whether a name is like a pattern, word by word; a ``*`` is at the end of a word."""
    words, said = name.split("_"), pattern.split("_")
    return len(words) == len(said) and all(
        word.startswith(each.removesuffix("*")) if each.endswith("*") else word == each
        for word, each in zip(words, said, strict=True)
    )
