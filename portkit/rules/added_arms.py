"""A ``match`` that needs arms which no CUDA arm gives, such as those between ROCm and the others.

Copying CUDA's arms gives ROCm to and from the CPU, and ROCm to ROCm. A tensor that moves between
ROCm and CUDA or Metal has no arm to copy, and a ``_`` arm would turn it away. The profile holds
such arms as a template for one named function; they are set before its ``_`` arm.

Not handled: a ``match`` that does not end with a ``_`` arm.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.renaming import normal
from portkit.lang.source import node_text
from portkit.rules import Rule
from portkit.rules.match_arm import pattern_key
from portkit.site.context import Gating
from portkit.templates import render
from portkit.tree.finding import Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.profile.profile import Arms
    from portkit.site.context import Job, Site

CODE = "PK304"


def check(site: Site) -> Iterator[Finding]:
    """Find the ``match`` of a function that the profile has arms for."""
    job = site.job
    wanted = next(
        (
            a
            for a in job.codebase.arms
            if a.symbol == site.scope.symbol and fnmatchcase(site.source.path, a.path)
        ),
        None,
    )
    last = site.node.named_children[-1] if site.node.named_children else None
    if wanted is None or last is None or not node_text(last).startswith("_ "):
        return
    text = arms_of(job, wanted)
    standing = normal(text) in normal(node_text(site.node)) or _between_backends(site)
    indent = site.source.indent(last.start_byte)
    text = text.replace("\n", f"\n{indent}") + f"\n{indent}"
    yield emit.finding(
        site,
        CODE,
        "match arms: from the profile",
        wanted.reason,
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(last.start_byte, last.start_byte, text),),
        claims=(),
    )


def _between_backends(site: Site) -> bool:
    """Whether a person has written arms between the two vendors."""
    keys = {
        pattern_key(node_text(arm.child_by_field_name("pattern")))
        for arm in site.node.named_children
        if arm.type == "match_arm"
    }
    return (site.job.vendor.source.capitalize(), site.job.vendor.variant) in keys


def arms_of(job: Job, arms: Arms) -> str:
    """Return the arms of a template, each under the feature where the gating asks for it."""
    text = render(arms.template, job.codebase.directory).rstrip()
    if job.gating is Gating.CFG:
        attribute = f"{emit.feature_attribute(job)}\n"
        text = re.sub(r"^(?=[^\s/})])", lambda _: attribute, text, flags=re.MULTILINE)
    return text


RULE = Rule(CODE, "added_arms", frozenset({"match_block"}), check)
