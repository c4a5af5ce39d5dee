"""A file of a large tree, whose bytes are held compressed while nobody looks at them.

To read it anew from the disk would be faster, but it may have been changed there meanwhile.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeVar

from portkit.syntax.source_file import SourceFile

Found = TypeVar("Found", SourceFile, SourceFile | None)


_HELD = (
    SourceFile.data
)  # The field itself, which holds the compressed bytes of a `CompressedSource`.


class CompressedSource(SourceFile, frozen=True, dict=True):
    """A source file whose bytes are held compressed until something reads them."""

    @cached_property  # type: ignore[misc]
    def data(self) -> bytes:
        """The bytes that were on disk."""
        return zlib.decompress(_HELD.__get__(self))  # type: ignore[attr-defined]

    def forget(self) -> None:
        """Let go of the syntax tree and of the bytes."""
        super().forget()
        self.__dict__.pop("data", None)


def compress_source(path: str, data: bytes) -> CompressedSource:
    """Return a file whose bytes are held compressed."""
    source = CompressedSource(path, zlib.compress(data, 1))
    source.__dict__["size"] = len(data)
    return source


def release_in_turn(sources: Iterable[Found]) -> Iterator[Found]:
    """Yield sources, and let each go when the next one is another."""
    last: SourceFile | None = None
    for source in sources:
        if last is not None and source is not last:
            last.forget()
        yield source
        last = source
    if last is not None:
        last.forget()
