"""Operations of which the written vendor has no kernel: the CPU computes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.copying import gating
from portkit.lang.imports import leaves, name_of
from portkit.lang.source import field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from portkit.site.context import Job, Site

_HOST: Final = "cpu"
_STORAGE: Final = "CpuStorage"
"""What an operation is given on the host, in ``CustomOp1`` and its kin."""
_INDENT: Final = "    "


def method_of(job: Job) -> str:
    """Return the name of the method by which an operation runs on the written vendor's device."""
    return f"{job.vendor.name}_fwd"


def by_host(site: Site) -> str:
    """Return such a method that copies to the host, computes there and copies back, or nothing.

    Args:
        site: the method of the source vendor, or of a peer where the source has none.
    """
    job = site.job
    if site.scope.container != "trait impl" or site.scope.vendor:
        return ""
    if job.codebase.plain_at(site.source.path) is None:
        return ""
    host = computed(job, members := _beside(site))
    if host is None or site.name != _asking(job, members):
        return ""
    given = _given(host)
    storage = next(kind for _, kind in given if _STORAGE in kind)
    said = re.search(rf"((?:\w+::)+){_STORAGE}", storage)
    crate = said[1] if said is not None else _crate(site)
    if not crate:
        return ""
    text = _written(site, host, crate, given).replace("\n", f"\n{site.indent}")
    if gating.is_cfg(site):
        return gating.under_attribute(site, gating.feature_attribute(job), text)
    return text


def computed(job: Job, members: Sequence[Node]) -> Node | None:
    """Return the method by which the CPU computes what a device has a kernel for, if it does.

    Args:
        job: the job.
        members: those of an implementation.
    """
    named = {field_text(node, "name"): node for node in members if node.type == "function_item"}
    host = named.get(f"{_HOST}_fwd")
    if host is None or not _asking(job, members):
        return None
    storages = [name for name, kind in _given(host) if _STORAGE in kind]
    used = all(name.isidentifier() and not name.startswith("_") for name in storages)
    return host if storages and used else None


def _asking(job: Job, members: Sequence[Node]) -> str:
    """Return the method that shows that a device has a kernel: the source's, else a peer's."""
    names = {field_text(node, "name") for node in members}
    wanted = (f"{each}_fwd" for each in (job.vendor.source, *job.vendor.peers))
    return next((name for name in wanted if name in names), "")


def _given(method: Node) -> list[tuple[str, str]]:
    """Return the parameters of a method, each with its type."""
    listed = method.child_by_field_name("parameters")
    return [
        (field_text(each, "pattern"), field_text(each, "type"))
        for each in (listed.named_children if listed is not None else ())
        if each.type == "parameter"
    ]


def _beside(site: Site) -> Sequence[Node]:
    """Return the members of the implementation, those that name no backend included."""
    root = site.source.tree.root_node  # what a walk goes through lacks them
    node = root.descendant_for_byte_range(site.node.start_byte, site.node.end_byte)
    while node is not None and node.type != "declaration_list":
        node = node.parent
    return node.named_children if node is not None else ()


def _crate(site: Site) -> str:
    """Return the path at which a file has the host's storage, without its name."""

    def find() -> str:
        for node in site.source.tree.root_node.children:
            for leaf, prefix in leaves(node) if node.type == "use_declaration" else ():
                if leaf.type != "use_as_clause" and name_of(leaf) == _STORAGE:
                    return (prefix + node_text(leaf)).removesuffix(_STORAGE)
        return ""

    return site.once("host's storage", make=find)


def _written(site: Site, host: Node, crate: str, given: list[tuple[str, str]]) -> str:
    job = site.job
    body = host.child_by_field_name("body")
    assert body is not None  # an implementation has one
    head = site.source.text(host.start_byte, body.start_byte).strip()
    own = rf"(?:\b\w+\s*::\s*)*\b{_STORAGE}\b"
    head = re.sub(own, f"{crate}{job.vendor.variant}Storage", head)
    head = head.replace(f"fn {_HOST}_fwd", f"fn {method_of(job)}", 1)
    head = re.sub(rf"\n{site.indent}", "\n", head)
    of_device = f"{crate.split('::', 1)[0]}::backend"
    lines = [f"use {of_device}::{{BackendDevice as _, BackendStorage as _}};"]
    passed, changed = [], ""
    first = next(name for name, kind in given if _STORAGE in kind)
    lines.append(f"let device = {first}.device().clone();")
    for name, kind in given:
        if _STORAGE not in kind:
            passed.append(name)
        elif "&mut" in kind.replace(" ", ""):
            lines.append(f"let mut host = {name}.to_cpu_storage()?;")
            passed.append("&mut host")
            changed = name
        else:
            passed.append(f"&{name}.to_cpu_storage()?")
    call = f"self.{_HOST}_fwd({', '.join(passed)})?"
    if changed:
        lines += [f"{call};", f"*{changed} = device.storage_from_cpu_storage(&host)?;", "Ok(())"]
    else:
        lines += [
            f"let (host, shape) = {call};",
            "Ok((device.storage_from_cpu_storage(&host)?, shape))",
        ]
    return "".join((head, " {", *(f"\n{_INDENT}{line}" for line in lines), "\n}"))
