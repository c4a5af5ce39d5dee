"""A text in a string that speaks of a backend, outside any place that is ported.

A message is read by people and left as it is, unless the profile holds a change for it: "build with
--features cuda" is true where it stands. A string that is exactly a backend's name, or asks a build
script for its feature, is no message: code decides by it, and no rule has understood how, so it is
handed to the user.

Not handled: whether what the message says is still true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.features import variable
from portkit.rules import SiteRule
from portkit.site.intent import Ask, Intent, Keep, Replace
from portkit.site.questions import feature_variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from portkit.site.context import Job, Site


def check(site: Site) -> Iterator[Intent]:
    """Find a string that names a backend."""
    job = site.job
    text = site.code.strip('"')
    own = _decides(job).get(text) or _decides(job).get(text.lower())
    prose = job.prose_in(site)
    if prose is not None:
        yield Replace(
            "message",
            prose.reason,
            old=prose.find,
            new=prose.write,
            entry=job.codebase.key(prose),
        )
    elif own:
        yield Ask("message", f'code decides by the string "{text}": add "{own}" by hand')
    else:
        yield Keep("message", "a text for people: nothing depends on it")


def _decides(job: Job) -> Mapping[str, str]:
    """Return the strings by which code decides about the source vendor, and those of the port."""
    return {
        feature_variable(job): variable(job.feature),
        job.source_feature: job.feature,
        job.vendor.source: job.vendor.name,
    }


RULE = SiteRule("PK702", frozenset({"string_literal", "raw_string_literal"}), check)
