"""A dependency on a crate of CUDA's: the bindings, the kernels, the compiler driver.

``cudarc = { workspace = true, optional = true }`` gains the HIP bindings crate beside it, with the
same table, so that the feature ``rocm`` can ask for it. In the workspace's own table the new crates
stand with their path and version. Crates that exist only to compile or bind CUDA get no
counterpart.

A dependency in a table of its own, ``[dependencies.cudarc]``, gains a table beside it.

Not handled: a table of a single target's, ``[target.'cfg(unix)'.dependencies.cudarc]``, which is
listed as unaccounted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.source import node_text
from portkit.rules import Rule
from portkit.rules.feature import end_of, key_of, table_of, value_of, written_crate
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site

CODE = "PK202"

_TABLES = ("dependencies", "build-dependencies", "dev-dependencies")


def check(site: Site) -> Iterator[Finding]:
    """Find a dependency on a crate of the source vendor's."""
    if site.kind == "table":
        yield from _own_table(site)
        return
    job = site.job
    table = table_of(site.node)
    if not table.endswith("dependencies"):
        return
    name = _crate_of(site.node)
    crate = written_crate(job, name)
    if not crate or not _asked_for(site, name) or not _is_first(site, name):
        yield emit.finding(
            site,
            CODE,
            "dependency in Cargo.toml",
            _why_kept(site, name),
            symbol=name,
            applicability=Applicability.KEEP,
        )
        return
    standing = any(_crate_of(n) == crate for n, _ in emit.peers_of(site))
    value = site.source.text(
        site.node.start_byte + len(name.encode()), value_of(site.node).end_byte
    )
    if table == "workspace.dependencies" or "workspace" not in value:
        value = f' = {{ path = "{_path(site, crate)}", version = "{_version(site)}"'
        value += ", optional = true }" if "optional" in site.code else " }"
    else:
        value = re.sub(r",?\s*features\s*=\s*\[[^\]]*\]", "", value)
    end = end_of(site.node)
    yield emit.finding(
        site,
        CODE,
        "dependency in Cargo.toml",
        f"{crate} takes its place",
        symbol=name,
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(end, end, f"\n{crate}{value}"),),
    )


def _own_table(site: Site) -> Iterator[Finding]:
    """Find a dependency that has a table of its own."""
    job = site.job
    table, name = _header(site.node)
    if table not in _TABLES or not job.names_source(site.code):
        return
    pairs = [child for child in site.node.named_children if child.type == "pair"]
    crate = written_crate(job, name)
    if not crate or not pairs or not _asked_for(site, name):
        yield emit.finding(
            site,
            CODE,
            "dependency in Cargo.toml",
            _why_kept(site, name),
            symbol=name,
            applicability=Applicability.KEEP,
        )
        return
    lines = [f"[{table}.{crate}]"]
    if any(key_of(pair) == "workspace" for pair in pairs):
        lines.append("workspace = true")
    else:
        lines += [f'path = "{_path(site, crate)}"', f'version = "{_version(site)}"']
    if any(key_of(pair) == "optional" and node_text(value_of(pair)) == "true" for pair in pairs):
        lines.append("optional = true")
    standing = any(_header(n) == (table, crate) for n, _ in emit.peers_of(site))
    end = end_of(pairs[-1])
    yield emit.finding(
        site,
        CODE,
        "dependency in Cargo.toml",
        f"{crate} takes its place",
        symbol=name,
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(end, end, "\n\n" + "\n".join(lines)),),
    )


def _header(table: Node) -> tuple[str, str]:
    """Return the table of dependencies and the crate that the header of a table names."""
    head = node_text(table.named_children[0]) if table.named_children else ""
    kind, _, crate = head.rpartition(".")
    return kind, crate


def _crate_of(pair: Node) -> str:
    """Return the crate that a pair is about; its key may be dotted, as in `cudarc.workspace`."""
    return key_of(pair).partition(".")[0]


def _is_first(site: Site, name: str) -> bool:
    """Whether a pair is the first about a crate; dotted keys may spread one over several."""
    pairs = (n for n, _ in site.siblings if n.type == site.kind and _crate_of(n) == name)
    return next(pairs).id == site.node.id


def _asked_for(site: Site, name: str) -> bool:
    """Whether the feature of the source vendor asks for an optional dependency."""
    if "optional" not in site.code or site.crate is None:
        return True
    members = site.crate.manifest.get("features", {}).get(site.job.vendor.source, [])
    return any(m.removeprefix("dep:").split("/")[0] == name for m in members)


def _path(site: Site, crate: str) -> str:
    depth = site.source.path.count("/")
    return ("../" * depth or "./") + crate


def _version(site: Site) -> str:
    return site.job.workspace.version


def _why_kept(site: Site, name: str) -> str:
    job = site.job
    if name in job.vendor.dependencies:
        return "it compiles or binds CUDA; ROCm's own crates do that for HIP"
    for feature, reason in sorted(job.vendor.unported.items()):
        if feature in name or feature in site.code:
            return reason
    return "it belongs to a peer, or ROCm needs no other"


RULE = Rule(CODE, "dependency", frozenset({"pair", "table"}), check)
