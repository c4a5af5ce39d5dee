"""Kernels that stand as strings in Rust source, for NVRTC to compile when they are needed.

With them come the names of headers: ``folder.join("cuda.h").is_file()`` asks where the toolkit is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify.rules.includes import find_hip_header
from portkit.syntax.name_table import NO_CODE

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

# In a string a quote stands behind a backslash, in a raw string alone.
_INCLUDE = re.compile(r"""(#include\s*)(?:(\\?")([^"\\\n]+)\\?"|<([^>\n]+)>)""")

_NAMED = re.compile(r'("(?:[^"\\\n]*/)?)([\w+.-]+\.(?:h|cuh))"')

# A web address is one word.
_MENTIONED = re.compile(r"https?://\S+|(?<![\w+.-])([\w+.-]+\.(?:h|cuh))\b")


def add_hip_headers(text: str, own: Container[str]) -> str:
    """Return Rust source whose kernels include the headers that their translations include.

    A string that is the name of a header, or a path to one, has the name of HIP's, and so has a
    comment that names one. The headers of the tree lie beside their CUDA sources, where the folder
    is one that is searched; those of the prelude are found only where they lie in one.
    """

    def included(match: re.Match[str]) -> str:
        start, quote, header, system = match.groups()
        new = find_hip_header(header or system, own, "", quoted=bool(quote))
        return start + new.replace('"', quote or '"') if new else match.group()

    def spoken_of(word: re.Match[str]) -> str:
        return (word[1] and _find_hip_header(word[1], own)) or word.group()

    def named(literal: re.Match[str]) -> str:
        if literal.group().startswith("/"):
            return _MENTIONED.sub(spoken_of, literal.group())
        match = _NAMED.fullmatch(literal.group())
        new = _find_hip_header(match[2], own) if match is not None else ""
        return f'{match[1]}{new}"' if match is not None and new else literal.group()

    return NO_CODE.sub(named, _INCLUDE.sub(included, text))


def find_unknown_headers(text: str, own: Container[str]) -> Iterator[str]:
    """Yield each header that a string of Rust source names and HIP has no header for."""
    for literal in NO_CODE.finditer(text):
        match = _NAMED.fullmatch(literal.group())
        if match is not None and match[2] not in own and not _find_hip_header(match[2], own):
            yield match[2]


def _find_hip_header(header: str, own: Container[str]) -> str:
    """Return the header of AMD's platform in the place of one of CUDA's; empty where none is.

    What the prelude has in its place stands in no folder of theirs.
    """
    if header in own:
        return ""
    new = find_hip_header(header, (), "", quoted=False)
    return new[1:-1] if new.startswith("<") else ""
