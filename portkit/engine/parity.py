"""Parity: each name of CUDA has its counterpart.

This check knows nothing of the rules. It reads the tree as it stands and compares names: each
function, variant, field and feature that is named after CUDA has its renamed counterpart in the
same container. A missing ``rocm_fwd`` compiles into "no rocm implementation"; here it is reported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from portkit.context.port_job import Gating, PortJob
from portkit.engine.scan import Scan
from portkit.port.gating import gate_arms
from portkit.port.host_fallback import find_host_computation
from portkit.port.item_patches import find_guarded_functions
from portkit.port.template_values import render_template
from portkit.profiles.entries import ExtraArms
from portkit.syntax.cfg import parse_conditions
from portkit.syntax.items import describe_impl, describe_item, find_items
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import SourceFile, field_text, group_attributes, node_text
from portkit.syntax.value import Value
from portkit.workspace.cargo_resolution import find_requestable_features
from portkit.workspace.finding import Status

_NAMED = frozenset(
    {
        *("const_item", "enum_variant", "field_declaration", "function_item"),
        *("function_signature_item", "mod_item", "static_item", "struct_item", "trait_item"),
        "type_item",
    }
)


class MissingCounterpart(Value, frozen=True, order=True):
    """A name of CUDA without a counterpart."""

    path: str
    line: int
    symbol: str
    wanted: str
    end: int  # The last line that a counterpart would stand beside, or change.


def find_missing_counterparts(scan: Scan) -> tuple[MissingCounterpart, ...]:
    """Return the names without a counterpart, sorted by position.

    Args:
        scan: a scan of the ported tree; of the scan only the tree and the profiles are used, and
            which files are kept whole.
    """
    job = scan.job
    kept = {f.path for f in scan.findings if f.code == "PK102"}
    found: list[MissingCounterpart] = []
    for path in job.tree_facts.mentions:
        source = job.workspace.sources[path]
        if (
            path in kept
            or path in job.tree_facts.copied_files
            or path in job.tree_facts.copied_files.values()
        ):
            continue
        if job.codebase.find_no_feature_entry(path) is not None:
            found += _find_not_computed(job, source)
            continue  # what is named after the source there has no counterpart
        if path.endswith(".rs"):
            found += _compare_containers(job, source, (source.tree.root_node,), "")
    for path, target in job.tree_facts.copied_files.items():
        if target not in job.workspace.sources:
            found.append(MissingCounterpart(path, 1, path, target, 1))
    for crate in job.workspace.crates:
        manifest = f"{crate.directory}/Cargo.toml".removeprefix("./")
        offered = find_requestable_features(crate.manifest)
        if manifest in kept or job.source_feature not in offered:
            continue
        if job.feature not in offered:
            line = _find_feature_line(job.workspace.sources[manifest], job.source_feature)
            found.append(MissingCounterpart(manifest, line, job.source_feature, job.feature, line))
    found += _find_missing_arms(job)
    found += (
        MissingCounterpart(f.path, line, f.symbol, "guard", line)
        for source in job.workspace.sources.values()
        for f in find_guarded_functions(job, source)
        if f.status is Status.TODO
        for line, _ in (source.position(f.span.start),)
    )
    return tuple(sorted(found))


def _find_not_computed(job: PortJob, source: SourceFile) -> Iterator[MissingCounterpart]:
    """Yield the operations of a file that the CPU computes, and that answer with an error."""
    for item in find_items(source) if source.path.endswith(".rs") else ():
        body = item.node.child_by_field_name("body")
        if item.node.type != "impl_item" or body is None:
            continue
        found = find_host_computation(job, body.named_children)
        if found is None or found.reads_host:
            continue  # the CPU computes it for storages of its own alone
        if f"fn {found.wanted}" not in node_text(body):
            line, end = (node.row + 1 for node in (item.node.start_point, item.node.end_point))
            yield MissingCounterpart(source.path, line, item.symbol, found.wanted, end)


def _find_missing_arms(job: PortJob) -> Iterator[MissingCounterpart]:
    """Yield the functions that lack the arms that the profile has for them."""
    for arms in job.codebase.of(ExtraArms):
        wanted = normalize_rust(gate_arms(job, render_template(job, arms.template)))
        name = b"fn " + arms.symbol.rsplit("::", 1)[-1].encode() + b"("
        for path in job.tree_facts.mentions:
            source = job.workspace.sources[path]
            if arms not in job.patches(ExtraArms, path) or name not in source.data:
                continue
            for item in find_items(source, [arms.symbol]):
                if item.symbol == arms.symbol and wanted not in normalize_rust(
                    node_text(item.node)
                ):
                    line, end = (
                        node.row + 1 for node in (item.node.start_point, item.node.end_point)
                    )
                    yield MissingCounterpart(path, line, arms.symbol, "arms from the profile", end)


def _find_feature_line(source: SourceFile, feature: str) -> int:
    """Return the line that declares a feature in a manifest; 1 if none is found."""
    lines = source.data.decode().split("\n")
    key = re.compile(rf"[\"']?{re.escape(feature)}[\"']?\s*=")
    return next((n for n, text in enumerate(lines, 1) if key.match(text)), 1)


def _compare_containers(
    job: PortJob, source: SourceFile, containers: Sequence[Node], outer: str
) -> Iterator[MissingCounterpart]:
    """Yield the names without a counterpart in a container, or in all ``impl`` of a type."""
    names: Counter[tuple[str, str]] = Counter()
    wanted: list[tuple[Node, str, str]] = []
    inner: dict[object, tuple[str, list[Node]]] = {}
    for node, attributes in (
        each for container in containers for each in group_attributes(container)
    ):
        if _is_unported(job, attributes):
            continue
        name = field_text(node, "name")
        if node.type in _NAMED and name:
            names[node.type, name] += 1
            if job.mentions_cuda(name) and not job.mentions_unported_library(name):
                wanted.append((node, name, job.rename(name)))
        symbol = "::".join(s for s in (outer, describe_item(node)) if s)
        if job.mentions_cuda(symbol) and node.type in ("impl_item", "mod_item", "struct_item"):
            continue  # the whole of it is CUDA's
        body = node.child_by_field_name("body")
        if body is not None and node.type in (
            "enum_item",
            "impl_item",
            "mod_item",
            "struct_item",
            "trait_item",
        ):
            key = describe_impl(node) if node.type == "impl_item" else node.id
            inner.setdefault(key, (symbol, []))[1].append(body)
    for symbol, bodies in inner.values():
        yield from _compare_containers(job, source, bodies, symbol)
    for node, name, renamed in wanted:
        if names[node.type, renamed] == 0 and not _is_dummy(job, node):
            line, _ = source.position(node.start_byte)
            symbol = "::".join(s for s in (outer, name) if s)
            yield MissingCounterpart(source.path, line, symbol, renamed, line)


def _is_unported(job: PortJob, attributes: tuple[Node, ...]) -> bool:
    """Whether an item exists only with a feature that is not ported."""
    return any(
        cfg.requires(feature)
        for _, cfg in parse_conditions(attributes)
        for feature in job.vendor.unported
    )


def _is_dummy(job: PortJob, node: Node) -> bool:
    """Whether an item is a dummy's, which ``--gating cfg`` does without."""
    return job.gating is Gating.CFG and f"dummy_{job.vendor.source}" in node_text(node)
