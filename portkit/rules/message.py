"""A text in a string that speaks of a backend, outside any place that is ported.

A message is read by people and left as it is, unless the profile holds a change for it: "build with
--features cuda" is true where it stands. A string that is exactly a backend's name, or asks a build
script for its feature, is no message: code decides by it, and no rule has understood how, so it is
handed to the user. So is the name of a program of CUDA's, such as ``"nvcc"``, and in a build script
each string that is no sentence: a path, a library to link, an option.

Not handled: whether what the message says is still true.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying import programs
from portkit.lang.cfg import around
from portkit.lang.features import variable
from portkit.rules import SiteRule
from portkit.site.intent import Ask, Intent, Keep, Replace
from portkit.site.questions import feature_variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from portkit.site.context import Job, Site


_TRIGGER = ("cargo:rerun-if-", "cargo::rerun-if-")


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
    elif program := "".join(programs.named(job, site.code)):
        yield Ask(
            "program",
            f"it names {program}, of CUDA's: {job.vendor.programs[program]}; see what"
            f" {job.vendor.title} takes in its place, under the feature {job.feature}",
        )
    elif own:
        yield Ask("message", f'code decides by the string "{text}": add "{own}" by hand')
    elif _acts(site, text) and _is_of_source(site):
        yield Keep("message", f"only code under the feature {job.source_feature} acts by it")
    elif _acts(site, text):
        yield Ask(
            "message",
            f"a build script acts by it: see what it is for {job.vendor.title}, and do that under"
            f" the feature {job.feature}",
        )
    elif text.startswith(_TRIGGER):
        yield Keep("message", "it says when the build script runs again, and nothing else")
    else:
        yield Keep("message", "a text for people: nothing depends on it")


def _acts(site: Site, text: str) -> bool:
    """Whether a build script may act by a string."""
    return site.job.workspace.is_build_script(site.source.path) and not _is_said(text)


def _is_of_source(site: Site) -> bool:
    """Whether a string is the value of a constant that only the source vendor's code uses."""
    item = site.outer
    while item is not None and item.kind not in ("const_item", "static_item"):
        item = item.outer
    if item is None:
        return False
    own, root = item.span, site.source.tree.root_node
    found = re.finditer(rb"\b%s\b" % re.escape(item.name.encode()), site.source.data)
    uses = [m.start() for m in found if not own.start <= m.start() < own.end]
    return bool(uses) and all(any(map(site.job.of_source, around(root, at))) for at in uses)


def _is_said(text: str) -> bool:
    """Whether a string of a build script is a sentence for people, or asks to be run again.

    Source: the Cargo book, chapter "Build Scripts", section "Outputs of the Build Script".
    """
    if text.startswith("cargo:"):
        return text.startswith((*_TRIGGER, "cargo:warning=", "cargo::warning=", "cargo::error="))
    return len(text.split()) > 1


def _decides(job: Job) -> Mapping[str, str]:
    """Return the strings by which code decides about the source vendor, and those of the port."""
    return {
        feature_variable(job): variable(job.feature),
        job.source_feature: job.feature,
        job.vendor.source: job.vendor.name,
    }


RULE = SiteRule("PK702", frozenset({"string_literal", "raw_string_literal"}), check)
