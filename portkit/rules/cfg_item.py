"""An item, a statement or a field under ``#[cfg(feature = "cuda")]``.

What stands under the feature alone exists only for CUDA. Its ROCm counterpart is the copy under the
name table, beside it, under ``#[cfg(feature = "rocm")]``.

Two cases differ. Where renaming changes nothing, the item is not about CUDA but about a GPU being
there, and its condition is widened to ``any(feature = "cuda", feature = "rocm")``. Where a
function's own name does not change, both copies would carry it when both features are on, so the
copy gets a name of its own: ``rocm_moe_gemm``. If a twin under ``not(feature = "cuda")`` shows that
callers use the plain name, the CUDA function hands tensors of a ROCm device over to the copy, and
without CUDA the plain name belongs to ROCm.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place, overridden
from portkit.cfg import widen
from portkit.finding import Applicability, Edit, Finding, Span
from portkit.fingerprint import fingerprint
from portkit.port import conditions_of
from portkit.rules import Rule
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
    copy = copy_place(place)
    if not port.renames_code(place.code) and f'"{source}"' not in place.code:
        yield from _widened(place, construct, symbol)
        return
    if place.kind == "function_item" and port.rename(place.name) == place.name:
        yield from _renamed_function(place, copy, symbol)
        return
    counterpart = (
        emit.named_sibling(place, port.rename(place.name))
        if place.name
        else emit.equal_sibling(place, copy)
    )
    status, claims = emit.ported(place, counterpart)
    yield emit.finding(
        place,
        CODE,
        construct,
        f"copy it for {port.vendor.title}, under the feature {port.vendor.name}",
        symbol=symbol,
        status=status,
        edits=(emit.insertion(place, copy),),
        claims=_without_peer_arms(place, claims),
    )


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
        status=emit.Status.PORTED
        if f'feature = "{port.vendor.name}"' in text
        else emit.Status.TODO,
        edits=(Edit(attribute.start_byte, attribute.end_byte, new),),
    )


def _renamed_function(place: Place, copy: str, symbol: str) -> Iterator[Finding]:
    port = place.port
    name = f"{port.vendor.name}_{place.name}"
    copy = re.sub(rf"\bfn {place.name}\b", f"fn {name}", copy, count=1)
    edits = [emit.insertion(place, copy)]
    message = f"copy it as {name}: under its own name it would stand twice with both features on"
    applicability = Applicability.SAFE
    twin = any(field_text(node, "name") == place.name for node, _ in emit.peers_of(place))
    if twin:
        handover = _handover(place, name)
        if handover is None:
            applicability = Applicability.REVIEW
            message += "; callers use the plain name: hand ROCm tensors over to the copy"
        else:
            edits = [handover[0], emit.insertion(place, f"{copy}\n\n{place.indent}{handover[1]}")]
    status, claims = emit.ported(place, emit.named_sibling(place, name))
    yield emit.finding(
        place,
        CODE,
        "cfg fn",
        message,
        symbol=symbol,
        applicability=applicability,
        status=status,
        edits=tuple(edits),
        claims=_without_peer_arms(place, claims),
    )


def _handover(place: Place, name: str) -> tuple[Edit, str] | None:
    """Return what the CUDA function says first, and the function of its name without CUDA."""
    port = place.port
    source, vendor = port.vendor.source, port.vendor.name
    parameters = [
        node_text(p.child_by_field_name("pattern"))
        for p in _parameters(place)
        if p.type == "parameter"
    ]
    asks = re.search(rf"\b((\w+)(?:\.\w+\(\))*)\.as_{source}_device\(\)", place.code)
    body = place.node.child_by_field_name("body")
    if body is None or asks is None or asks.group(2) not in parameters:
        return None
    inner = place.indent + "    "
    call = f"{name}({', '.join(parameters)})"
    dispatch = (
        f"\n{inner}{emit.feature_attribute(port)}\n{inner}if {asks.group(1)}.is_{vendor}() {{\n"
        f"{inner}    return {call};\n{inner}}}"
    )
    signature = place.source.text(place.node.start_byte, body.start_byte).strip()
    alone = (
        f'#[cfg(all(feature = "{vendor}", not(feature = "{source}")))]\n'
        + "".join(f"{place.indent}{node_text(a).strip()}\n" for a in _lints(place))
        + f"{place.indent}{signature} {{\n{inner}{call}\n{place.indent}}}"
    )
    return Edit(body.start_byte + 1, body.start_byte + 1, dispatch), alone


def _parameters(place: Place) -> list[Node]:
    parameters = place.node.child_by_field_name("parameters")
    return parameters.named_children if parameters is not None else []


def _lints(place: Place) -> list[Node]:
    return [a for a in place.attributes if node_text(a).startswith("#[allow")]


def _without_peer_arms(place: Place, claims: tuple[Span, ...]) -> tuple[Span, ...]:
    """Leave the peers' arms inside the place to the rule that writes them."""
    from portkit.rules.peer_arm import arms_in

    return tuple(rest for claim in claims for rest in emit.subtract(claim, arms_in(place)))


RULE = Rule(CODE, "cfg_item", frozenset({"*"}), check)
