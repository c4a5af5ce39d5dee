"""A condition that asks for a peer, such as ``is_metal()``.

Such a condition works around what one platform lacks, or takes what only it has. ROCm follows CUDA,
so the branch is not taken and nothing is written; but the reason behind the condition may hold on
AMD as well, and that is for a person to see: the finding is ``review`` with nothing to write. A
decision, in the profile or in ``portkit.toml``, settles it: it is left alone with that reason, and
no person is asked about it again.

Where the decision is that ROCm has what the peer has (``join``), the condition holds for it too:
``device.is_metal() || device.is_rocm()``.

Not handled: a question that is kept in a variable. What is chosen by it later is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.source import node_text
from portkit.rules import SiteRule
from portkit.site.before_port import of_vendor
from portkit.site.intent import Intent, Keep, Widen
from portkit.site.questions import called, decided, decision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a call that asks whether the device is a peer's."""
    job, name = site.job, called(site.node)
    if name not in {f"is_{p}" for p in job.vendor.peers} or site.scope.vendor:
        return
    holder = decided(site)
    condition = holder.child_by_field_name("condition")
    construct = f"{name} check"
    if job.names_source(node_text(condition if condition is not None else holder)):
        yield Keep(construct, "the condition names CUDA as well, and is decided there")
        return
    found = decision(site, holder, of_peer=True)
    known = found.by
    if known is not None and known.verdict == "join":
        yield Widen(
            construct,
            known.reason,
            entry=found.entry,
            shadowed=found.shadowed,
            condition=site.node,
            within=holder,
            copy=of_vendor(job, site.code),
        )
        return
    yield Keep(
        construct,
        known.reason
        if known
        else f"ROCm follows CUDA and does not take this branch; see whether {name} stands for "
        "something that AMD lacks too",
        review=known is None,
        entry=found.entry,
        shadowed=found.shadowed,
    )


RULE = SiteRule("PK405", frozenset({"call_expression"}), check)
