"""An item, a statement or a field under ``#[cfg(feature = "cuda")]``.

What stands under the feature alone exists only for CUDA. Its ROCm counterpart is the copy under the
name table, beside it, under ``#[cfg(feature = "rocm")]``.

Where renaming changes nothing, the item is not about CUDA but about a GPU being there, and its
condition is widened to ``any(feature = "cuda", feature = "rocm")``. What the profile calls
exclusive, such as a field whose name is no vendor's, gives way to its copy where both features are
on. A function whose name would stand twice then is another rule's (PK511), and so is an import that
only such functions need.

Not handled: ``#[cfg_attr(feature = "cuda", ..)]``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place, overridden
from portkit.cfg import widen
from portkit.finding import Applicability, Edit, Finding, Span, Status
from portkit.fingerprint import fingerprint
from portkit.port import conditions_of
from portkit.rules import Rule
from portkit.rules.cfg_function import is_for_functions
from portkit.rules.peer_arm import without_peer_arms
from portkit.rules.statement import CALLS, callee
from portkit.rules.use_list import imports_stand
from portkit.source import field_text, node_text
from portkit.templates import render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.port import Place
    from portkit.profile import Override

CODE = "PK501"

_WORDS = {
    "block": "cfg block",
    "enum_variant": "enum variant",
    "expression_statement": "cfg statement",
    "field_declaration": "cfg field",
    "field_initializer": "cfg field",
    "function_item": "cfg fn",
    "impl_item": "cfg impl",
    "let_declaration": "cfg statement",
    "mod_item": "cfg item: mod",
    "use_declaration": "import/re-export",
}


def check(place: Place) -> Iterator[Finding]:
    """Find what exists only with the source vendor's feature on."""
    port = place.port
    source = port.vendor.source
    if place.kind == "match_arm" or place.scope.vendor:
        return
    if not place.requires(source) or emit.unported_feature(place):
        return
    if place.scope.container in ("trait", "trait impl") and port.names_source(place.name):
        return
    construct = _WORDS.get(place.kind, "cfg item")
    symbol = place.symbol(place.name)
    override = overridden(port, place.source, place.symbol(f"{{{source}}}"))
    if override is not None and place.code.startswith("{"):
        yield from _overridden(place, override)
        return
    if place.kind == "use_declaration" and is_for_functions(place):
        yield emit.finding(
            place,
            CODE,
            construct,
            "a copy would clash with it when both features are on: the functions that need it "
            "bring in their own",
            symbol=symbol,
            applicability=Applicability.KEEP,
        )
        return
    copy = emit.exclusive_copy(place, copy_place(place))
    if not port.renames_code(place.code) and f'"{source}"' not in place.code:
        yield from _widened(place, construct, symbol)
        return
    if place.kind == "function_item" and port.rename(place.name) == place.name:
        return  # PK511
    counterpart = _counterpart(place, copy)
    status, claims = emit.ported(place, counterpart)
    exclusive = emit.exclusive(place)
    edits = () if counterpart else (emit.insertion(place, copy),)
    if exclusive is not None:
        edits = (*emit.giving_way(place), *edits)
        status = Status.TODO if edits else Status.PORTED
    yield emit.finding(
        place,
        CODE,
        construct,
        exclusive.reason
        if exclusive
        else f"copy it for {port.vendor.title}, under the feature {port.vendor.name}",
        symbol=symbol,
        status=status,
        edits=edits,
        claims=without_peer_arms(place, claims),
    )


def _counterpart(place: Place, copy: str) -> Span | None:
    """Return the span of what stands for the written vendor already, whoever wrote it."""
    if place.name:
        name = place.port.rename(place.name)
        gated = name == place.name  # a sibling of that name may be another vendor's
        return emit.named_sibling(place, name, gated=gated)
    if place.kind == "use_declaration":
        return place.span if imports_stand(place) else None
    return emit.equal_sibling(place, copy) or emit.sibling_by_hand(place, _key, gated=True)


def _key(node: Node) -> str:
    """Return what a counterpart of a node has in common with it, however a person wrote it."""
    if node.type == "expression_statement":
        inner = node.named_children[0]
        return callee(node) if inner.type in CALLS else inner.type
    fields = {"impl_item": ("trait", "type"), "let_declaration": ("pattern",)}
    return " ".join(field_text(node, f) for f in fields.get(node.type, ("field",)))


def _overridden(place: Place, override: Override) -> Iterator[Finding]:
    text = render(override.template, port=place.port).strip().replace("\n", f"\n{place.indent}")
    status, claims = emit.ported(place, _block_of(place))
    known = fingerprint(place.code) in override.fingerprints.values()
    yield emit.finding(
        place,
        CODE,
        "cfg block",
        override.reason
        if known
        else f"{override.reason}; the CUDA block is not one that the template was written against "
        f"(now {fingerprint(place.code)}): see whether the template must follow",
        symbol=place.symbol(f"{{{place.port.vendor.source}}}"),
        applicability=Applicability.SAFE if known else Applicability.REVIEW,
        status=status,
        edits=(emit.insertion(place, text),),
        claims=claims,
    )


def _block_of(place: Place) -> Span | None:
    """Return the span of a sibling block under the written vendor's feature."""
    for node, attributes in emit.peers_of(place):
        if any(c.requires(place.port.vendor.name) for _, c in conditions_of(attributes)):
            return Span(attributes[0].start_byte, node.end_byte)
    return None


def _widened(place: Place, construct: str, symbol: str) -> Iterator[Finding]:
    port = place.port
    attribute = emit.positive_condition(place, port.vendor.source)
    if attribute is None:
        return
    text = node_text(attribute)
    new = widen(text, port.vendor.source, port.vendor.name)
    yield emit.finding(
        place,
        CODE,
        construct,
        "it names nothing of CUDA: its condition is widened to ROCm",
        symbol=symbol,
        applicability=Applicability.REVIEW,
        status=Status.PORTED if f'feature = "{port.vendor.name}"' in text else Status.TODO,
        edits=(Edit(attribute.start_byte, attribute.end_byte, new),),
    )


RULE = Rule(CODE, "cfg_item", frozenset({"*"}), check)
