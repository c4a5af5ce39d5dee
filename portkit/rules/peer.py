"""A place that belongs to a peer of CUDA, such as Metal.

ROCm is derived from CUDA's side, so the peer's side is left alone. Such places are counted, since a
token that nobody has accounted for is an error here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Finding, Span
from portkit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK802"

_WHOLE = frozenset(
    {
        "const_item",
        "enum_variant",
        "function_item",
        "function_signature_item",
        "impl_item",
        "macro_definition",
        "match_arm",
        "mod_item",
        "static_item",
        "struct_item",
        "type_item",
        "use_declaration",
        "if_expression",
        "let_declaration",
        "expression_statement",
    }
)
_NAMES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "string_content", "metavariable"}
)


def check(place: Place) -> Iterator[Finding]:
    """Find an item of a peer's, or a single name of one."""
    port = place.port
    if place.scope.vendor == port.vendor.source:
        return
    whole = place.kind in _WHOLE
    if whole:
        if port.names_source(place.text) or not _about_peer(place):
            return
    elif place.kind not in _NAMES or not port.names_peer(place.code) or port.names_source(place.code):
        return
    if not whole and place.node.parent is not None and "string" in place.node.parent.type:
        return
    yield emit.finding(
        place,
        CODE,
        f"{port.vendor.peers[0]}: {place.kind.removesuffix('_item').replace('_', ' ')}",
        f"it belongs to {port.vendor.peers[0].capitalize()}; ROCm follows CUDA",
        symbol=place.symbol(place.name),
        applicability=Applicability.KEEP,
        claims=(Span(place.start, place.node.end_byte),),
    )


def _about_peer(place: Place) -> bool:
    """Whether an item is the peer's as a whole: by its name, its condition or its pattern."""
    port = place.port
    if any(place.requires(p) for p in port.vendor.peers):
        return True
    if place.kind == "match_arm":
        pattern = place.node.child_by_field_name("pattern")
        return pattern is not None and port.names_peer((pattern.text or b"").decode())
    if place.kind == "expression_statement" and place.node.named_children[0].type == (
        "macro_invocation"
    ):
        # The macro may take an argument for each backend.
        return False
    if place.kind in ("use_declaration", "expression_statement", "let_declaration"):
        return "is_metal" not in place.code and port.names_peer(place.code)
    if place.kind == "if_expression":
        condition = place.node.child_by_field_name("condition")
        text = (condition.text or b"").decode() if condition is not None else ""
        return port.names_peer(text) and "is_metal()" not in text
    if place.kind == "impl_item":
        type_name = place.node.child_by_field_name("type")
        return type_name is not None and port.names_peer((type_name.text or b"").decode())
    return port.names_peer(place.name)


RULE = Rule(CODE, "peer", _WHOLE | _NAMES, check)
