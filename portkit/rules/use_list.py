"""An import or a re-export of something of CUDA's.

``use crate::{CpuStorage, CudaStorage}`` gains ``RocmStorage``; ``pub use cuda::{..}``, whose path
is CUDA's, gets a copy beside it. With ``--gating cfg`` a member of a list cannot carry an
attribute, so an import of its own is written under the feature.

Not handled: an import that brings in a name which does not change, as in ``use cuda::Device`` or
``Device::{Cuda as C}``. A copy would bring it in twice (rustc: E0252), so it is left to a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from portkit.context.intent import (
    AddToList,
    CopySite,
    Intent,
    LeaveUnchanged,
    ListMember,
    RequireManual,
)
from portkit.context.port_job import PortJob, Site
from portkit.port.manifest_targets import list_required_features
from portkit.port.whole_files import is_own_module
from portkit.rules import SiteRule
from portkit.syntax.imports import find_import_leaves, find_imported_name
from portkit.syntax.source_file import field_text, node_text, span_of

_TWICE: Final = (
    "A copy of this import would bring in the name {name} a second time. portkit does not write it."
    " Import {title}'s counterpart under a name of its own, if this file needs it."
)


_UNBUILT: Final = "Cargo builds this file only with the feature {feature}. The import stays alone."


def check(site: Site) -> Iterator[Intent]:
    """Find an import that names the source vendor."""
    job, construct = site.job, "import/re-export"
    if site.scope.vendor or site.conditions or not job.rename_changes_code(site.code):
        return
    plain = job.codebase.find_no_feature_entry(site.source.path)
    if plain is not None and _is_own(site):
        yield LeaveUnchanged(construct, plain.reason)
        return
    if job.source_feature in list_required_features(job, site.source.path):
        yield LeaveUnchanged(construct, _UNBUILT.format(feature=job.source_feature))
        return
    first = field_text(site.node, "argument").split("{", 1)[0]
    symbol = site.symbol(first.strip())
    message = f"import what {job.vendor.title} has in its place"
    if not job.rename_changes_code(first):
        named = [
            (n, prefix)
            for n, prefix in find_import_leaves(site.node)
            if job.rename_changes_code(node_text(n))
        ]
        twice = [node for node, _ in named if _is_brought_in_twice(job, node)]
        members = tuple(
            ListMember(span_of(node), new, prefix + new)
            for node, prefix in named
            if node not in twice
            # A path is renamed as a whole: what a crate in it becomes depends on what leads to it.
            for new in (job.rename(prefix + node_text(node)).removeprefix(job.rename(prefix)),)
        )
        if members:
            yield AddToList(construct, message, symbol=symbol, members=members)
        for node in twice:
            said = _TWICE.format(name=find_imported_name(node), title=job.vendor.title)
            yield RequireManual(
                construct, said, symbol=symbol, span=span_of(node), claims=(span_of(node),)
            )
        return
    yield CopySite(construct, message, symbol=symbol, claims=(site.span,))


def _is_brought_in_twice(job: PortJob, leaf: Node) -> bool:
    """Whether the copy of a member of a list would bring in the name that the member has."""
    name = find_imported_name(leaf)
    return name not in ("", "_") and job.rename(name) == name


def _is_own(site: Site) -> bool:
    """Whether an import takes from a module of the tree that gets no copy, and from no other."""
    taken = [node for node, _ in find_import_leaves(site.node)]
    return len(taken) == 1 and any(
        is_own_module(site.job, site.source.path, name)
        for name in _find_identifiers(taken[0])
        if site.job.mentions_cuda(node_text(name))
    )


def _find_identifiers(node: Node) -> Iterator[Node]:
    if node.type == "identifier":
        yield node
    for child in node.named_children:
        yield from _find_identifiers(child)


RULE = SiteRule("PK509", frozenset({"use_declaration"}), check)
