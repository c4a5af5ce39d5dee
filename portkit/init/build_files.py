"""Files beside the code that name CUDA: portkit reads none of them, and a person writes ROCm's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_NAMED: Final = re.compile(
    r"(?i)(?:(?:.*[._-])?dockerfile(?:[._-].*)?|containerfile|(?:gnu)?makefile|.*\.mk|\.?justfile"
    r"|.*\.just|cmakelists\.txt|.*\.cmake|flake\.nix|.*\.nix|.*\.sh|.*\.ya?ml)"
)
_CARGO: Final = frozenset({"config", "config.toml"})
_PASSED_OVER: Final = frozenset({"target", "node_modules", "vendor", "third_party"})
_HIDDEN: Final = frozenset(
    {".cargo", ".github", ".gitlab", ".circleci", ".buildkite", ".devcontainer"}
)
_CUDA: Final = re.compile(rb"(?i)cuda|nvcc|nvidia")
_LARGEST: Final = 1 << 20
"""No build file that a person wrote is larger."""


def list_build_files(root: Path) -> Iterator[tuple[str, int]]:
    """Yield the build files of a tree that name CUDA, sorted, with the number of such lines.

    Links are not followed.
    """
    for folder, below, names in os.walk(root):
        below[:] = sorted(
            name
            for name in below
            if name not in _PASSED_OVER and (name in _HIDDEN or not name.startswith("."))
        )
        for name in sorted(names):
            path = Path(folder) / name
            if not (_NAMED.fullmatch(name) or (path.parent.name == ".cargo" and name in _CARGO)):
                continue
            if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
                continue
            try:
                lines = path.read_bytes().split(b"\n")
            except OSError:
                continue  # what cannot be read is no matter of a profile
            if count := sum(_CUDA.search(line) is not None for line in lines):
                yield path.relative_to(root).as_posix(), count
