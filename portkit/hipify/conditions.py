"""Preprocessor conditions that keep code from AMD's compiler, or from CUDA's.

Only conditions that are decided by the platform alone are judged: ``#ifdef``, ``#ifndef`` and
``#if defined`` of the macros that a HIP compile defines or never defines, and of those that the
user says the build for AMD defines. A branch is kept from AMD's compiler as well where an ``#if``
is false at the feature level that translated sources see, and in the host pass, which has none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify.expressions import evaluated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

DEFINED = frozenset({"__HIP_PLATFORM_AMD__", "__HIPCC__", "__HIP__", "__AMDGCN__"})
"""What a HIP compile for AMD defines (clang documentation, "HIP Support"), host pass included
where it is used in this sense."""

UNDEFINED = frozenset(
    {
        "__CUDACC__",
        "__CUDACC_VER_MAJOR__",
        "__CUDACC_VER_MINOR__",
        "__NVCC__",
        "__HIP_PLATFORM_NVIDIA__",
    }
)
"""What only CUDA's compilers define."""

_ARCH = frozenset({"__CUDA_ARCH__", "HIPX_CUDA_ARCH"})
_LEVEL = 890
"""What ``HIPX_CUDA_ARCH`` is in the prelude."""

_ATOM = r"(!)?\s*(?:defined\s*\(?\s*(\w+)\s*\)?)"


def excluded_on_amd(source: KernelSource) -> list[tuple[int, int]]:
    """Return the spans of text that a HIP compile for AMD skips, in order."""
    never = sorted((start, end) for value, start, end in _branches(source) if value is False)
    return sorted({*never, *_false_at_any_level(source)})


def only_on_amd(source: KernelSource) -> list[tuple[int, int]]:
    """Return the spans of text that a HIP compile for AMD alone reads, in order."""
    return sorted((start, end) for value, start, end in _branches(source) if value is True)


def _false_at_any_level(source: KernelSource) -> Iterator[tuple[int, int]]:
    """Yield the branches whose condition is false in both passes, other than by their place."""
    stack: list[int | None] = []
    for token in source.tokens:
        if token.kind != "directive":
            continue
        word = token.text
        if word in ("#else", "#elif", "#endif") and stack:
            start = stack.pop()
            if start is not None:
                yield start, token.start
        if word in ("#if", "#elif"):
            false = all(_at_level(source, token.end, level) == 0 for level in (_LEVEL, None))
            stack.append(token.end if false else None)
        elif word in ("#ifdef", "#ifndef", "#else"):
            stack.append(None)


def _at_level(source: KernelSource, offset: int, level: int | None) -> int | None:
    """Return what a condition is at a feature level, None in the pass that has none."""

    def defined(name: str) -> bool | None:
        return level is not None if name in _ARCH else _defined(name, source)

    def value(name: str) -> int | None:
        if name in _ARCH:
            return level or 0
        return 0 if _defined(name, source) is False else None

    return evaluated(_rest(source, offset), defined, value)


def _branches(source: KernelSource) -> Iterator[tuple[bool | None, int, int]]:
    """Return each branch: whether it is taken on AMD, where it starts and ends."""
    stack: list[tuple[bool | None, int]] = []
    for token in source.tokens:
        if token.kind != "directive":
            continue
        word = token.text
        if word in ("#if", "#ifdef", "#ifndef"):
            stack.append((_value(source, word, token.end), token.end))
        elif word in ("#else", "#elif") and stack:
            value, start = stack.pop()
            yield value, start, token.start
            # After a branch that is taken, no other is; after any other, #elif is not judged.
            other = False if value is True else (True if value is False else None)
            if word == "#elif" and value is not True:
                other = None
            stack.append((other, token.end))
        elif word == "#endif" and stack:
            value, start = stack.pop()
            yield value, start, token.start


def _rest(source: KernelSource, offset: int) -> str:
    """Return the rest of a directive's line, continuation lines joined, without comments."""
    end = offset
    while True:
        end = source.text.find("\n", end)
        if end < 0:
            end = len(source.text)
            break
        if source.text[end - 1] != "\\":
            break
        end += 1
    text = source.text[offset:end].replace("\\\n", " ")
    return re.sub(r"/\*.*?\*/|//.*", "", text).strip()


def _value(source: KernelSource, word: str, offset: int) -> bool | None:
    """Return what a condition is on AMD, None when the platform does not decide it."""
    condition = _rest(source, offset)
    if word == "#ifdef":
        return _defined(condition, source)
    if word == "#ifndef":
        return _not(_defined(condition, source))
    parts = [part.strip(" ()") for part in condition.split("&&")]
    values = [_atom(part, source) for part in parts]
    if any(value is False for value in values):
        return False
    return True if values and all(value is True for value in values) else None


def _atom(text: str, source: KernelSource) -> bool | None:
    match = re.fullmatch(_ATOM, text + (")" if text.count("(") > text.count(")") else ""))
    if match is None:
        return None
    value = _defined(match.group(2), source)
    return _not(value) if match.group(1) else value


def _defined(name: str, source: KernelSource) -> bool | None:
    if name in DEFINED or name in source.defined:
        return True
    return False if name in UNDEFINED or name in source.undefined else None


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value
