"""A comment or a message in Python that speaks of a backend.

Where it stands in what is copied, it is copied with it. By itself it is prose and is left as it is.

Not handled: a string that is nothing but a backend's name. It may choose a device, so it is listed
as unaccounted where no other rule knows what it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Finding
from portkit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK703"


def check(place: Place) -> Iterator[Finding]:
    """Find a comment, or a string of several words, that names a backend."""
    if place.source.path.endswith((".py", ".pyi")) and (
        place.kind == "comment" or len(place.code.split()) > 1
    ):
        yield emit.finding(
            place,
            CODE,
            "Python comment" if place.kind == "comment" else "Python message",
            "prose: nothing depends on it",
            applicability=Applicability.KEEP,
        )


RULE = Rule(CODE, "python_prose", frozenset({"comment", "string_content"}), check)
