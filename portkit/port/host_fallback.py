"""Operations of which the written vendor has no kernel: the host computes them.

What the host's storage is called, and how it is had from a device's, is the codebase's (``[host]``
of its profile, or of one that it is built on). A method is the same operation's as another where
their names differ by the device's alone, as ``cpu_fwd`` and ``cuda_fwd``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import PortJob, Site
from portkit.port import gating
from portkit.profiles.entries import Host
from portkit.syntax.imports import find_import_leaves, read_leaf_name
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import field_text, node_text

_INDENT: Final = "    "
_ERROR: Final = re.compile(r"\{\s*(?:return\s+)?(?:(?:\w+::)*bail!|Err)\s*\([^;{}]*\);?\s*\}\s*\Z")
"""The body of a function that answers with an error, and does nothing else."""


@dataclass(frozen=True)
class HostComputation:
    """An operation that the host computes for ROCm; another backend has a kernel for it."""

    node: Node  # the host's method
    asking: str  # the method that shows that a device has a kernel: the source's, else a peer's
    wanted: str  # the written vendor's
    reads_host: bool  # whether the host's method also reads a storage that must be the host's


def find_on_host(site: Site) -> HostComputation | None:
    """Return the operation that a method shows the host to compute for the written vendor.

    The method is the source vendor's, or a peer's where the source has none.
    """
    job = site.job
    if site.scope.container != "trait impl" or site.scope.vendor:
        return None
    device = site.name.partition("_")[0]
    if device not in (job.vendor.source, *job.vendor.peers):
        return None
    if job.codebase.find_no_feature_entry(site.source.path) is None:
        return None
    found = find_host_computation(job, _list_members(site))
    if found is None or site.name != found.asking:
        return None
    return found if _find_path(site, found) else None


def write_by_host(site: Site, found: HostComputation) -> str:
    """Return a method that copies to the host, computes there and copies back."""
    text = _write_body(site, found).replace("\n", f"\n{site.indent}")
    if gating.requires_cfg(site):
        return gating.add_attribute(site, gating.write_feature_attribute(site.job), text)
    return text


def find_host_computation(job: PortJob, members: Sequence[Node]) -> HostComputation | None:
    """Return the operation that the host computes and a device has a kernel for, if it is one."""
    host = job.codebase.host
    if host is None:
        return None
    variant = host.name.capitalize()
    named = {field_text(node, "name"): node for node in members if node.type == "function_item"}
    for device in (job.vendor.source, *job.vendor.peers):
        for name in named:
            of, _, operation = name.partition("_")
            node = named.get(f"{host.name}_{operation}")
            if of != device or node is None:
                continue
            if of == job.vendor.source and _ERROR.search(node_text(named[name])):
                return None  # the written vendor answers as the source does
            storages = [each for each, kind in _read_parameters(node) if host.storage in kind]
            used = all(each.isidentifier() and not each.startswith("_") for each in storages)
            if storages and used:
                own = rf"\b{host.storage.replace(variant, '')}\s*::\s*{variant}\b"
                reads = re.search(own, strip_comments_and_strings(node_text(node))) is not None
                return HostComputation(node, name, f"{job.vendor.name}_{operation}", reads)
    return None


def _read_parameters(method: Node) -> list[tuple[str, str]]:
    """Return the parameters of a method, each with its type."""
    listed = method.child_by_field_name("parameters")
    return [
        (field_text(each, "pattern"), field_text(each, "type"))
        for each in (listed.named_children if listed is not None else ())
        if each.type == "parameter"
    ]


def _list_members(site: Site) -> Sequence[Node]:
    """Return the members of the implementation, those that name no backend included."""
    root = site.source.tree.root_node  # what a walk goes through lacks them
    node = root.descendant_for_byte_range(site.node.start_byte, site.node.end_byte)
    while node is not None and node.type != "declaration_list":
        node = node.parent
    return node.named_children if node is not None else ()


def _find_storage_path(site: Site, storage: str) -> str:
    """Return the path at which a file imports the host's storage, without its name."""

    def find() -> str:
        for node in site.source.tree.root_node.children:
            for leaf, prefix in find_import_leaves(node) if node.type == "use_declaration" else ():
                if leaf.type != "use_as_clause" and read_leaf_name(leaf) == storage:
                    return (prefix + node_text(leaf)).removesuffix(storage)
        return ""

    return site.memoize("host's storage", make=find)


def _find_path(site: Site, found: HostComputation) -> str:
    """Return the path at which a file has the host's storage, without its name."""
    host = _find_host(site)
    storage = next(kind for _, kind in _read_parameters(found.node) if host.storage in kind)
    said = re.search(rf"((?:\w+::)+){host.storage}", storage)
    return said[1] if said is not None else _find_storage_path(site, host.storage)


def _find_host(site: Site) -> Host:
    host = site.job.codebase.host
    assert host is not None  # an operation is found by it
    return host


def _write_body(site: Site, found: HostComputation) -> str:
    job, host, crate = site.job, _find_host(site), _find_path(site, found)
    given, name_on_host = _read_parameters(found.node), field_text(found.node, "name")
    body = found.node.child_by_field_name("body")
    assert body is not None  # an implementation has one
    head = site.source.text(found.node.start_byte, body.start_byte).strip()
    own = rf"(?:\b\w+\s*::\s*)*\b{host.storage}\b"
    of_device = host.storage.replace(host.name.capitalize(), job.vendor.variant)
    head = re.sub(own, crate + of_device, head)
    head = head.replace(f"fn {name_on_host}", f"fn {found.wanted}", 1)
    head = re.sub(rf"\n{site.indent}", "\n", head)
    lines = [f"use {crate.split('::', 1)[0]}::{host.traits};"]
    passed, changed = [], ""
    first = next(name for name, kind in given if host.storage in kind)
    lines.append(f"let device = {first}.device().clone();")
    for name, kind in given:
        if host.storage not in kind:
            passed.append(name)
        elif "&mut" in kind.replace(" ", ""):
            lines.append(f"let mut host = {name}.{host.download}()?;")
            passed.append("&mut host")
            changed = name
        else:
            passed.append(f"&{name}.{host.download}()?")
    call = f"self.{name_on_host}({', '.join(passed)})?"
    if changed:
        lines += [f"{call};", f"*{changed} = device.{host.upload}(&host)?;", "Ok(())"]
    else:
        lines += [f"let (host, shape) = {call};", f"Ok((device.{host.upload}(&host)?, shape))"]
    return "".join((head, " {", *(f"\n{_INDENT}{line}" for line in lines), "\n}"))
