"""The values that a template is given: texts, numbers, yes or no, tuples and mappings of them.

No object of portkit or of Python's library is among them, so that a template reaches nothing but
what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PlainValue = str | int | bool | tuple["PlainValue", ...] | Mapping[str, "PlainValue"]

_SCALARS: Final = frozenset({str, int, bool})


def require_plain(values: Mapping[str, object]) -> None:
    """Check that all values are plain, those in tuples and mappings too."""
    pending: list[tuple[str, object]] = [*values.items()]
    while pending:
        name, value = pending.pop()
        if type(value) is tuple:
            pending += [(name, each) for each in value]
        elif type(value) is dict:
            if any(type(key) is not str for key in value):
                raise TypeError(f"{name} is no plain value for a template: it has other names")
            pending += [(f"{name}.{key}", each) for key, each in value.items()]
        elif type(value) not in _SCALARS:
            raise TypeError(f"{name} is no plain value for a template: {type(value).__name__}")


def to_plain(value: object) -> PlainValue | None:
    """Return a TOML value as a plain value, or None for a date or a fraction.

    What is no plain value is left out of lists and tables.
    """
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, list | tuple):
        return tuple(made for each in value if (made := to_plain(each)) is not None)
    if isinstance(value, Mapping):
        return {str(k): made for k, each in value.items() if (made := to_plain(each)) is not None}
    return None
