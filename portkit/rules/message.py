"""A text in a string that speaks of a backend, outside any place that is ported.

A message is read by people and left as it is, unless the profile holds a change for it: "build with
--features cuda" is true where it stands. A string that is exactly a backend's name is no message:
code decides by it, and no rule has understood how, so it is handed to the user.

Not handled: whether what the message says is still true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Finding, Status
from portkit.rules import Rule
from portkit.rules.comment import prose_change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK702"


def check(place: Place) -> Iterator[Finding]:
    """Find a string that names a backend."""
    port = place.port
    change = prose_change(place)
    text = place.code.strip('"').lower()
    decides = text == port.vendor.source
    applicability = Applicability.SAFE if change else Applicability.KEEP
    message = change[1] if change else "a text for people: nothing depends on it"
    if decides and not change:
        applicability = Applicability.MANUAL
        message = f'code decides by the string "{text}": add "{port.vendor.name}" by hand'
    yield emit.finding(
        place,
        CODE,
        "message",
        message,
        applicability=applicability,
        status=Status.PORTED if change and change[0] is None else Status.TODO,
        edits=(change[0],) if change and change[0] else (),
    )


RULE = Rule(CODE, "message", frozenset({"string_literal", "raw_string_literal"}), check)
