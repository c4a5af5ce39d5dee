"""Textures and surfaces.

HIP has textures on some architectures only (not on gfx90a and gfx94x), so a translation that
compiles can still fail on the device. Nothing is written.

Example: ``tex1Dfetch<float>(object, i)`` stays and is reported, and so is the reference
``texture<float, 2> image;``.

What to do: read global memory, or keep the texture for the architectures that have it.

Source: HIP Programming Guide, "Texture management"; LLVM AMDGPU usage, image instructions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify.rules._findings import report_manual

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH205"

_NAMES = re.compile(r"tex[123]D\w*|texCubemap\w*|surf[123]D\w*|cuda(Texture|Surface)Object_t")
_BEFORE_DECLARATION = frozenset({";", "{", "}", "static", "extern"})


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of a texture."""
    for index in (i for name in ("texture", "surface") for i in source.names.get(name, ())):
        kind, before, *_ = source.tokens[index - 1] if index else ("directive", "")
        begins = kind in ("include", "directive") or before in _BEFORE_DECLARATION
        if begins and source.is_token(index + 1, "<"):
            message = (
                f"{source.texts[index]}: CUDA 12 has no texture references, and gfx90a and"
                " gfx94x have no textures; read global memory"
            )
            yield report_manual(source, CODE, index, index, construct="texture", message=message)
    for name, uses in source.names.items():
        if _NAMES.fullmatch(name) is None:
            continue
        for index in uses:
            yield report_manual(
                source,
                CODE,
                index,
                index,
                construct="texture",
                message=f"{name}: gfx90a and gfx94x have no textures; read global memory",
            )
