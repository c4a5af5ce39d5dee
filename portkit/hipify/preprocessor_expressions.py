"""Preprocessor expressions as far as a build for AMD decides them.

Source: ISO C++17, [cpp.cond]: what is left of an identifier that is no macro is 0.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TOKEN: Final = re.compile(r"\s*(\w+|&&|\|\||[<>=!]=|[-+*/%<>!()]|\S)")
_NUMBER: Final = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_LEVELS: Final[tuple[Mapping[str, Callable[[int, int], int]], ...]] = (
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.floordiv, "%": operator.mod},
)


class _UnreadableError(Exception):
    """Not an expression that this reads."""


def evaluate_expression(
    text: str, defined: Callable[[str], bool | None], value: Callable[[str], int | None]
) -> int | None:
    """Return the value of an expression, None where it is not decided.

    ``defined``: whether a name is a macro; None where that is not known.
    ``value``: what a name stands for; None where that is not known.
    """
    reader = _Reader(_TOKEN.findall(text), defined, value)
    try:
        found = reader.either()
        return found if reader.at == len(reader.tokens) else None
    except (_UnreadableError, IndexError, ZeroDivisionError):
        return None


class _Reader:
    """One expression, by recursive descent."""

    def __init__(
        self,
        tokens: list[str],
        defined: Callable[[str], bool | None],
        value: Callable[[str], int | None],
    ) -> None:
        self.tokens = tokens
        self.at = 0
        self._defined = defined
        self._value = value

    def either(self) -> int | None:
        """Read terms between ``||``; one that is true decides."""
        terms = [self._both()]
        while self._next("||"):
            terms.append(self._both())
        if len(terms) == 1:
            return terms[0]
        if any(terms):
            return 1
        return None if None in terms else 0

    def _both(self) -> int | None:
        terms = [self._binary(0)]
        while self._next("&&"):
            terms.append(self._binary(0))
        if len(terms) == 1:
            return terms[0]
        if 0 in terms:
            return 0
        return None if None in terms else 1

    def _binary(self, level: int) -> int | None:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self.at < len(self.tokens) and self.tokens[self.at] in _LEVELS[level]:
            apply = _LEVELS[level][self.tokens[self.at]]
            self.at += 1
            right = self._binary(level + 1)
            left = None if left is None or right is None else int(apply(left, right))
        return left

    def _unary(self) -> int | None:
        if self._next("!"):
            found = self._unary()
            return None if found is None else int(not found)
        if self._next("-"):
            found = self._unary()
            return None if found is None else -found
        return self._primary()

    def _primary(self) -> int | None:
        if self._next("("):
            found = self.either()
            self._expect(")")
            return found
        word = self.tokens[self.at]
        self.at += 1
        number = _NUMBER.fullmatch(word)
        if number:
            return int(number[1], 0) if not number[1].isdigit() else int(number[1])
        if not re.fullmatch(r"[A-Za-z_]\w*", word):
            raise _UnreadableError
        if word == "defined":
            bracket = self._next("(")
            known = self._defined(self.tokens[self.at])
            self.at += 1
            if bracket:
                self._expect(")")
            return None if known is None else int(known)
        if self.at < len(self.tokens) and self.tokens[self.at] == "(":
            raise _UnreadableError  # a macro with arguments
        return self._value(word)

    def _next(self, text: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at] == text
        self.at += found
        return found

    def _expect(self, text: str) -> None:
        if not self._next(text):
            raise _UnreadableError
