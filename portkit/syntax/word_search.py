"""Words in a text: which of them it holds, and their offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

SHORT: Final = 3
"""A word of so few letters stands in others by chance, as ``ptx`` does in ``is_gptx``."""


def word_pattern(word: str) -> str:
    """Return the pattern of a word as a piece of identifiers, in the case that it has.

    A short word is one only where a piece begins: behind what is no letter, or where the case
    changes. A longer one is found wherever it stands.
    """
    pattern = re.escape(word)
    if len(word) > SHORT or not word.isalpha():
        return pattern
    if word.islower():
        return f"(?<![A-Za-z]){pattern}"
    return f"(?<![A-Z]){pattern}" if word.isupper() else pattern


def caseless_word_pattern(word: str) -> str:
    """Return the pattern of a word, in lower case, as a piece of identifiers in any case."""
    if len(word) > SHORT:
        return f"(?i:{re.escape(word)})"
    every = (word, word.upper(), word.capitalize())
    return f"(?-i:{'|'.join(map(word_pattern, every))})"


@cache
def build_word_finder(words: tuple[str, ...]) -> Callable[[bytes], list[str]]:
    """Return a function that finds the words which a text holds, in any case.

    RE2 goes through a text once for all words; ``bytes.find`` goes through it once for each.
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


def find_occurrences(data: bytes, wanted: bytes) -> Iterator[int]:
    """Yield the offsets of some bytes in others; none for empty bytes."""
    at = data.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)
