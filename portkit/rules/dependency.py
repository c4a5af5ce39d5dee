"""A dependency on a crate of CUDA's: the bindings, the kernels, the compiler driver.

``cudarc = { workspace = true, optional = true }`` gains the HIP bindings crate beside it, with the
same table, so that the feature ``rocm`` can ask for it. In the workspace's own table the new crates
stand with their path and version, or the bindings with where ``portkit.toml`` takes them from.
Crates that exist only to compile or bind CUDA get no counterpart, nor do
bindings that the workspace offers and no crate takes, or by features of its own alone.

One that turns CUDA on in a crate that has a port, ``features = ["cuda"]``, does so in every build:
a person moves that to the feature.

Bindings under another name, ``cuda = { package = "cudarc" }``, gain HIP's under ``rocm``.

A dependency in a table of its own, ``[dependencies.cudarc]``, gains a table beside it. Where
``[patch.crates-io]`` says that CUDA's crate is from elsewhere, that is left as it is.

Not handled: a table of a single target's, ``[target.'cfg(unix)'.dependencies.cudarc]``, which is
listed as unaccounted.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from portkit.context.intent import InsertText, Intent, LeaveUnchanged, RequireManual
from portkit.context.port_job import Site
from portkit.hipify.paths import BUILD_SCRIPT
from portkit.port import counterparts
from portkit.port.hip_bindings import has_bindings_dependency
from portkit.port.toolkit_versions import find_shared_members
from portkit.port.whole_crates import list_table_entries, write_requirement
from portkit.rules import SiteRule
from portkit.syntax.source_file import node_text
from portkit.syntax.toml_nodes import (
    find_entry,
    find_first_key,
    find_pair_end,
    find_table_end,
    find_value,
    read_entry_name,
    read_strings,
    read_table_header,
)

_TABLES = ("dependencies", "build-dependencies", "dev-dependencies")


def check(site: Site) -> Iterator[Intent]:
    """Find a dependency on a crate of the source vendor's."""
    if site.kind == "table":
        yield from _check_own_table(site)
        return
    job = site.job
    table = read_table_header(site.node)
    name, construct = read_entry_name(site.node), "dependency in Cargo.toml"
    if table.startswith("patch.") and job.mentions_cuda(site.code):
        kept = f"it says where CUDA's crate is from; {job.vendor.title}'s come with the port"
        yield LeaveUnchanged(construct, kept, symbol=name)
    if not table.endswith("dependencies"):
        return
    crate = job.find_counterpart_crate(name)
    offered = table == "workspace.dependencies" and job.vendor.dependencies.get(name) == "facade"
    if offered and not has_bindings_dependency(job.workspace, job.vendor, job.codebase):
        kept = "no crate of the tree takes it, or by features alone that get no counterpart"
        yield LeaveUnchanged(construct, kept, symbol=name)
        return
    if turned := _find_enabled_features(site, name):
        yield RequireManual(
            construct,
            f"it turns {' and '.join(turned)} of {name} on in every build, those for"
            f" {job.vendor.title} too: ask for that in the feature {job.source_feature}, by hand",
            symbol=name,
        )
        return
    if renamed := name_counterpart(site, name):
        facade = site.job.vendor.facade
        asked = _read_requirement(site, facade.name, read_table_header(site.node), name)
        if "package" not in asked:
            asked = f'package = "{facade.name}", {asked}'
        optional = ", optional = true" if "optional" in site.code else ""
        yield InsertText(
            "dependency in Cargo.toml",
            f"{facade.name} takes its place",
            symbol=name,
            text=f"\n{renamed} = {{ {asked}{optional} }}",
            at=find_pair_end(site.node),
            name=renamed,
        )
        return
    if not crate or not _is_asked_for(site, name) or not _is_first(site, name):
        yield LeaveUnchanged(construct, _explain_kept(site, name), symbol=name)
        return
    value = _read_rest(site)
    if table == "workspace.dependencies" or "workspace" not in value:
        value = f" = {{ {_read_requirement(site, crate, table, name)}"
        value += ", optional = true }" if "optional" in site.code else " }"
    yield InsertText(
        construct,
        f"{crate} takes its place",
        symbol=name,
        text=f"\n{crate}{value}",
        at=find_pair_end(site.node),
        name=crate,
    )


