"""A text in a string that speaks of a backend, outside any place that is ported.

A message is read by people and left as it is, unless the profile holds a change for it: "build with
--features cuda" is true where it stands. A string that is exactly a backend's name is no message:
code decides by it, and no rule has understood how, so it is handed to the user.

Not handled: whether what the message says is still true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.rules import Rule
from portkit.rules.comment import prose_change
from portkit.tree.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK702"


def check(site: Site) -> Iterator[Finding]:
    """Find a string that names a backend."""
    job = site.job
    change = prose_change(site)
    text = site.code.strip('"').lower()
    decides = text == job.vendor.source
    applicability = Applicability.SAFE if change else Applicability.KEEP
    message = change[1] if change else "a text for people: nothing depends on it"
    if decides and not change:
        applicability = Applicability.MANUAL
        message = f'code decides by the string "{text}": add "{job.vendor.name}" by hand'
    yield emit.finding(
        site,
        CODE,
        "message",
        message,
        applicability=applicability,
        status=Status.PORTED if change and change[0] is None else Status.TODO,
        edits=(change[0],) if change and change[0] else (),
    )


RULE = Rule(CODE, "message", frozenset({"string_literal", "raw_string_literal"}), check)
