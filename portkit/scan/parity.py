"""Parity: what CUDA has, ROCm has.

This check knows nothing of the rules. It reads the tree as it stands and compares names: each
function, variant, field and feature that is named after CUDA has its renamed counterpart in the
same container. A missing ``rocm_fwd`` compiles into "no rocm implementation"; here it is reported.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from portkit.copying.by_host import computed
from portkit.copying.gating import arms_under_feature
from portkit.copying.guards import guarded
from portkit.copying.template_values import render_template
from portkit.lang.cfg import conditions_of
from portkit.lang.items import head_of, item_symbol, items
from portkit.lang.renaming import normal
from portkit.lang.source import field_text, grouped, node_text
from portkit.lang.value import Value
from portkit.profile.entries import Arms
from portkit.site.context import Gating
from portkit.tree.finding import Status
from portkit.tree.resolution import offered_features

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from portkit.lang.source import Source
    from portkit.scan.scan import Scan
    from portkit.site.context import Job

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


class Unpaired(Value, frozen=True, order=True):
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
    job = scan.job
    kept = {f.path for f in scan.findings if f.code == "PK102"}
    found: list[Unpaired] = []
    for path in job.learnt.mentions:
        source = job.workspace.sources[path]
        if path in kept or path in job.learnt.analogs or path in job.learnt.analogs.values():
            continue
        if job.codebase.plain_at(path) is not None:
            found += _not_computed(job, source)
            continue  # what is named after the source there has no counterpart
        if path.endswith(".rs"):
            found += _in_containers(job, source, (source.tree.root_node,), "")
    for path, target in job.learnt.analogs.items():
        if target not in job.workspace.sources:
            found.append(Unpaired(path, 1, path, target, 1))
    for crate in job.workspace.crates:
        manifest = f"{crate.directory}/Cargo.toml".removeprefix("./")
        offered = offered_features(crate.manifest)
        if manifest in kept or job.source_feature not in offered:
            continue
        if job.feature not in offered:
            line = _line_of_feature(job.workspace.sources[manifest], job.source_feature)
            found.append(Unpaired(manifest, line, job.source_feature, job.feature, line))
    found += _without_arms(job)
    found += (
        Unpaired(f.path, line, f.symbol, "guard", line)
        for source in job.workspace.sources.values()
        for f in guarded(job, source)
        if f.status is Status.TODO
        for line, _ in (source.position(f.span.start),)
    )
    return tuple(sorted(found))


def _not_computed(job: Job, source: Source) -> Iterator[Unpaired]:
    """Yield the operations of a file that the CPU computes, and that answer with an error."""
    for item in items(source) if source.path.endswith(".rs") else ():
        body = item.node.child_by_field_name("body")
        if item.node.type != "impl_item" or body is None:
            continue
        found = computed(job, body.named_children)
        if found is not None and f"fn {found.wanted}" not in node_text(body):
            line, end = (node.row + 1 for node in (item.node.start_point, item.node.end_point))
            yield Unpaired(source.path, line, item.symbol, found.wanted, end)


def _without_arms(job: Job) -> Iterator[Unpaired]:
    """Yield the functions that lack the arms that the profile has for them."""
    for arms in job.codebase.of(Arms):
        wanted = normal(arms_under_feature(job, render_template(job, arms.template)))
        name = b"fn " + arms.symbol.rsplit("::", 1)[-1].encode() + b"("
        for path in job.learnt.mentions:
            source = job.workspace.sources[path]
            if arms not in job.patches(Arms, path) or name not in source.data:
                continue
            for item in items(source, [arms.symbol]):
                if item.symbol == arms.symbol and wanted not in normal(node_text(item.node)):
                    line, end = (
                        node.row + 1 for node in (item.node.start_point, item.node.end_point)
                    )
                    yield Unpaired(path, line, arms.symbol, "arms from the profile", end)


def _line_of_feature(source: Source, feature: str) -> int:
    """Return the line that declares a feature in a manifest, 1 where it is not spelled plainly."""
    lines = source.data.decode().split("\n")
    key = re.compile(rf"[\"']?{re.escape(feature)}[\"']?\s*=")
    return next((n for n, text in enumerate(lines, 1) if key.match(text)), 1)


def _in_containers(
    job: Job, source: Source, containers: Sequence[Node], outer: str
) -> Iterator[Unpaired]:
    """Yield what has no counterpart in a container, or in all ``impl`` of one type."""
    names: Counter[tuple[str, str]] = Counter()
    wanted: list[tuple[Node, str, str]] = []
    inner: dict[object, tuple[str, list[Node]]] = {}
    for node, attributes in (each for container in containers for each in grouped(container)):
        if _left_out(job, attributes):
            continue
        name = field_text(node, "name")
        if node.type in _NAMED and name:
            names[node.type, name] += 1
            if job.names_source(name) and not job.names_unported(name):
                wanted.append((node, name, job.rename(name)))
        symbol = "::".join(s for s in (outer, item_symbol(node)) if s)
        if job.names_source(symbol) and node.type in ("impl_item", "mod_item", "struct_item"):
            continue  # the whole of it is CUDA's
        body = node.child_by_field_name("body")
        if body is not None and node.type in (
            "enum_item",
            "impl_item",
            "mod_item",
            "struct_item",
            "trait_item",
        ):
            key = head_of(node) if node.type == "impl_item" else node.id
            inner.setdefault(key, (symbol, []))[1].append(body)
    for symbol, bodies in inner.values():
        yield from _in_containers(job, source, bodies, symbol)
    for node, name, renamed in wanted:
        if names[node.type, renamed] == 0 and not _stands_in(job, node):
            line, _ = source.position(node.start_byte)
            symbol = "::".join(s for s in (outer, name) if s)
            yield Unpaired(source.path, line, symbol, renamed, line)


def _left_out(job: Job, attributes: tuple[Node, ...]) -> bool:
    """Whether an item exists only with a feature that is not ported."""
    return any(
        cfg.requires(feature)
        for _, cfg in conditions_of(attributes)
        for feature in job.vendor.unported
    )


def _stands_in(job: Job, node: Node) -> bool:
    """Whether an item is a dummy's, which ``--gating cfg`` does without."""
    return job.gating is Gating.CFG and f"dummy_{job.vendor.source}" in node_text(node)
