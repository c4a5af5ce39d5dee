"""Words in a text: which it holds, all looked for at once, and where one stands."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@cache
def finder(words: tuple[str, ...]) -> Callable[[bytes], list[str]]:
    """Return what tells which words a text holds, ASCII letters in any case.

    RE2 goes through a text once for all words; `bytes.find` goes through it once for each.
    """
    import re2

    options = re2.Options()
    options.literal = True
    options.case_sensitive = False
    # As bytes: in Unicode, a long s is an s in another case.
    options.encoding = re2.Options.Encoding.LATIN1
    known = re2.Set.SearchSet(options)
    for word in words:
        known.Add(word)
    known.Compile()
    return lambda text: [words[number] for number in known.Match(text) or ()]


def occurrences(data: bytes, wanted: bytes) -> Iterator[int]:
    """Yield where bytes stand in others; nowhere if there are none."""
    at = data.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)
