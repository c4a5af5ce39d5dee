"""Values that a ``match`` does not take after the port."""

from __future__ import annotations

from enum import StrEnum

from portkit.syntax.span import Span
from portkit.syntax.value import Value


class MissingArmBehavior(StrEnum):
    """What the missing arms do."""

    STANDS = "stands"
    """They are there already."""
    COPY = "copy"
    """The same as the source vendor's arm, under the names of the vendor that is written."""
    OTHERS = "others"
    """The same as the arms on other values."""
    ERROR = "error"
    """They answer with an error."""


class MatchGap(Value, frozen=True):
    """Values that a ``match`` does not take after the port."""

    path: str  # the file
    span: Span  # the ``match``
    at: int  # where the missing arms are set
    symbol: str  # the items around the ``match``
    enums: tuple[str, ...]  # the enums that gain a variant, by their names
    arms: str  # the missing arms
    errors: str  # the same arms, each of which answers with an error
    answer: MissingArmBehavior  # what they do; an error if one of them answers with an error
