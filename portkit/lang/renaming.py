"""What a vendor's names become on another vendor's platform.

Renaming works on tokens: an identifier, a string and a comment each have their own rules, so that
prose, kernel symbols and web addresses are never changed by the rule for identifiers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Block comments nest (the Rust reference, chapter "Comments"): two levels are looked into.
_BLOCK = r"/\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/"
for _level in range(2):
    _BLOCK = rf"/\*(?:[^*/]|\*(?!/)|/(?!\*)|{_BLOCK})*\*/"
_TOKEN = re.compile(
    rf"""
    (?P<comment> //[^\n]* | {_BLOCK} )
  | (?P<string> [bc]?r(?P<hashes>\#*)".*?"(?P=hashes) | [bc]?"(?:[^"\\]|\\.)*" )
  | (?P<char> b?'(?:\\.[^'\n]*|[^'\\\n])' )
  | (?P<word> (?:r\#)?[A-Za-z_]\w* )
    """,
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"https?://\S+|[A-Za-z_][A-Za-z0-9_]*")
_STRING_BODY = re.compile(r'^([^"]*")(.*)("#*)$', re.DOTALL)


@dataclass(frozen=True)
class NameTable:
    """How to rename.

    Attributes:
        words: whole identifiers, the exceptions to ``parts``.
        parts: pieces of identifiers, tried in order; each is ``(from, to)``.
        prose: whole words of comments and messages.
        kept_strings: a pattern; a string literal whose text matches it wholly is a symbol of the
            platform's kernels, not prose, and keeps its name.
    """

    words: Mapping[str, str]
    parts: tuple[tuple[str, str], ...]
    prose: Mapping[str, str]
    kept_strings: str

    @cached_property
    def _known(self) -> dict[str, str]:
        """Identifiers that were renamed before; most stand in a file many times."""
        return dict(self.words)

    @cached_property
    def _kept(self) -> re.Pattern[str]:
        return re.compile(self.kept_strings)

    def word(self, word: str) -> str:
        """Rename one identifier."""
        known = self._known.get(word)
        if known is None:
            known = word
            for old, new in self.parts:
                known = known.replace(old, new)
            self._known[word] = known
        return known

    def text(self, text: str) -> str:
        """Rename the words of a comment or a message; web addresses keep theirs."""
        return _WORD.sub(self._prose_word, text)

    def rust(self, text: str) -> str:
        """Rename a piece of Rust source, token by token."""
        return _TOKEN.sub(self._token, text)

    def _prose_word(self, match: re.Match[str]) -> str:
        word = match.group()
        if "://" in word:
            return word
        return self.prose[word] if word in self.prose else self.word(word)

    def _token(self, match: re.Match[str]) -> str:
        kind, token = match.lastgroup, match.group()
        if kind == "word":
            return self.word(token)
        if kind == "comment":
            return self.text(token)
        if kind == "string" or match.group("string"):
            return self._string(token)
        return token

    def _string(self, token: str) -> str:
        parts = _STRING_BODY.match(token)
        if parts is None or self._kept.fullmatch(parts.group(2)):
            return token
        return parts.group(1) + self.text(parts.group(2)) + parts.group(3)


def code_only(text: str) -> str:
    """Return Rust source without its comments and with empty strings, to ask what code says."""

    def blank(match: re.Match[str]) -> str:
        if match.group("comment"):
            return " "
        return '""' if match.group("string") else match.group()

    return _TOKEN.sub(blank, text)


def without_comments(text: str) -> str:
    """Return Rust source with a space for each comment."""
    return _TOKEN.sub(lambda m: " " if m.group("comment") else m.group(), text)


def normal(text: str) -> str:
    """Return Rust source without comments, white space and trailing commas, for comparison."""
    squeezed = re.sub(r"\s+", "", without_comments(text))
    return re.sub(r",(?=[)\]}])", "", squeezed).rstrip(",;")
