"""A file of a large tree, whose bytes are held compressed while nobody looks at them.

To read it anew from the disk would be faster, but it may have been changed there meanwhile.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from portkit.lang.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Found = TypeVar("Found", Source, Source | None)


class Packed(Source):
    """A source that takes a fifth of the memory until its bytes are asked for."""

    def __init__(self, path: str, data: bytes) -> None:
        import zlib

        self.__dict__.update(path=path, size=len(data), packed=zlib.compress(data, 1))

    @cached_property
    def data(self) -> bytes:
        """The bytes that were on disk."""
        import zlib

        return zlib.decompress(self.__dict__["packed"])

    def forget(self) -> None:
        """Let go of the syntax tree and of the bytes."""
        super().forget()
        self.__dict__.pop("data", None)


def in_turn(sources: Iterable[Found]) -> Iterator[Found]:
    """Yield sources, and let each go when the next one is another."""
    last: Source | None = None
    for source in sources:
        if last is not None and source is not last:
            last.forget()
        yield source
        last = source
    if last is not None:
        last.forget()
