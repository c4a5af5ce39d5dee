"""A function under ``#[cfg(feature = "cuda")]`` whose name says nothing of CUDA.

A copy of it would carry the same name, and with both features on it would stand twice. So the copy
gets a name of its own: ``rocm_moe_gemm`` for ``moe_gemm``. If a twin under ``not(feature =
"cuda")`` shows that callers use the plain name, the CUDA function hands the tensors of a ROCm
device over to the copy, and without CUDA the plain name belongs to ROCm. The device is taken from
the parameter on which the CUDA function calls ``as_cuda_device()``.

What such functions import from CUDA's modules under an unchanged name, as in ``use
cuda_backend::kernels::ffi``, cannot be imported twice either: each copy imports it itself.

Not handled: handing over where no parameter says the device, which is left to a person.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.finding import Applicability, Edit, Finding, Status
from portkit.names import code_only
from portkit.port import conditions_of
from portkit.rules import Rule
from portkit.rules.peer_arm import without_peer_arms
from portkit.rules.use_list import brought_in
from portkit.source import field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.port import Place

CODE = "PK511"


def check(place: Place) -> Iterator[Finding]:
    """Find a function that exists only with the source vendor's feature, under a shared name."""
    port = place.port
    if place.scope.vendor or not place.requires(port.vendor.source) or not _shares_name(place):
        return
    if emit.unported_feature(place) or not port.renames_code(place.code):
        return
    name = f"{port.vendor.name}_{place.name}"
    applicability = Applicability.SAFE
    message = f"copy it as {name}: under its own name it would stand twice with both features on"
    copied = emit.named_sibling(place, name)
    by_hand = _is_written_by_hand(place, name)
    edits: list[Edit] = []
    texts = [] if copied else [_copy(place, name)]
    if any(field_text(node, "name") == place.name for node, _ in emit.peers_of(place)):
        handover = _handover(place, name)
        if handover is None:
            applicability = Applicability.REVIEW
            message += "; callers use the plain name: hand ROCm tensors over to the copy"
        else:
            if f"{name}(" not in place.code:
                edits.append(handover[0])
            if not _stands_without_cuda(place):
                texts.append(handover[1])
    if texts:
        edits.append(emit.insertion(place, f"\n\n{place.indent}".join(texts)))
    yield emit.finding(
        place,
        CODE,
        "cfg fn",
        message,
        symbol=place.symbol(place.name),
        applicability=applicability,
        status=Status.TODO if edits and not by_hand else Status.PORTED,
        edits=tuple(edits),
        claims=without_peer_arms(place, (place.span, *([copied] if copied else []))),
    )


def is_for_functions(place: Place) -> bool:
    """Whether an import brings in unchanged names that only functions with shared names use."""
    port = place.port
    names = _clashing(place, place.node)
    if not names or emit.equal_sibling(place, copy_place(place)) is not None:
        return False
    if any(c.type == "visibility_modifier" for c in place.node.children):
        return False
    users = []
    for node, attributes in place.siblings:
        gated = any(cfg.requires(port.vendor.source) for _, cfg in conditions_of(attributes))
        if gated and node.id != place.node.id and _uses(node_text(node), names):
            users.append(node.type == "function_item" and not _is_renamed(place, node))
    return bool(users) and all(users)


def _shares_name(place: Place) -> bool:
    return place.kind == "function_item" and place.port.rename(place.name) == place.name


def _is_renamed(place: Place, function: Node) -> bool:
    name = field_text(function, "name")
    return place.port.rename(name) != name


def _clashing(place: Place, use: Node) -> list[str]:
    """Return the names of an import that stay as they are although its path is renamed."""
    argument = use.child_by_field_name("argument")
    if argument is None or not place.port.renames_code(node_text(argument)):
        return []
    return [n for n in brought_in(argument) if place.port.rename(n) == n]


def _uses(text: str, names: list[str]) -> bool:
    return any(re.search(rf"(?<!::)\b{n}\b", code_only(text)) for n in names)


def _copy(place: Place, name: str) -> str:
    """Return the copy under its own name, with the imports that it needs for itself."""
    port = place.port
    copy = re.sub(rf"\bfn {place.name}\b", f"fn {name}", copy_place(place), count=1)
    imports = ""
    for node, attributes in place.siblings:
        if node.type != "use_declaration":
            continue
        gated = any(cfg.requires(port.vendor.source) for _, cfg in conditions_of(attributes))
        if gated and _uses(place.code, _clashing(place, node)):
            imports += f"\n{place.indent}    {port.rename(node_text(node))}"
    body = copy.index("{", copy.index(f"fn {name}")) + 1
    return copy[:body] + imports + copy[body:]


def _is_written_by_hand(place: Place, name: str) -> bool:
    """Whether a person wrote the function for ROCm under the plain name, with a body of its own."""
    return any(
        field_text(node, "name") == place.name
        and any(cfg.requires(place.port.vendor.name) for _, cfg in conditions_of(attributes))
        and f"{name}(" not in node_text(node)
        for node, attributes in emit.peers_of(place)
    )


def _stands_without_cuda(place: Place) -> bool:
    """Whether the plain name has a function for ROCm alone."""
    vendor = place.port.vendor
    return any(
        field_text(node, "name") == place.name
        and any(
            c.requires(vendor.name) and c.forbids(vendor.source)
            for _, c in conditions_of(attributes)
        )
        for node, attributes in emit.peers_of(place)
    )


def _handover(place: Place, name: str) -> tuple[Edit, str] | None:
    """Return what the CUDA function says first, and the function of its name without CUDA."""
    port = place.port
    source, vendor = port.vendor.source, port.vendor.name
    listed = place.node.child_by_field_name("parameters")
    parameters = [
        field_text(p, "pattern")
        for p in (listed.named_children if listed is not None else ())
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
    lints = [a for a in place.attributes if node_text(a).startswith("#[allow")]
    alone = (
        f'#[cfg(all(feature = "{vendor}", not(feature = "{source}")))]\n'
        + "".join(f"{place.indent}{node_text(a).strip()}\n" for a in lints)
        + f"{place.indent}{signature} {{\n{inner}{call}\n{place.indent}}}"
    )
    return Edit(body.start_byte + 1, body.start_byte + 1, dispatch), alone


RULE = Rule(CODE, "cfg_function", frozenset({"function_item"}), check)
