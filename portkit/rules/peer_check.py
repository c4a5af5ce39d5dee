"""A condition that asks for a peer, such as ``is_metal()``.

Such a condition works around what one platform lacks, or takes what only it has. ROCm follows CUDA,
so the branch is not taken and nothing is written; but the reason behind the condition may hold on
AMD as well, and that is for a person to see: the finding is ``review`` with nothing to write. A
decision in the profile settles it with its reason.

Nothing is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.source import field_text, node_text
from portkit.rules import Rule
from portkit.rules.device_check import decision_holder
from portkit.tree.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK405"


def check(site: Site) -> Iterator[Finding]:
    """Find a call that asks whether the device is a peer's."""
    job = site.job
    name = field_text(site.node, "function").rsplit(".", 1)[-1].rsplit("::", 1)[-1]
    if name not in {f"is_{p}" for p in job.vendor.peers} or site.scope.vendor:
        return
    holder = decision_holder(site.node)
    condition = holder.child_by_field_name("condition")
    if job.names_source(node_text(condition) if condition is not None else node_text(holder)):
        yield emit.finding(
            site,
            CODE,
            f"{name} check",
            "the condition names CUDA as well, and is decided there",
            applicability=Applicability.KEEP,
        )
        return
    around = site.source.text(holder.start_byte, holder.end_byte)
    decision = next(
        (
            c
            for c in job.codebase.conditions
            if c.verdict == "peer" and c.applies(site.source.path, around)
        ),
        None,
    )
    yield emit.finding(
        site,
        CODE,
        f"{name} check",
        decision.reason
        if decision
        else f"ROCm follows CUDA and does not take this branch; see whether {name} stands for "
        "something that AMD lacks too",
        applicability=Applicability.REVIEW,
        status=Status.NONE,
    )


RULE = Rule(CODE, "peer_check", frozenset({"call_expression"}), check)
