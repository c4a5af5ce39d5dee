"""Modules for CUDA alone whose file gets no copy, and whose declaration gets none by that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import bound
from portkit.copying.whole_files import declared_file
from portkit.lang.cfg import conditions_of
from portkit.lang.renaming import code_only
from portkit.lang.source import field_text

if TYPE_CHECKING:
    from tree_sitter import Node

    from portkit.site.context import Job, Site


def find_cuda_file(job: Job, path: str, item: Node) -> str:
    """Return the file of a module if it names the source vendor and gets no copy, or nothing.

    Args:
        job: the job.
        path: the file that declares the module.
        item: the declaration.
    """
    file = find_uncopied_file(job, path, item)
    if not file:
        return ""
    source = job.workspace.sources[file]
    return file if job.names_value(code_only(source.text(0, len(source.data)))) else ""


def find_uncopied_file(job: Job, path: str, item: Node) -> str:
    """Return the file of a module if it gets no copy, or nothing; see `find_cuda_file`."""
    if item.type != "mod_item" or item.child_by_field_name("body") is not None:
        return ""
    file = declared_file(job, path, item)
    return "" if file is None or file in job.learnt.analogs else file


def why_bound(job: Job, path: str, item: Node) -> str:
    """Return why the file of a module needs what exists for the source vendor alone, or nothing."""
    file = find_uncopied_file(job, path, item)
    found = bound.of_file(job, file) if file else None
    return found.reason if found is not None and found.settled else ""


def is_lone_twin(site: Site) -> bool:
    """Whether a module is there without CUDA, and CUDA's module of the same name gets no copy."""
    if site.kind != "mod_item":
        return False
    job, path = site.job, site.source.path
    return any(
        node.type == "mod_item"
        and field_text(node, "name") == site.name
        and any(job.of_source(cfg) for _, cfg in conditions_of(attributes))
        and (find_cuda_file(job, path, node) or why_bound(job, path, node))
        for node, attributes in site.siblings
    )
