"""Patterns of tokens: blanks, line breaks and comments do not matter.

In a pattern ``$name`` stands for the tokens up to the next token of the pattern, brackets balanced;
in what is written, for their text, and ``$all`` for the text of the whole place. A pattern that
holds a comment looks at comments as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from portkit.syntax.name_table import TOKEN
from portkit.syntax.span import Span
from portkit.syntax.typed_toml import InvalidValueError
from portkit.syntax.value import Value

_OPEN: Final = "([{"
_CLOSE: Final = ")]}"
_LONGEST: Final = 4000  # How many tokens a capture may hold, so that time is linear in the source.
_TOKEN: Final = re.compile(rf"{TOKEN.pattern} | (?P<rest> \$\w+ | \d\w* | \S )", TOKEN.flags)


class Token(NamedTuple):
    """One token."""

    kind: str  # ``word``, ``comment``, ``string``, ``char`` or ``rest``.
    text: str
    start: int
    end: int


class Match(Value, frozen=True):
    """A place that a pattern fits."""

    first: int
    end: int
    # For each name the indices of its first token and of the one after its last.
    captured: Mapping[str, tuple[int, int]]


class TokenPattern(Value, frozen=True):
    """A sequence of tokens to find."""

    texts: tuple[str, ...]
    with_comments: bool
    words: tuple[bytes, ...]  # The words without which a source does not fit, for a quick look.

    @classmethod
    def of(cls, text: str) -> TokenPattern:
        """Return the pattern that a text spells."""
        found = tokenize_rust(text.encode())
        comments = any(token.kind == "comment" for token in found)
        texts = tuple(token.text for token in found)
        check_pattern(texts)
        words = {t.encode("latin-1") for t in texts if t.isidentifier()}
        return cls(texts, comments, tuple(sorted(words)))

    def may_stand(self, data: bytes, span: Span) -> bool:
        """Whether a part of a Rust source contains every word of the pattern."""
        return all(data.find(word, span.start, span.end) >= 0 for word in self.words)

    def places(self, tokens: Sequence[Token]) -> Iterator[tuple[Match, Sequence[Token]]]:
        """Yield the matches in the tokens of a Rust source, each with the tokens it counts."""
        if not self.with_comments:
            tokens = [token for token in tokens if token.kind != "comment"]
        for match in find_matches(self.texts, [token.text for token in tokens]):
            yield match, tokens


def check_pattern(texts: Sequence[str]) -> None:
    """Refuse a pattern that cannot be searched."""
    captures = [text.startswith("$") for text in texts]
    if not texts or captures[0] or captures[-1]:
        raise InvalidValueError(
            "match begins or ends with a capture: name the token beside it", "match"
        )
    for left, right in pairwise(texts):
        if left.startswith("$") and right.startswith("$"):
            raise InvalidValueError(
                f"match has {left} beside {right}: name the token between them", "match"
            )


def find_matches(
    wanted: Sequence[str], texts: Sequence[str], beginnings: Iterable[int] | None = None
) -> Iterator[Match]:
    """Yield the matches of a pattern, in order and without overlap.

    Args:
        beginnings: the indices of the tokens that read as the pattern's first, where known.
    """
    end = 0
    for at in range(len(texts)) if beginnings is None else beginnings:
        if at < end or texts[at] != wanted[0]:
            continue
        found = _match_at(wanted, texts, at)
        if found is not None:
            end = found.end
            yield found


def fill_template(template: str, captured: Mapping[str, str]) -> str:
    """Return a template with the text of each capture."""
    return re.sub(r"\$\w+", lambda m: captured.get(m.group(), m.group()), template)


def tokenize_rust(data: bytes, start: int = 0, end: int | None = None) -> list[Token]:
    """Return the tokens of a part of a Rust source, comments included."""
    # One character a byte, so that offsets are those of the file.
    text = data[start:end].decode("latin-1")
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, written = match.lastgroup or "", match.group()
        if kind == "comment":
            written = written.rstrip("\r")  # it goes to the end of its line
        first = start + match.start()
        # A third of the time of Token(...).
        found.append(tuple.__new__(Token, (kind, written, first, first + len(written))))
    return found


def _match_at(wanted: Sequence[str], texts: Sequence[str], first: int) -> Match | None:
    captured: dict[str, tuple[int, int]] = {}
    at = first
    for index, text in enumerate(wanted):
        if not text.startswith("$"):
            if at >= len(texts) or texts[at] != text:
                return None
            at += 1
            continue
        end = _balanced(texts, at, wanted[index + 1])
        if end is None:
            return None
        captured[text] = at, end
        at = end
    return Match(first, at, captured)


def _balanced(texts: Sequence[str], start: int, stop: str) -> int | None:
    """Return the index of the next ``stop`` outside brackets opened after ``start``."""
    depth = 0
    for at in range(start, min(len(texts), start + _LONGEST)):
        text = texts[at]
        if depth == 0 and text == stop:
            return at
        if text in _OPEN:
            depth += 1
        elif text in _CLOSE:
            depth -= 1
            if depth < 0:
                return None
    return None
