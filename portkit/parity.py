"""Parity: what CUDA has, ROCm has.

This check knows nothing of the rules. It reads the tree as it stands and compares names: each
function, variant, field and feature that is named after CUDA has its renamed counterpart in the
same container. A missing ``rocm_fwd`` compiles into "no rocm implementation"; here it is reported.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from portkit.finding import Status
from portkit.guards import guarded
from portkit.items import items
from portkit.names import normal
from portkit.port import Gating, conditions_of, item_symbol
from portkit.rules.added_arms import arms_of
from portkit.source import field_text, grouped, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.port import Port
    from portkit.scan import Scan
    from portkit.source import Source

_NAMED = frozenset(
    {
        "const_item",
        "enum_variant",
        "field_declaration",
        "function_item",
        "function_signature_item",
        "mod_item",
        "static_item",
        "struct_item",
        "trait_item",
        "type_item",
    }
)


@dataclass(frozen=True, slots=True, order=True)
class Unpaired:
    """Something of CUDA's without a counterpart.

    Attributes:
        path: the file.
        line: from 1.
        symbol: what CUDA has.
        wanted: the name that ROCm's would have.
        end: the last line that a counterpart would stand beside, or change.
    """

    path: str
    line: int
    symbol: str
    wanted: str
    end: int


def unpaired(scan: Scan) -> tuple[Unpaired, ...]:
    """Return what has no counterpart, sorted by place.

    Args:
        scan: a scan of the ported tree; of the scan only the tree and the profiles are used, and
            which files are kept whole.
    """
    port = scan.port
    kept = {f.path for f in scan.findings if f.code == "PK102"}
    found: list[Unpaired] = []
    for path in port.mentions:
        source = port.workspace.sources[path]
        if path in kept or path in port.analogs or path in port.analogs.values():
            continue
        if path.endswith(".rs"):
            found += _in_container(port, source, source.tree.root_node, "")
    for path, target in port.analogs.items():
        if target not in port.workspace.sources:
            found.append(Unpaired(path, 1, path, target, 1))
    for crate in port.workspace.crates:
        manifest = f"{crate.directory}/Cargo.toml".removeprefix("./")
        if manifest in kept or port.vendor.source not in crate.features:
            continue
        if port.vendor.name not in crate.features:
            line = _line_of_feature(port.workspace.sources[manifest], port.vendor.source)
            found.append(Unpaired(manifest, line, port.vendor.source, port.vendor.name, line))
    found += _without_arms(port)
    found += (
        Unpaired(f.path, line, f.symbol, "guard", line)
        for source in port.workspace.sources.values()
        for f in guarded(port, source)
        if f.status is Status.TODO
        for line, _ in (source.position(f.span.start),)
    )
    return tuple(sorted(found))


def _without_arms(port: Port) -> Iterator[Unpaired]:
    """Yield the functions that lack the arms that the profile has for them."""
    for arms in port.codebase.arms:
        wanted = normal(arms_of(port, arms))
        name = b"fn " + arms.symbol.rsplit("::", 1)[-1].encode() + b"("
        for path in port.mentions:
            source = port.workspace.sources[path]
            if not fnmatchcase(path, arms.path) or name not in source.data:
                continue
            for item in items(source):
                if item.symbol == arms.symbol and wanted not in normal(node_text(item.node)):
                    line, end = (
                        node.row + 1 for node in (item.node.start_point, item.node.end_point)
                    )
                    yield Unpaired(path, line, arms.symbol, "arms from the profile", end)


def _line_of_feature(source: Source, feature: str) -> int:
    """Return the line that declares a feature in a manifest, 1 where it is not spelled plainly."""
    lines = source.data.decode().split("\n")
    return next((n for n, text in enumerate(lines, 1) if re.match(rf"{feature}\s*=", text)), 1)


def _in_container(port: Port, source: Source, container: Node, outer: str) -> Iterator[Unpaired]:
    names: Counter[tuple[str, str]] = Counter()
    wanted: list[tuple[Node, str, str]] = []
    for node, attributes in grouped(container):
        if _left_out(port, attributes):
            continue
        name = field_text(node, "name")
        if node.type in _NAMED and name:
            names[node.type, name] += 1
            if port.names_source(name) and not port.names_unported(name):
                wanted.append((node, name, port.rename(name)))
        symbol = "::".join(s for s in (outer, item_symbol(node)) if s)
        if port.names_source(symbol) and node.type in ("impl_item", "mod_item", "struct_item"):
            continue  # the whole of it is CUDA's
        body = node.child_by_field_name("body")
        if body is not None and node.type in (
            "enum_item",
            "impl_item",
            "mod_item",
            "struct_item",
            "trait_item",
        ):
            yield from _in_container(port, source, body, symbol)
    for node, name, renamed in wanted:
        if names[node.type, renamed] == 0 and not _stands_in(port, node):
            line, _ = source.position(node.start_byte)
            symbol = "::".join(s for s in (outer, name) if s)
            yield Unpaired(source.path, line, symbol, renamed, line)


def _left_out(port: Port, attributes: tuple[Node, ...]) -> bool:
    """Whether an item exists only with a feature that is not ported."""
    return any(
        cfg.requires(feature)
        for _, cfg in conditions_of(attributes)
        for feature in port.vendor.unported
    )


def _stands_in(port: Port, node: Node) -> bool:
    """Whether an item is a dummy's, which ``--gating cfg`` does without."""
    return port.gating is Gating.CFG and f"dummy_{port.vendor.source}" in node_text(node)
