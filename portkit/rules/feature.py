"""The Cargo feature of the CUDA backend.

``cuda = ["cudarc", "dep:toy-kernels", "toy/cuda"]`` gains a sibling ``rocm`` that asks for
the counterparts: the HIP bindings, the ROCm kernels, and the feature ``rocm`` of the crates below.
Crates that exist only to compile or bind CUDA are left out.

Not handled: features that only turn it on, such as ``default = ["cuda"]``, which are listed as
unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.source import node_text
from portkit.rules import Rule
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Job, Site

CODE = "PK201"


def check(site: Site) -> Iterator[Finding]:
    """Find a feature in a manifest that names the source vendor."""
    job = site.job
    if table_of(site.node) != "features":
        return
    name, value = key_of(site.node), value_of(site.node)
    if name != job.vendor.source:
        if name in job.vendor.unported:
            yield emit.finding(
                site,
                CODE,
                "feature in Cargo.toml",
                job.vendor.unported[name],
                symbol=name,
                applicability=Applicability.KEEP,
            )
        elif not job.names_source(site.code) and job.names_peer(site.code):
            yield emit.finding(
                site,
                CODE,
                "feature in Cargo.toml",
                "it belongs to a peer; ROCm follows CUDA",
                symbol=name,
                applicability=Applicability.KEEP,
            )
        return
    members = [m for s in strings(value) if (m := counterpart(site, s))]
    listed = ", ".join(f'"{m}"' for m in members)
    standing = any(key_of(n) == job.vendor.name for n, _ in emit.peers_of(site))
    end = end_of(site.node)
    yield emit.finding(
        site,
        CODE,
        "feature in Cargo.toml",
        f"the feature {job.vendor.name} asks for the counterparts",
        symbol=job.vendor.name,
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(end, end, f"\n{job.vendor.name} = [{listed}]"),),
    )


def counterpart(site: Site, member: str) -> str:
    """Return what a member of the CUDA feature becomes, or an empty string to leave it out.

    A feature of a crate that the port does not write is left out: only the crates of the tree gain
    the feature.
    """
    job = site.job
    crate, _, feature = member.removeprefix("dep:").partition("/")
    crate = crate.rstrip("?")
    written = written_crate(job, crate)
    if written:
        return "" if feature else f"dep:{written}"
    if crate in job.vendor.dependencies:
        return ""
    if feature and not _in_tree(site, crate):
        return ""
    return member.replace(job.vendor.source, job.vendor.name)


def _in_tree(site: Site, dependency: str) -> bool:
    """Whether a dependency is a crate of the tree: it has a path, here or in the workspace."""
    tables = [site.job.workspace.manifest.get("workspace", {})]
    if site.crate is not None:
        tables.append(site.crate.manifest)
    return any(
        isinstance(entry := table.get("dependencies", {}).get(dependency), dict) and "path" in entry
        for table in tables
    )


def written_crate(job: Job, crate: str) -> str:
    """Return the name of the crate that takes the place of ``crate``, or an empty string."""
    known = job.vendor.dependencies.get(crate, "")
    if known == "facade":
        return job.vendor.facade.name
    if known == "generator":
        return job.vendor.generator.name
    if known == "kernels" and job.codebase.kernels is not None:
        return job.codebase.kernels.name
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
