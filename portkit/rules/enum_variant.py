"""A variant of an enum that stands for CUDA.

A device, a storage or an error of ROCm's must be a value of the same type as CUDA's. ``enum Device
{ Cpu, Cuda(CudaDevice), Metal(MetalDevice) }`` gains ``Rocm(RocmDevice)``; so do the storages, the
locations, the errors and every other enum with one variant per backend. With ``--gating cfg`` the
variant stands under the feature; an error that says that the feature is missing does not.

Not handled: an explicit discriminant or ``#[default]``, which the copy repeats; rustc reports both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.finding import Finding
    from portkit.port import Place

CODE = "PK505"


def check(place: Place) -> Iterator[Finding]:
    """Find an enum variant named after the source vendor."""
    port = place.port
    if place.scope.vendor or not port.names_source(place.name) or place.conditions:
        return
    copy = copy_place(place)
    if port.rename(place.name) != port.codebase.error_without_feature:
        copy = emit.gated(place, copy)
    status, claims = emit.ported(place, emit.named_sibling(place, port.rename(place.name)))
    yield emit.finding(
        place,
        CODE,
        "enum variant",
        f"the enum gains {port.rename(place.name)}",
        status=status,
        edits=(emit.insertion(place, copy),),
        claims=claims,
    )


RULE = Rule(CODE, "enum_variant", frozenset({"enum_variant"}), check)
