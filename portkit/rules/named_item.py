"""A type, a constant, a static, a trait or a module that is named after CUDA.

What names it for ROCm, such as a copied function, needs a counterpart: the copy under the name
table, beside it. A module's declaration is copied here; the file that it names is a matter of
PK101.

Not handled: a ``union``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.finding import Applicability, Finding
from portkit.port import Gating
from portkit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK507"


def check(place: Place) -> Iterator[Finding]:
    """Find an item named after the source vendor, without a condition of its own."""
    port = place.port
    if place.scope.vendor or not port.names_source(place.name) or place.conditions:
        return
    construct = place.kind.removesuffix("_item").replace("macro_definition", "macro")
    if port.gating is Gating.CFG and emit.is_dummy(place):
        yield emit.finding(
            place,
            CODE,
            construct,
            "there is no dummy backend with --gating cfg",
            symbol=place.symbol(place.name),
            applicability=Applicability.KEEP,
        )
        return
    copy = copy_place(place)
    if place.port.names_gated(copy) or place.kind == "static_item":
        copy = emit.gated(place, copy)
    status, claims = emit.ported(place, emit.named_sibling(place, port.rename(place.name)))
    yield emit.finding(
        place,
        CODE,
        construct,
        f"{port.rename(place.name)} is its copy",
        symbol=place.symbol(place.name),
        status=status,
        edits=(emit.insertion(place, copy),),
        claims=claims,
    )


RULE = Rule(
    CODE,
    "named_item",
    frozenset(
        {
            "const_item",
            "enum_item",
            "mod_item",
            "static_item",
            "struct_item",
            "trait_item",
            "type_item",
        }
    ),
    check,
)
