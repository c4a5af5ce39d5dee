"""A dependency on a crate of CUDA's: the bindings, the kernels, the compiler driver.

``cudarc = { workspace = true, optional = true }`` gains the HIP bindings crate beside it, with the
same table, so that the feature ``rocm`` can ask for it. In the workspace's own table the new crates
stand with their path and version. Crates that exist only to compile or bind CUDA get no
counterpart.

Not handled: a dependency in a table of its own, ``[dependencies.cudarc]``, which is listed as
unaccounted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Edit, Finding, Status
from portkit.rules import Rule
from portkit.rules.feature import end_of, key_of, table_of, value_of, written_crate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.port import Place

CODE = "PK202"


def check(place: Place) -> Iterator[Finding]:
    """Find a dependency on a crate of the source vendor's."""
    port = place.port
    table = table_of(place.node)
    if not table.endswith("dependencies"):
        return
    name = _crate_of(place.node)
    crate = written_crate(port, name)
    if not crate or not _asked_for(place, name) or not _is_first(place, name):
        yield emit.finding(
            place,
            CODE,
            "dependency in Cargo.toml",
            _why_kept(place, name),
            symbol=name,
            applicability=Applicability.KEEP,
        )
        return
    standing = any(_crate_of(n) == crate for n, _ in emit.peers_of(place))
    value = place.source.text(
        place.node.start_byte + len(name.encode()), value_of(place.node).end_byte
    )
    if table == "workspace.dependencies" or "workspace" not in value:
        value = f' = {{ path = "{_path(place, crate)}", version = "{_version(place)}"'
        value += ", optional = true }" if "optional" in place.code else " }"
    else:
        value = re.sub(r",?\s*features\s*=\s*\[[^\]]*\]", "", value)
    end = end_of(place.node)
    yield emit.finding(
        place,
        CODE,
        "dependency in Cargo.toml",
        f"{crate} takes its place",
        symbol=name,
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(end, end, f"\n{crate}{value}"),),
    )


def _crate_of(pair: Node) -> str:
    """Return the crate that a pair is about; its key may be dotted, as in `cudarc.workspace`."""
    return key_of(pair).partition(".")[0]


def _is_first(place: Place, name: str) -> bool:
    """Whether a pair is the first about a crate; dotted keys may spread one over several."""
    pairs = (n for n, _ in place.siblings if n.type == place.kind and _crate_of(n) == name)
    return next(pairs).id == place.node.id


def _asked_for(place: Place, name: str) -> bool:
    """Whether the feature of the source vendor asks for an optional dependency."""
    if "optional" not in place.code or place.crate is None:
        return True
    members = place.crate.manifest.get("features", {}).get(place.port.vendor.source, [])
    return any(m.removeprefix("dep:").split("/")[0] == name for m in members)


def _path(place: Place, crate: str) -> str:
    depth = place.source.path.count("/")
    return ("../" * depth or "./") + crate


def _version(place: Place) -> str:
    return place.port.workspace.version


def _why_kept(place: Place, name: str) -> str:
    port = place.port
    if name in port.vendor.dependencies:
        return "it compiles or binds CUDA; ROCm's own crates do that for HIP"
    for feature, reason in sorted(port.vendor.unported.items()):
        if feature in name or feature in place.code:
            return reason
    return "it belongs to a peer, or ROCm needs no other"


RULE = Rule(CODE, "dependency", frozenset({"pair"}), check)
