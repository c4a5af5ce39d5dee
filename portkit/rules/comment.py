"""A comment that speaks of a backend, outside any place that is ported.

Comments that belong to a copied item are copied with it. One that stands by itself is prose: it is
left as it is, unless the profile holds a change for it, and it is listed so that nobody has to
search for it.

Not handled: whether what the comment says is still true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Edit, Finding, Span, Status
from portkit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK701"


def check(place: Place) -> Iterator[Finding]:
    """Find a comment that names a backend."""
    change = prose_change(place)
    yield emit.finding(
        place,
        CODE,
        "doc comment" if place.code.startswith(("///", "//!", "/**", "/*!")) else "comment",
        change[1] if change else "prose: nothing depends on it",
        applicability=Applicability.SAFE if change else Applicability.KEEP,
        status=Status.PORTED if change and change[0] is None else Status.TODO,
        edits=(change[0],) if change and change[0] else (),
        claims=(Span(place.node.start_byte, place.node.end_byte),),
    )


def prose_change(place: Place) -> tuple[Edit | None, str] | None:
    """Return the change that the profile holds for a text: the edit, none if done; the reason."""
    text = place.code
    for prose in place.port.codebase.prose:
        if prose.replace in text:
            return None, prose.reason
        at = text.find(prose.find)
        if at >= 0:
            start = place.node.start_byte + len(text[:at].encode())
            end = start + len(prose.find.encode())
            return Edit(start, end, prose.replace), prose.reason
    return None


RULE = Rule(CODE, "comment", frozenset({"line_comment", "block_comment"}), check)
