"""What is mutated: the fixtures, and trees of others that are given and never kept."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

FIXTURES: Final = Path(__file__).parents[1] / "fixtures"
LANGUAGES: Final = {
    "rust": (".rs",),
    "kernels": (".cu", ".cuh"),
    "manifests": (".toml",),
    "python": (".py", ".pyi"),
}
"""The endings of files of each language."""
_LARGEST: Final = 60_000
_PARTED: Final = 4_000
"""Files with more bytes than this are mutated in parts, most of the time."""


@dataclass(frozen=True)
class Input:
    """A file: where it stands in its tree, and its bytes."""

    path: str
    data: bytes

    @cached_property
    def key(self) -> int:
        """A number of the file and what is in it."""
        return zlib.crc32(self.data, zlib.crc32(self.path.encode()))

    def part(self, chance: random.Random) -> bytes:
        """Return the file, or of a long one some items around a mention of CUDA."""
        parts = self.data.split(b"\n\n")
        named = [i for i, part in enumerate(parts) if b"uda" in part]
        if len(self.data) < _PARTED or not named or chance.random() < 0.05:
            return self.data
        at = chance.choice(named)
        return b"\n\n".join(parts[max(0, at - chance.randint(0, 3)) : at + chance.randint(1, 4)])


def chosen(files: Sequence[Input], seed: int) -> Input:
    """Return the file that a seed takes.

    With another file beside them few seeds take another one than before, so that a new fixture
    leaves the mutants of all others as they were (rendezvous hashing).
    """
    return max(files, key=lambda file: _mixed(file.key, seed))


def _mixed(key: int, seed: int) -> int:
    """Return a number as good as random; `hash` of the two prefers some files to others."""
    return (key * 0x9E3779B97F4A7C15 ^ seed * 0xC2B2AE3D27D4EB4F) * (key + seed) % (2**61 - 1)


def inputs(language: str, trees: Iterable[Path] = ()) -> list[Input]:
    """Return the files of a language that name CUDA, sorted.

    Args:
        language: one of `LANGUAGES`.
        trees: folders of trees, beside the fixtures.
    """
    found = []
    for root in (FIXTURES, *trees):
        for path in sorted(root.rglob("*")):
            if path.suffix not in LANGUAGES[language] or not path.is_file():
                continue
            data = path.read_bytes()
            inside = path.relative_to(root).as_posix()
            if root == FIXTURES:
                inside = f"candle-core/src/{path.name}" if language == "rust" else path.name
            if len(data) <= _LARGEST and b"cuda" in data.lower() and data.isascii():
                found.append(Input(inside, data))
    return found
