"""Modules for CUDA alone whose file gets no copy, and whose declaration gets none by that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.port import cuda_only_deps
from portkit.port.whole_files import find_declared_file
from portkit.syntax.cfg import parse_conditions
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import field_text

if TYPE_CHECKING:
    from tree_sitter import Node

    from portkit.context.port_job import PortJob, Site


def find_cuda_file(job: PortJob, path: str, item: Node) -> str:
    """Return the file of a module if it names the source vendor and gets no copy, or nothing."""
    file = find_uncopied_file(job, path, item)
    if not file:
        return ""
    source = job.workspace.sources[file]
    return (
        file
        if job.mentions_cuda_value(strip_comments_and_strings(source.text(0, len(source.data))))
        else ""
    )


def find_uncopied_file(job: PortJob, path: str, item: Node) -> str:
    """Return the file of a module if it gets no copy, or nothing; see `find_cuda_file`."""
    if item.type != "mod_item" or item.child_by_field_name("body") is not None:
        return ""
    file = find_declared_file(job, path, item)
    return "" if file is None or file in job.tree_facts.copied_files else file


def explain_cuda_only_module(job: PortJob, path: str, item: Node) -> str:
    """Return why the file of a module needs what exists for the source vendor alone, or nothing."""
    file = find_uncopied_file(job, path, item)
    found = cuda_only_deps.explain_uncopied_file(job, file) if file else None
    return found.reason if found is not None and found.settled else ""


def is_lone_twin(site: Site) -> bool:
    """Whether a module is there without CUDA, and CUDA's module of the same name gets no copy."""
    if site.kind != "mod_item":
        return False
    job, path = site.job, site.source.path
    return any(
        node.type == "mod_item"
        and field_text(node, "name") == site.name
        and any(job.cfg_requires_cuda(cfg) for _, cfg in parse_conditions(attributes))
        and (find_cuda_file(job, path, node) or explain_cuda_only_module(job, path, node))
        for node, attributes in site.siblings
    )
