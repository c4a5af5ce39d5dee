"""A trait's method for CUDA, and each implementation of it.

``CustomOp1::cuda_fwd`` runs an operation on CUDA's storage. ROCm needs a method of its own,
``rocm_fwd``: in the trait, with the same default, and in each type that implements CUDA's. A type
without it compiles and fails at run time with "no ROCm implementation", which is why the parity
check counts both.

Not handled: methods that a macro makes; PK510 copies the call of such a macro.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.finding import Status
from portkit.rules import Rule
from portkit.rules.peer_arm import without_peer_arms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.finding import Finding
    from portkit.port import Place

CODE = "PK504"


def check(place: Place) -> Iterator[Finding]:
    """Find a method named after the source vendor, in a trait or an implementation of one."""
    port = place.port
    if place.scope.container not in ("trait", "trait impl") or place.scope.vendor:
        return
    if not port.names_source(place.name) or emit.unported_feature(place):
        return
    copy = emit.exclusive_copy(place, copy_place(place))
    if port.names_gated(copy):
        copy = emit.gated(place, copy)
    counterpart = emit.named_sibling(place, port.rename(place.name))
    status, claims = emit.ported(place, counterpart)
    edits = () if counterpart else (emit.insertion(place, copy),)
    if emit.exclusive(place):
        edits = (*emit.giving_way(place), *edits)
        status = Status.TODO if edits else Status.PORTED
    in_trait = place.scope.container == "trait"
    yield emit.finding(
        place,
        CODE,
        "trait method default" if in_trait else "trait method impl",
        f"{port.rename(place.name)} is its copy",
        symbol=place.symbol(place.name),
        status=status,
        edits=edits,
        claims=without_peer_arms(place, claims),
    )


RULE = Rule(CODE, "trait_method", frozenset({"function_item", "function_signature_item"}), check)
