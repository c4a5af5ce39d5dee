"""The limits of a template: how much it may do, how large its texts are, how deep it nests.

The limits are counts, not seconds, so that a template gets the same answer on every machine.
"""

from __future__ import annotations

from itertools import chain
from typing import Final

from jinja2 import Undefined

STEPS: Final = 300_000
"""How many steps the templates of one run may take: those of a whole port take 8,000."""
LARGEST: Final = 1 << 18
"""How many characters a text or a list may have; the largest of portkit's own has 30,000."""
DEEPEST: Final = 24
"""How deep macros may call each other, and how deep a list may hold lists."""
INCLUSIONS: Final = 100
"""How many templates one template may include or extend, counted each time."""
TOO_LARGE: Final = f"it makes a text or a list of more than {LARGEST:,} characters"
"""What is said of it."""
_STEP: Final = 128  # How many characters are one step more.
_HELD: Final = 64  # What a value in a list counts for, in characters, beside its own.
_LARGEST_NUMBER: Final = 1 << 63


class LimitError(Exception):
    """A template exceeds a limit; the message is half a sentence."""


class Budget:
    """What the templates of one run have done so far."""

    def __init__(self) -> None:
        self._left = STEPS
        self._depth = 0
        self._included = 0

    def begin(self) -> None:
        """Begin a template."""
        self._depth = self._included = 0

    def charge(self, steps: int) -> bool:
        """Count some steps; the answer is true, so that a condition can hold a charge."""
        self._left -= steps
        if self._left < 0:
            raise LimitError(f"it takes more than {STEPS:,} steps: shorten its loops")
        return True

    def charge_size(self, size: int) -> None:
        """Count a value by its size, before it is made."""
        if size > LARGEST:
            raise LimitError(TOO_LARGE)
        self.charge(1 + size // _STEP)

    def enter(self) -> None:
        """Begin the call of a macro; ``leave`` ends it."""
        if self._depth >= DEEPEST:
            raise LimitError(f"its macros call each other more than {DEEPEST} deep")
        self._depth += 1

    def leave(self) -> None:
        """End the call of a macro."""
        self._depth -= 1

    def include(self) -> None:
        """Count a template that is included or extended."""
        self._included += 1
        if self._included > INCLUSIONS:
            raise LimitError(f"it includes or extends more than {INCLUSIONS} templates")


def measure_value(value: object) -> int:
    """Return how many characters a value counts for, with all that it holds."""
    size, pending = 0, [(value, 0)]
    while pending:
        each, depth = pending.pop()
        kind = type(each)
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, int):
            if abs(each) >= _LARGEST_NUMBER:
                raise LimitError("it makes a number of more than 64 bits")
        elif kind is tuple or kind is list or kind is dict:
            size += _HELD * len(each)  # type: ignore[arg-type]
            if depth >= DEEPEST:
                raise LimitError(f"it nests lists more than {DEEPEST} deep")
            if size <= LARGEST:
                held = chain.from_iterable(each.items()) if isinstance(each, dict) else each
                pending += [(one, depth + 1) for one in held]  # type: ignore[attr-defined]
        elif not isinstance(each, Undefined | None):
            raise LimitError("it takes a macro or a loop for a text")
        if size > LARGEST:
            raise LimitError(TOO_LARGE)
    return size
