"""A text in a string that speaks of a backend, outside any place that is ported.

A message is read by people and left as it is, unless the profile holds a change for it: "build with
--features cuda" is true where it stands. A string that is exactly a backend's name is no message:
code decides by it, and no rule has understood how, so it is handed to the user.

Not handled: whether what the message says is still true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.rules import SiteRule
from portkit.site.intent import Ask, Intent, Keep, Replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a string that names a backend."""
    job, vendor = site.job, site.job.vendor
    text = site.code.strip('"')
    prose = site.job.prose_in(site)
    if prose is not None:
        yield Replace(
            "message",
            prose.reason,
            old=prose.find,
            new=prose.write,
            entry=site.job.codebase.key(prose),
        )
    elif text.lower() == vendor.source or text == job.source_feature:
        own = vendor.name if text.lower() == vendor.source else job.feature
        yield Ask("message", f'code decides by the string "{text}": add "{own}" by hand')
    else:
        yield Keep("message", "a text for people: nothing depends on it")


RULE = SiteRule("PK702", frozenset({"string_literal", "raw_string_literal"}), check)
