"""What clang says of an architecture to the sources that it compiles for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from portkit.device.hipcc.arguments import UsageError

_EXACT: Final = re.compile(r"gfx([0-9]{1,2})([0-9a-f])([0-9a-f])")
_GENERIC: Final = re.compile(r"gfx([0-9]{1,2})(?:-([0-9]))?-generic")


@dataclass(frozen=True, slots=True)
class Arch:
    """An architecture."""

    name: str  # such as ``gfx90a`` or ``gfx11-generic``, without target features
    major: int  # its first number

    @property
    def wavefront(self) -> int:
        """The lanes of a wavefront by clang's default: 64 up to gfx9, 32 from gfx10 on."""
        return 64 if self.major < 10 else 32

    @property
    def macros(self) -> tuple[str, ...]:
        """The macros of the architecture (LLVM, "User Guide for AMDGPU Backend")."""
        return (
            f"__{self.name.replace('-', '_')}__",
            f"__GFX{self.major}__",
            "__AMDGCN__",
            "__AMDGPU__",
            "__AMD__",
        )


def read_arch(text: str) -> Arch:
    """Return the architecture that a name stands for; target features do not count."""
    name = text.partition(":")[0]
    match = _EXACT.fullmatch(name) or _GENERIC.fullmatch(name)
    if match is None:
        raise UsageError(f"invalid target ID '{text}'")
    return Arch(name, int(match[1]))
