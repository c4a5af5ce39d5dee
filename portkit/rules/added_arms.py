"""A ``match`` that needs arms which no CUDA arm gives, such as those between ROCm and the others.

Copying CUDA's arms gives ROCm to and from the CPU, and ROCm to ROCm. A tensor that moves between
ROCm and CUDA or Metal has no arm to copy, and a ``_`` arm would turn it away. The profile holds
such arms as a template for one named function; they are set before its ``_`` arm.

Not handled: a ``match`` that does not end with a ``_`` arm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying.template_values import render_template
from portkit.lang.source import node_text
from portkit.profile import entries
from portkit.rules import SiteRule
from portkit.site.intent import Arms, Intent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find the ``match`` of a function that the profile has arms for."""
    wanted = next(
        (
            arms
            for arms in site.job.patches(entries.Arms, site.source.path)
            if arms.symbol == site.scope.symbol
        ),
        None,
    )
    last = site.node.named_children[-1] if site.node.named_children else None
    if wanted is not None and last is not None and node_text(last).startswith("_ "):
        text = render_template(site.job, wanted.template)
        yield Arms(
            "match arms: from the profile",
            wanted.reason,
            text=text,
            claims=(),
            entry=site.job.codebase.key(wanted),
        )


RULE = SiteRule("PK304", frozenset({"match_block"}), check)
