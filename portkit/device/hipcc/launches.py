"""Launches: ``kernel<<<grid, block, shared, stream>>>(arguments)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.device.hipcc.source import SourceError
from portkit.syntax.cxx_tokens import OPENING, join_tokens

if TYPE_CHECKING:
    from portkit.device.hipcc.source import Source


def rewrite_launches(source: Source) -> None:
    """Rewrite every launch of a source into a configuration and a call."""
    for index, token in enumerate(source.tokens):
        if token == "<<<":
            _rewrite(source, index)


def _rewrite(source: Source, begin: int) -> None:
    end = begin + 1
    while source.tokens[end : end + 3] != [">", ">", ">"]:
        if source.at(end) in OPENING:
            end = source.closing(end)
        end += 1
        if end >= len(source.tokens):
            raise SourceError(f"{source.place(begin)}: <<< without >>>")
    if source.at(end + 3) != "(":
        raise SourceError(f"{source.place(begin)}: a launch without arguments")
    first = _find_callee_start(source, begin - 1)
    configuration = join_tokens(source.tokens[begin + 1 : end])
    source.insert(first, f"(hipcpu_configure({configuration}), ")
    source.replace(begin, end + 2, "")
    source.insert(source.closing(end + 3), ")", after=True)


def _find_callee_start(source: Source, last: int) -> int:
    """Return where the expression for a kernel begins whose last token is at an index."""
    index = last
    if source.at(index) == ")":
        return source.opening(index)
    if source.at(index) == ">":
        index = source.opening_angle(index) - 1
    while source.at(index - 1) in ("::", ".", "->"):
        index -= 1 if not source.at(index - 2).isidentifier() else 2
    if index < 0 or not (source.at(index).isidentifier() or source.at(index) == "::"):
        raise SourceError(f"{source.place(last)}: a launch of what is no kernel's name")
    return index
