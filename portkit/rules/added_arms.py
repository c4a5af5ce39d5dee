"""A ``match`` that needs arms which no CUDA arm gives, such as those between ROCm and the others.

Copying CUDA's arms gives ROCm to and from the CPU, and ROCm to ROCm. A tensor that moves between
ROCm and CUDA or Metal has no arm to copy, and a ``_`` arm would turn it away. The profile holds
such arms as a template for one named function; they are set before its ``_`` arm.

Not handled: a ``match`` that does not end with a ``_`` arm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import InsertArms, Intent
from portkit.port.template_values import render_template
from portkit.profiles import entries
from portkit.rules import SiteRule
from portkit.syntax.source_file import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find the ``match`` of a function that the profile has arms for."""
    wanted = next(
        (
            arms
            for arms in site.job.patches(entries.ExtraArms, site.source.path)
            if arms.symbol == site.scope.symbol
        ),
        None,
    )
    last = site.node.named_children[-1] if site.node.named_children else None
    if wanted is not None and last is not None and node_text(last).startswith("_ "):
        text = render_template(site.job, wanted.template)
        yield InsertArms(
            "match arms: from the profile",
            wanted.reason,
            text=text,
            claims=(),
            entry=site.job.codebase.key(wanted),
        )


RULE = SiteRule("PK304", frozenset({"match_block"}), check)
