"""The whole rewriting of a preprocessed source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from portkit.device.hipcc.clang_dialect import rewrite_dialect
from portkit.device.hipcc.kernels import rewrite_kernels
from portkit.device.hipcc.shared_memory import rewrite_shared
from portkit.device.hipcc.source import DEVICE, Source, SourceError
from portkit.syntax.cxx_tokens import OPENING, join_tokens

_VISIBLE: Final = '__attribute__((visibility("default")))'
_ATTRIBUTES: Final = frozenset({"__attribute__", "alignas"})


@dataclass(frozen=True, slots=True)
class RewrittenSource:
    """A source in plain C++."""

    text: str  # the source
    kernels: bool  # whether it defines kernels


def rewrite_source(preprocessed: str, *, device: bool) -> RewrittenSource:
    """Rewrite a preprocessed HIP source into C++ for one side."""
    source = Source(preprocessed)
    kernels = rewrite_kernels(source, device=device)
    _rewrite_variables(source, device=device)
    rewrite_shared(source)
    _rewrite_launches(source)
    rewrite_dialect(source)
    return RewrittenSource(source.edited(), kernels)


def _rewrite_variables(source: Source, *, device: bool) -> None:
    """Rewrite the uses of ``__device__``; programs find a variable by its name, which it keeps."""
    for index, token in enumerate(source.tokens):
        if token == DEVICE:
            visible = device and _is_variable(source, index + 1)
            source.replace(index, index, _VISIBLE if visible else "")


def _is_variable(source: Source, index: int) -> bool:
    while index < len(source.tokens):
        token = source.tokens[index]
        if token == "static":
            return False  # nobody else sees it
        if token in _ATTRIBUTES:
            index = source.closing(index + 1)
        elif token in ("=", ";", "["):
            return True
        elif token in ("(", "{", ")", ",", "operator"):
            return False
        index += 1
    return False


def _rewrite_launches(source: Source) -> None:
    """Rewrite every launch of a source into a configuration and a call."""
    for index, token in enumerate(source.tokens):
        if token == "<<<":
            _rewrite_launch(source, index)


def _rewrite_launch(source: Source, begin: int) -> None:
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
