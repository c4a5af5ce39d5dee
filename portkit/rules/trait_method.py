"""A trait's method for CUDA, and each implementation of it.

``CustomOp1::cuda_fwd`` runs an operation on CUDA's storage. ROCm needs a method of its own,
``rocm_fwd``: in the trait, with the same default, and in each type that implements CUDA's. A type
without it compiles and fails at run time with "no ROCm implementation", which is why the parity
check counts both.

Not handled: methods that a macro makes; PK510 copies the call of such a macro.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site
from portkit.rules import Rule
from portkit.rules.peer_arm import without_peer_arms
from portkit.tree.finding import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site
    from portkit.tree.finding import Finding

CODE = "PK504"


def check(site: Site) -> Iterator[Finding]:
    """Find a method named after the source vendor, in a trait or an implementation of one."""
    job = site.job
    if site.scope.container not in ("trait", "trait impl") or site.scope.vendor:
        return
    if not job.names_source(site.name) or emit.unported_feature(site):
        return
    copy = emit.exclusive_copy(site, copy_site(site))
    if job.names_gated(copy):
        copy = emit.gated(site, copy)
    counterpart = emit.named_sibling(site, job.rename(site.name))
    status, claims = emit.ported(site, counterpart)
    edits = () if counterpart else (emit.insertion(site, copy),)
    if emit.exclusive(site):
        edits = (*emit.giving_way(site), *edits)
        status = Status.TODO if edits else Status.PORTED
    in_trait = site.scope.container == "trait"
    yield emit.finding(
        site,
        CODE,
        "trait method default" if in_trait else "trait method impl",
        f"{job.rename(site.name)} is its copy",
        symbol=site.symbol(site.name),
        status=status,
        edits=edits,
        claims=without_peer_arms(site, claims),
    )


RULE = Rule(CODE, "trait_method", frozenset({"function_item", "function_signature_item"}), check)
