"""A comment or a message in Python that speaks of a backend.

Where it stands in what is copied, it is copied with it. By itself it is prose and is left as it is.

Not handled: a string that is nothing but a backend's name. It may choose a device, so it is listed
as unaccounted where no other rule knows what it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import Intent, LeaveUnchanged
from portkit.rules import SiteRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a comment, or a string of several words, that names a backend."""
    if site.is_python and (site.kind == "comment" or len(site.code.split()) > 1):
        construct = "Python comment" if site.kind == "comment" else "Python message"
        yield LeaveUnchanged(construct, "prose: nothing depends on it")


RULE = SiteRule("PK703", frozenset({"comment", "string_content"}), check)
