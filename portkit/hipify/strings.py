"""Kernels that stand as strings in Rust source, for NVRTC to compile when they are needed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify.rules.header_include import counterpart

if TYPE_CHECKING:
    from collections.abc import Container

# In a string a quote stands behind a backslash, in a raw string alone.
_INCLUDE = re.compile(r"""(#include\s*)(?:(\\?")([^"\\\n]+)\\?"|<([^>\n]+)>)""")


def with_headers(text: str, own: Container[str]) -> str:
    """Return Rust source whose kernels include the headers that their translations include.

    The headers of the tree lie beside their CUDA sources, where the folder is one that is
    searched; those of the prelude are found only where they lie in one.

    Args:
        text: the source.
        own: the names of the tree's own headers.
    """

    def included(match: re.Match[str]) -> str:
        start, quote, header, system = match.groups()
        new = counterpart(header or system, own, "", quoted=bool(quote))
        return start + new.replace('"', quote or '"') if new else match.group()

    return _INCLUDE.sub(included, text)