def name_counterpart(site: Site, name: str) -> str:
    """Return what the counterpart of renamed bindings is called here, or an empty string."""
    job = site.job
    if site.crate is None or site.kind != "pair" or job.find_counterpart_crate(name):
        return ""
    said = job.workspace.dependency(site.crate, name)
    package, new = str(said.get("package", name)), job.vendor.names.word(name)
    if new == name or job.find_counterpart_crate(package) != job.vendor.facade.name:
        return ""
    return new


def _find_enabled_features(site: Site, name: str) -> list[str]:
    """Return the features of CUDA's that a dependency always turns on in a crate with a port."""
    job, value = site.job, find_value(site.node)
    if value.type != "inline_table" or site.crate is None:
        return []
    said = job.workspace.dependency(site.crate, name)
    ported = job.codebase.ported.get(str(said.get("package", name)))
    listed = find_entry(value, "features")
    if ported is None or listed is None or said.get("optional"):
        return []
    of_source = {ported.source_feature, *ported.libraries}
    return [each for each in read_strings(listed) if each in of_source]


def _read_rest(site: Site) -> str:
    """Return what follows the name of a dependency, without the features of its crate."""
    start, value = find_first_key(site.node).end_byte, find_value(site.node)
    features = find_entry(value, "features") if value.type == "inline_table" else None
    if features is None:
        return site.source.text(start, value.end_byte)
    at = next(i for i, child in enumerate(value.children) if features in child.children)
    before, pair, behind = value.children[at - 1 : at + 2]
    if before.type == ",":
        head, tail = before.start_byte, pair.end_byte
    else:
        head, tail = before.end_byte, (behind if behind.type == "," else pair).end_byte
    return site.source.text(start, head) + site.source.text(tail, value.end_byte)


def _check_own_table(site: Site) -> Iterator[Intent]:
    """Find a dependency that has a table of its own."""
    job, construct = site.job, "dependency in Cargo.toml"
    table, _, name = read_entry_name(site.node).rpartition(".")
    if table not in _TABLES or not job.mentions_cuda(site.code):
        return
    crate = job.find_counterpart_crate(name)
    says_something = any(child.type == "pair" for child in site.node.named_children)
    if not crate or not says_something or not _is_asked_for(site, name):
        yield LeaveUnchanged(construct, _explain_kept(site, name), symbol=name)
        return
    lines = [f"[{table}.{crate}]"]
    if find_entry(site.node, "workspace") is not None:
        lines.append("workspace = true")
    else:
        lines += re.split(r", (?=[\w-]+ = )", _read_requirement(site, crate, table, name))
    optional = find_entry(site.node, "optional")
    if optional is not None and node_text(optional) == "true":
        lines.append("optional = true")
    yield InsertText(
        construct,
        f"{crate} takes its place",
        symbol=name,
        text="\n\n" + "\n".join(lines),
        at=find_table_end(site.node),
        name=f"{table}.{crate}",
    )


def _is_first(site: Site, name: str) -> bool:
    """Whether a pair is the first about a crate; dotted keys may spread one over several."""
    pairs = (n for n, _ in counterparts.list_siblings_named(site, name) if n.type == site.kind)
    return next(pairs).id == site.node.id


def _is_asked_for(site: Site, name: str) -> bool:
    """Whether a feature that has a counterpart asks for an optional dependency.

    A crate that always compiles for CUDA has no other part.
    """
    if "optional" not in site.code or site.crate is None:
        return site.job.find_counterpart_crate(name) != BUILD_SCRIPT
    features = site.crate.manifest.get("features", {})
    members = [m for feature in site.job.counterparts for m in features.get(feature, ())]
    job = site.job
    members += find_shared_members(job.vendor, job.source_feature, site.crate.manifest)
    return any(m.removeprefix("dep:").split("/")[0] == name for m in members)


def _read_requirement(site: Site, crate: str, table: str, name: str) -> str:
    """Return what a manifest says of a crate that takes the place of another."""
    inside: Any = site.crate.manifest if site.crate is not None else site.job.workspace.manifest
    for key in table.split("."):
        inside = inside.get(key, {})
    said = dict(list_table_entries(site.job.workspace, inside)).get(name, {})
    return write_requirement(site.job, crate, posixpath.dirname(site.source.path), said)


def _explain_kept(site: Site, name: str) -> str:
    job = site.job
    if name in job.vendor.dependencies:
        return "it compiles or binds CUDA; ROCm's own crates do that for HIP"
    for feature, reason in sorted(job.vendor.unported.items()):
        if feature in name or feature in site.code:
            return reason
    return "it belongs to a peer, or ROCm needs no other"


RULE = SiteRule("PK202", frozenset({"pair", "table"}), check)
