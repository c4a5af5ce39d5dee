"""A place that belongs to a peer of CUDA, such as Metal.

ROCm is derived from CUDA's side, so the peer's side is left alone. Such places are counted, since a
token that nobody has accounted for is an error here.

Nothing is written here.
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
    """Find an item of a peer's, a single name of one, or a condition on one."""
    port = place.port
    if place.scope.vendor == port.vendor.source or _is_others(place):
        return
    if place.kind in _WHOLE and not port.names_source(place.text) and _about_peer(place):
        yield _kept(place, place.kind.removesuffix("_item").replace("_", " "), place.span)
    elif place.kind in _NAMES and _is_peers_name(place):
        yield _kept(place, place.kind.replace("_", " "), place.span)
    else:
        for attribute, cfg in place.conditions:
            if cfg.features() & {*port.vendor.peers} and port.vendor.source not in cfg.features():
                yield _kept(place, "condition", Span(attribute.start_byte, attribute.end_byte))


def _kept(place: Place, construct: str, claim: Span) -> Finding:
    peer = place.port.vendor.peers[0]
    return emit.finding(
        place,
        CODE,
        f"{peer}: {construct}",
        f"it belongs to {peer.capitalize()}; ROCm follows CUDA",
        symbol=place.symbol(place.name),
        applicability=Applicability.KEEP,
        claims=(claim,),
    )


def _is_peers_name(place: Place) -> bool:
    parent = place.node.parent
    return (
        place.port.names_peer(place.code)
        and not place.port.names_source(place.code)
        and (parent is None or "string" not in parent.type)
    )


def _is_others(place: Place) -> bool:
    """Whether a place is a matter of PK405 or PK803: a question, or an operation of its own."""
    for peer in place.port.vendor.peers:
        if place.code == f"is_{peer}":
            return True
        if place.name == f"{peer}_fwd" and place.scope.container == "trait impl":
            source = f"{place.port.vendor.source}_fwd"
            return emit.named_sibling(place, source) is None
    return False


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


RULE = Rule(CODE, "peer", frozenset({"*"}), check)
