"""The Cargo feature of the CUDA backend.

``cuda = ["cudarc", "dep:candle-kernels", "candle/cuda"]`` gains a sibling ``rocm`` that asks for the
counterparts: the HIP bindings, the ROCm kernels, and the feature ``rocm`` of the crates below. Crates
that exist only to compile or bind CUDA are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Edit, Finding
from portkit.rules import Rule
from portkit.source import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.port import Place, Port

CODE = "PK201"


def check(place: Place) -> Iterator[Finding]:
    """Find a feature in a manifest that names the source vendor."""
    port = place.port
    if table_of(place.node) != "features":
        return
    name, value = key_of(place.node), place.node.named_children[-1]
    if name != port.vendor.source:
        if name in port.vendor.unported:
            yield emit.finding(
                place,
                CODE,
                "feature in Cargo.toml",
                port.vendor.unported[name],
                symbol=name,
                applicability=Applicability.KEEP,
            )
        elif not port.names_source(place.code) and port.names_peer(place.code):
            yield emit.finding(
                place,
                CODE,
                "feature in Cargo.toml",
                "it belongs to a peer; ROCm follows CUDA",
                symbol=name,
                applicability=Applicability.KEEP,
            )
        return
    members = [m for s in strings(value) if (m := counterpart(port, s))]
    listed = ", ".join(f'"{m}"' for m in members)
    standing = any(key_of(n) == port.vendor.name for n, _ in emit.peers_of(place))
    end = place.node.end_byte
    yield emit.finding(
        place,
        CODE,
        "feature in Cargo.toml",
        f"the feature {port.vendor.name} asks for the counterparts",
        symbol=port.vendor.name,
        status=emit.Status.PORTED if standing else emit.Status.TODO,
        edits=(Edit(end, end, f"\n{port.vendor.name} = [{listed}]"),),
    )


def counterpart(port: Port, member: str) -> str:
    """Return what a member of the CUDA feature becomes, or an empty string to leave it out."""
    crate, _, feature = re.sub(r"^dep:", "", member).partition("/")
    crate = crate.rstrip("?")
    known = port.vendor.dependencies.get(crate)
    if known is not None or crate.endswith("-sys"):
        return f"dep:{written_crate(port, crate)}" if known and not feature else ""
    return member.replace(port.vendor.source, port.vendor.name)


def written_crate(port: Port, crate: str) -> str:
    """Return the name of the crate that takes the place of ``crate``, or an empty string."""
    known = port.vendor.dependencies.get(crate, "")
    if known == "facade":
        return port.vendor.facade.name
    if known == "kernels" and port.codebase.kernels is not None:
        return port.codebase.kernels.name
    return ""


def key_of(pair: Node) -> str:
    """Return the key of a pair in a manifest."""
    return node_text(pair.named_children[0]) if pair.named_children else ""


def table_of(pair: Node) -> str:
    """Return the header of the table that a pair stands in."""
    parent = pair.parent
    if parent is None or parent.type not in ("table", "table_array_element"):
        return ""
    return node_text(parent.named_children[0])


def strings(array: Node) -> list[str]:
    """Return the strings of an array."""
    return [node_text(c)[1:-1] for c in array.named_children if c.type == "string"]


RULE = Rule(CODE, "feature", frozenset({"pair"}), check)
