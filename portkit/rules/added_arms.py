"""A ``match`` that needs arms which no CUDA arm gives, such as those between ROCm and the others.

Copying CUDA's arms gives ROCm to and from the CPU, and ROCm to ROCm. A tensor that moves between
ROCm and CUDA or Metal has no arm to copy, and a ``_`` arm would turn it away. The profile holds
such arms as a template for one named function; they are set before its ``_`` arm.

Not handled: a ``match`` that does not end with a ``_`` arm.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from portkit.lang.source import node_text
from portkit.rules import SiteRule
from portkit.site.intent import Arms, Intent
from portkit.templates import render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find the ``match`` of a function that the profile has arms for."""
    wanted = next(
        (
            arms
            for arms in site.job.codebase.arms
            if arms.symbol == site.scope.symbol and fnmatchcase(site.source.path, arms.path)
        ),
        None,
    )
    last = site.node.named_children[-1] if site.node.named_children else None
    if wanted is not None and last is not None and node_text(last).startswith("_ "):
        text = render(wanted.template, site.job.codebase.directory)
        yield Arms("match arms: from the profile", wanted.reason, text=text, claims=())


RULE = SiteRule("PK304", frozenset({"match_block"}), check)
