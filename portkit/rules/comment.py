"""A comment that speaks of a backend, outside any place that is ported.

Comments that belong to a copied item are copied with it. One that stands by itself is prose: it is
left as it is, unless the profile holds a change for it, and it is listed so that nobody has to
search for it.

Not handled: whether what the comment says is still true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK701"


def check(site: Site) -> Iterator[Finding]:
    """Find a comment that names a backend."""
    change = prose_change(site)
    yield emit.finding(
        site,
        CODE,
        "doc comment" if site.code.startswith(("///", "//!", "/**", "/*!")) else "comment",
        change[1] if change else "prose: nothing depends on it",
        applicability=Applicability.SAFE if change else Applicability.KEEP,
        status=Status.PORTED if change and change[0] is None else Status.TODO,
        edits=(change[0],) if change and change[0] else (),
        claims=(Span(site.node.start_byte, site.node.end_byte),),
    )


def prose_change(site: Site) -> tuple[Edit | None, str] | None:
    """Return the change that the profile holds for a text: the edit, none if done; the reason."""
    text = site.code
    for prose in site.job.codebase.prose:
        if prose.replace in text:
            return None, prose.reason
        at = text.find(prose.find)
        if at >= 0:
            start = site.node.start_byte + len(text[:at].encode())
            end = start + len(prose.find.encode())
            return Edit(start, end, prose.replace), prose.reason
    return None


RULE = Rule(CODE, "comment", frozenset({"line_comment", "block_comment"}), check)
