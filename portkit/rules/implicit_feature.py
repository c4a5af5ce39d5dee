"""An optional dependency that is CUDA's feature by itself.

``cuda = { path = "gpu", optional = true }`` makes a feature ``cuda`` that no ``[features]`` lists
(the Cargo book, chapter "Features", section "Optional dependencies"). The crate gains a feature
``rocm``, which others can turn on and the copies of its code need. A person sees which crate it
should turn on.

A dependency that is the bindings under another name, ``cuda = { package = "cudarc" }``, is none:
the bindings of ROCm beside it (PK202) make the feature ``rocm`` in the same way.

Not handled: a dependency in a table of its own, ``[dependencies.cuda]``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from portkit.context.intent import AlreadyPorted, InsertText, Intent
from portkit.context.port_job import Site
from portkit.rules import SiteRule
from portkit.rules.dependency import name_counterpart
from portkit.syntax.toml_nodes import (
    find_pair_end,
    find_root,
    read_entry_name,
    read_key,
    read_table_header,
    unquote,
)
from portkit.syntax.toml_nodes import quote_key as key
from portkit.workspace.cargo_resolution import find_requestable_features


def check(site: Site) -> Iterator[Intent]:
    """Find a dependency whose name is the source vendor's feature."""
    job, name = site.job, read_entry_name(site.node)
    if site.crate is None or name not in job.counterparts:
        return
    if not read_table_header(site.node).endswith("dependencies") or name_counterpart(site, name):
        return
    manifest, new = site.crate.manifest, job.counterparts[name]
    if name in manifest.get("features", {}) or name not in find_requestable_features(manifest):
        return
    construct = "feature of a dependency's name"
    if new in find_requestable_features(manifest):
        yield AlreadyPorted(construct, f"the feature {new} is there", symbol=new)
        return
    table = _find_features(site.node)
    text, at = f"[features]\n{key(new)} = []\n\n", _start_of_table(site.node)
    if table is not None:
        pairs = [child for child in table.named_children if child.type == "pair"]
        text = f"\n{key(new)} = []"
        at = find_pair_end(pairs[-1]) if pairs else table.children[2].end_byte
    yield InsertText(
        construct,
        f"the optional dependency {name} is the feature {name} as well, so the crate gains a"
        f" feature {new}; it turns nothing on: see which crate it should turn on",
        symbol=new,
        review=True,
        text=text,
        at=at,
    )


def _find_features(node: Node) -> Node | None:
    """Return the table of features of a manifest, or None."""
    tables = (child for child in find_root(node).named_children if child.type == "table")
    return next((t for t in tables if unquote(read_key(t)) == "features"), None)


def _start_of_table(pair: Node) -> int:
    """Return where the table of a pair begins: what is written there belongs to no other one."""
    return pair.parent.start_byte if pair.parent is not None else pair.start_byte


RULE = SiteRule("PK205", frozenset({"pair"}), check)
