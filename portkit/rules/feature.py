"""The Cargo feature of the CUDA backend.

``cuda = ["cudarc", "dep:candle-kernels", "candle/cuda"]`` gains a sibling ``rocm`` that asks for
the counterparts: the HIP bindings, the ROCm kernels, and the feature ``rocm`` of the crates below.
Crates that exist only to compile or bind CUDA are left out.

Not handled: features that only turn it on, such as ``default = ["cuda"]``, which are listed as
unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Edit, Finding, Status
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
    name, value = key_of(place.node), value_of(place.node)
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
    members = [m for s in strings(value) if (m := counterpart(place, s))]
    listed = ", ".join(f'"{m}"' for m in members)
    standing = any(key_of(n) == port.vendor.name for n, _ in emit.peers_of(place))
    end = end_of(place.node)
    yield emit.finding(
        place,
        CODE,
        "feature in Cargo.toml",
        f"the feature {port.vendor.name} asks for the counterparts",
        symbol=port.vendor.name,
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(end, end, f"\n{port.vendor.name} = [{listed}]"),),
    )


def counterpart(place: Place, member: str) -> str:
    """Return what a member of the CUDA feature becomes, or an empty string to leave it out.

    A feature of a crate that the port does not write is left out: only the crates of the tree gain
    the feature.
    """
    port = place.port
    crate, _, feature = member.removeprefix("dep:").partition("/")
    crate = crate.rstrip("?")
    written = written_crate(port, crate)
    if written:
        return "" if feature else f"dep:{written}"
    if crate in port.vendor.dependencies:
        return ""
    if feature and not _in_tree(place, crate):
        return ""
    return member.replace(port.vendor.source, port.vendor.name)


def _in_tree(place: Place, dependency: str) -> bool:
    """Whether a dependency is a crate of the tree: it has a path, here or in the workspace."""
    tables = [place.port.workspace.manifest.get("workspace", {})]
    if place.crate is not None:
        tables.append(place.crate.manifest)
    return any(
        isinstance(entry := table.get("dependencies", {}).get(dependency), dict) and "path" in entry
        for table in tables
    )


def written_crate(port: Port, crate: str) -> str:
    """Return the name of the crate that takes the place of ``crate``, or an empty string."""
    known = port.vendor.dependencies.get(crate, "")
    if known == "facade":
        return port.vendor.facade.name
    if known == "generator":
        return port.vendor.generator.name
    if known == "kernels" and port.codebase.kernels is not None:
        return port.codebase.kernels.name
    return ""


def key_of(pair: Node) -> str:
    """Return the key of a pair in a manifest."""
    return node_text(pair.named_children[0]) if pair.named_children else ""


def value_of(pair: Node) -> Node:
    """Return the value of a pair; a comment behind it belongs to the pair as well."""
    return pair.named_children[1]


def end_of(pair: Node) -> int:
    """Return the end of a pair, a comment behind it included, without a carriage return."""
    return pair.children[-1].end_byte


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
