"""The files that a port adds to a tree and that no file of the tree stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from portkit.port import Port


def added_files(port: Port) -> Iterator[tuple[str, Callable[[], str], str]]:
    """Yield the path, the text and a sentence for each file that the port adds."""
    yield from ()
