"""Whether the arms of a ``match`` take every value, and the patterns that they leave out.

The algorithm is that of L. Maranget, "Warnings for pattern matching" (JFP 17, 2007), which rustc
follows (``rustc_pattern_analysis::usefulness``). It knows no types: a column has the constructors
that its patterns name, and a family says whether these are all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from portkit.syntax.value import Value

MOST_STEPS: Final = 4_000
"""How many matrices are looked into for one ``match``; one over pairs of backends needs 30."""


class UnsupportedPatternError(Exception):
    """A pattern, or a set of patterns, that this module does not decide about."""


class Constructor(Value, frozen=True):
    """A pattern of one constructor: a variant, a tuple or a literal."""

    family: str  # The constructors that exclude each other, such as those of one enum.
    name: str
    args: tuple[Pattern, ...] = ()


class OrPattern(Value, frozen=True):
    """A pattern that matches what one of its members matches."""

    members: tuple[Pattern, ...]


Pattern = Constructor | OrPattern | None
"""None takes everything."""
Row = tuple[Pattern, ...]
Families = dict[str, dict[str, int]]
"""The number of fields of each constructor; a family that is not listed has more than are named."""


def find_missing(arms: Sequence[Pattern], families: Families) -> list[Pattern]:
    """Return patterns for the values that no arm matches; none if the arms are exhaustive."""
    found = _Search(families).missing([(arm,) for arm in arms], 1)
    return [row[0] for row in found]


def covers_value(pattern: Pattern, value: Pattern) -> bool:
    """Whether a pattern takes each value that a second one, without ``|``, takes."""
    if pattern is None:
        return True
    if isinstance(pattern, OrPattern):
        return any(covers_value(member, value) for member in pattern.members)
    if not isinstance(value, Constructor) or (pattern.family, pattern.name) != (
        value.family,
        value.name,
    ):
        return False
    return len(pattern.args) == len(value.args) and all(map(covers_value, pattern.args, value.args))


def find_constructors(pattern: Pattern) -> Iterator[Constructor]:
    """Yield every constructor that a pattern names."""
    if isinstance(pattern, OrPattern):
        yield from chain.from_iterable(map(find_constructors, pattern.members))
    elif pattern is not None:
        yield pattern
        yield from chain.from_iterable(map(find_constructors, pattern.args))


class _Search:
    """One search, with a limit of steps."""

    def __init__(self, families: Mapping[str, Mapping[str, int]]) -> None:
        self.families = families
        self.steps = 0

    def missing(self, rows: list[Row], width: int) -> list[Row]:
        """Return a row of patterns for each kind of values that no row matches."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise UnsupportedPatternError("there are too many cases")
        if not width:
            return [] if rows else [()]
        rows = list(chain.from_iterable(map(_expand_or_patterns, rows)))
        named = {head.name: head for row in rows if isinstance(head := row[0], Constructor)}
        if len({head.family for head in named.values()}) > 1:
            raise UnsupportedPatternError("one column has constructors of two families")
        others = [row[1:] for row in rows if row[0] is None]
        if not named:
            return [(None, *rest) for rest in self.missing(others, width - 1)]
        family = next(iter(named.values())).family
        closed = self.families.get(family)
        sizes = closed or {name: len(head.args) for name, head in named.items()}
        found: list[Row] = []
        for name in (each for each in sizes if each in named):
            found += self._missing_of(rows, family, name, sizes[name], width)
        unnamed = [each for each in sizes if each not in named]
        if closed is None or unnamed:
            for rest in self.missing(others, width - 1):
                if closed is None:
                    found.append((None, *rest))
                found += (
                    (Constructor(family, name, (None,) * sizes[name]), *rest) for name in unnamed
                )
        return found

    def _missing_of(
        self, rows: list[Row], family: str, name: str, size: int, width: int
    ) -> list[Row]:
        """Return rows for the missing values of one constructor."""
        inner: list[Row] = []
        for head, *rest in rows:
            if head is None:
                inner.append((None,) * size + tuple(rest))
            elif isinstance(head, Constructor) and head.name == name:
                if len(head.args) != size:
                    raise UnsupportedPatternError(f"{name} has another number of fields")
                inner.append((*head.args, *rest))
        return [
            (Constructor(family, name, row[:size]), *row[size:])
            for row in self.missing(inner, size + width - 1)
        ]


def _expand_or_patterns(row: Row) -> Iterator[Row]:
    """Yield a row for each member of the or-pattern that it begins with."""
    if isinstance(row[0], OrPattern):
        for member in row[0].members:
            yield from _expand_or_patterns((member, *row[1:]))
    else:
        yield row
