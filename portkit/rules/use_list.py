"""An import or a re-export of something of CUDA's.

``use crate::{CpuStorage, CudaStorage}`` gains ``RocmStorage``; ``pub use cuda::{..}``, whose path
is CUDA's, gets a copy beside it. With ``--gating cfg`` a member of a list cannot carry an
attribute, so an import of its own is written under the feature.

Not handled: an import that brings in a name which does not change, as in ``use cuda::Device``. A
copy would bring it in twice (rustc: E0252), so it is left to a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site
from portkit.lang.renaming import normal
from portkit.lang.source import field_text, node_text
from portkit.rules import Rule
from portkit.site.context import Gating
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Job, Site

CODE = "PK509"


def check(site: Site) -> Iterator[Finding]:
    """Find an import that names the source vendor."""
    job = site.job
    if site.scope.vendor or site.conditions or not job.renames_code(site.code):
        return
    argument = site.node.child_by_field_name("argument")
    if argument is None:
        return
    if job.renames_code(node_text(argument).split("{", 1)[0]):
        copy = copy_site(site)
        if _is_gated(job, job.rename(node_text(argument))):
            copy = emit.gated(site, copy)
        status = Status.PORTED if imports_stand(site) else Status.TODO
        claims = (site.span,)
        edits: tuple[Edit, ...] = (emit.insertion(site, copy),)
        clash = next((n for n in brought_in(argument) if job.rename(n) == n), "")
        if clash and status is Status.TODO:
            yield emit.finding(
                site,
                CODE,
                "import/re-export",
                f"a copy would bring in {clash} a second time: import {job.vendor.title}'s "
                "under a name of its own",
                symbol=site.symbol(field_text(site.node, "argument").split("{")[0].strip()),
                applicability=Applicability.MANUAL,
            )
            return
    else:
        members = list(_members(site, argument))
        if not members:
            return
        standing = {normal(m) for m in _leaves(site)}
        missing = [m for m in members if normal(m[2]) not in standing]
        status = Status.TODO if missing else Status.PORTED
        claims = (site.span,)
        alone = [m for m in missing if job.gating is Gating.CFG and _is_gated(job, m[2])]
        edits = tuple(
            Edit(node.end_byte, node.end_byte, f", {name}")
            for node, name, path in missing
            if (node, name, path) not in alone
        )
        if alone:
            head = site.source.text(site.node.start_byte, argument.start_byte)
            lines = [emit.gated(site, f"{head}{path};") for _, _, path in alone]
            edits += (emit.insertion(site, f"\n{site.indent}".join(lines)),)
    yield emit.finding(
        site,
        CODE,
        "import/re-export",
        f"import what {job.vendor.title} has in its place",
        symbol=site.symbol(field_text(site.node, "argument").split("{")[0].strip()),
        status=status,
        edits=edits,
        claims=claims,
    )


def brought_in(argument: Node) -> Iterator[str]:
    """Yield each name that an import brings into scope; a glob brings in none that could clash."""
    pending = [argument]
    while pending:
        node = pending.pop()
        if node.type in ("scoped_use_list", "use_list"):
            inner = node.child_by_field_name("list") or node
            pending += inner.named_children
        elif node.type == "use_as_clause":
            yield field_text(node, "alias")
        elif node.type not in ("self", "use_wildcard"):
            yield node_text(node).rsplit("::", 1)[-1]


def _is_gated(job: Job, path: str) -> bool:
    """Whether an imported path exists only with the feature on; its last name may be a module."""
    return job.names_gated(f"{path}::")


def _members(site: Site, node: Node, prefix: str = "") -> Iterator[tuple[Node, str, str]]:
    """Yield each member to add to a list: the node, the new member, and its whole path."""
    if node.type == "scoped_use_list":
        path = field_text(node, "path")
        inner = node.child_by_field_name("list")
        if inner is not None:
            for child in inner.named_children:
                yield from _members(site, child, f"{prefix}{path}::" if path else prefix)
    elif node.type == "use_list":
        for child in node.named_children:
            yield from _members(site, child, prefix)
    else:
        text = node_text(node)
        renamed = site.job.rename(text)
        if site.job.renames_code(text):
            yield node, renamed, prefix + renamed


def imports_stand(site: Site) -> bool:
    """Whether all that an import would bring in for the written vendor is imported beside it."""
    wanted = {normal(site.job.rename(path)) for path in _paths(site.node)}
    return wanted <= {normal(path) for path in _leaves(site)}


def _leaves(site: Site) -> Iterator[str]:
    """Yield the whole path of each thing that the imports around a place bring in."""
    for node, _ in site.siblings:
        if node.type == "use_declaration":
            yield from _paths(node)


def _paths(use: Node) -> Iterator[str]:
    """Yield the whole path of each thing that an import brings in."""
    argument = use.child_by_field_name("argument")
    pending: list[tuple[Node, str]] = [(argument, "")] if argument is not None else []
    while pending:
        current, prefix = pending.pop()
        if current.type == "scoped_use_list":
            path = field_text(current, "path")
            inner = current.child_by_field_name("list")
            if inner is not None:
                pending.append((inner, f"{prefix}{path}::" if path else prefix))
        elif current.type == "use_list":
            pending += [(c, prefix) for c in current.named_children]
        else:
            yield prefix + node_text(current)


RULE = Rule(CODE, "use_list", frozenset({"use_declaration"}), check)
