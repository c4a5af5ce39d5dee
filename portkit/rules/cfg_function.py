"""A function under ``#[cfg(feature = "cuda")]`` whose name says nothing of CUDA.

A copy of it would carry the same name, and with both features on it would stand twice. So the copy
gets a name of its own: ``rocm_moe_gemm`` for ``moe_gemm``. If a twin under ``not(feature =
"cuda")`` shows that callers use the plain name, the CUDA function hands the tensors of a ROCm
device over to the copy, and without CUDA the plain name belongs to ROCm. The device is taken from
the parameter on which the CUDA function calls ``as_cuda_device()``.

What such functions import from CUDA's modules under an unchanged name, as in ``use
cuda_backend::kernels::ffi``, cannot be imported twice either: each copy imports it itself.

Not handled: handing over where no parameter says the device, which is left to a person.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site
from portkit.lang.cfg import conditions_of
from portkit.lang.renaming import code_only
from portkit.lang.source import field_text, node_text
from portkit.rules import Rule
from portkit.rules.peer_arm import without_peer_arms
from portkit.rules.use_list import brought_in
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site

CODE = "PK511"


def check(site: Site) -> Iterator[Finding]:
    """Find a function that exists only with the source vendor's feature, under a shared name."""
    job = site.job
    if site.scope.vendor or not site.requires(job.vendor.source) or not _shares_name(site):
        return
    if emit.unported_feature(site) or not job.renames_code(site.code):
        return
    name = f"{job.vendor.name}_{site.name}"
    applicability = Applicability.SAFE
    message = f"copy it as {name}: under its own name it would stand twice with both features on"
    copied = emit.named_sibling(site, name)
    by_hand = _is_written_by_hand(site, name)
    edits: list[Edit] = []
    texts = [] if copied else [_copy(site, name)]
    if any(field_text(node, "name") == site.name for node, _ in emit.peers_of(site)):
        handover = _handover(site, name)
        if handover is None:
            applicability = Applicability.REVIEW
            message += "; callers use the plain name: hand ROCm tensors over to the copy"
        else:
            if f"{name}(" not in site.code:
                edits.append(handover[0])
            if not _stands_without_cuda(site):
                texts.append(handover[1])
    if texts:
        edits.append(emit.insertion(site, f"\n\n{site.indent}".join(texts)))
    yield emit.finding(
        site,
        CODE,
        "cfg fn",
        message,
        symbol=site.symbol(site.name),
        applicability=applicability,
        status=Status.TODO if edits and not by_hand else Status.PORTED,
        edits=tuple(edits),
        claims=without_peer_arms(site, (site.span, *([copied] if copied else []))),
    )


def is_for_functions(site: Site) -> bool:
    """Whether an import brings in unchanged names that only functions with shared names use."""
    job = site.job
    names = _clashing(site, site.node)
    if not names or emit.equal_sibling(site, copy_site(site)) is not None:
        return False
    if any(c.type == "visibility_modifier" for c in site.node.children):
        return False
    users = []
    for node, attributes in site.siblings:
        gated = any(cfg.requires(job.vendor.source) for _, cfg in conditions_of(attributes))
        if gated and node.id != site.node.id and _uses(node_text(node), names):
            users.append(node.type == "function_item" and not _is_renamed(site, node))
    return bool(users) and all(users)


def _shares_name(site: Site) -> bool:
    return site.kind == "function_item" and site.job.rename(site.name) == site.name


def _is_renamed(site: Site, function: Node) -> bool:
    name = field_text(function, "name")
    return site.job.rename(name) != name


def _clashing(site: Site, use: Node) -> list[str]:
    """Return the names of an import that stay as they are although its path is renamed."""
    argument = use.child_by_field_name("argument")
    if argument is None or not site.job.renames_code(node_text(argument)):
        return []
    return [n for n in brought_in(argument) if site.job.rename(n) == n]


def _uses(text: str, names: list[str]) -> bool:
    return any(re.search(rf"(?<!::)\b{n}\b", code_only(text)) for n in names)


def _copy(site: Site, name: str) -> str:
    """Return the copy under its own name, with the imports that it needs for itself."""
    job = site.job
    copy = re.sub(rf"\bfn {site.name}\b", f"fn {name}", copy_site(site), count=1)
    imports = ""
    for node, attributes in site.siblings:
        if node.type != "use_declaration":
            continue
        gated = any(cfg.requires(job.vendor.source) for _, cfg in conditions_of(attributes))
        if gated and _uses(site.code, _clashing(site, node)):
            imports += f"\n{site.indent}    {job.rename(node_text(node))}"
    body = copy.index("{", copy.index(f"fn {name}")) + 1
    return copy[:body] + imports + copy[body:]


def _is_written_by_hand(site: Site, name: str) -> bool:
    """Whether a person wrote the function for ROCm under the plain name, with a body of its own."""
    return any(
        field_text(node, "name") == site.name
        and any(cfg.requires(site.job.vendor.name) for _, cfg in conditions_of(attributes))
        and f"{name}(" not in node_text(node)
        for node, attributes in emit.peers_of(site)
    )


def _stands_without_cuda(site: Site) -> bool:
    """Whether the plain name has a function for ROCm alone."""
    vendor = site.job.vendor
    return any(
        field_text(node, "name") == site.name
        and any(
            c.requires(vendor.name) and c.forbids(vendor.source)
            for _, c in conditions_of(attributes)
        )
        for node, attributes in emit.peers_of(site)
    )


def _handover(site: Site, name: str) -> tuple[Edit, str] | None:
    """Return what the CUDA function says first, and the function of its name without CUDA."""
    job = site.job
    source, vendor = job.vendor.source, job.vendor.name
    listed = site.node.child_by_field_name("parameters")
    parameters = [
        field_text(p, "pattern")
        for p in (listed.named_children if listed is not None else ())
        if p.type == "parameter"
    ]
    asks = re.search(rf"\b((\w+)(?:\.\w+\(\))*)\.as_{source}_device\(\)", site.code)
    body = site.node.child_by_field_name("body")
    if body is None or asks is None or asks.group(2) not in parameters:
        return None
    inner = site.indent + "    "
    call = f"{name}({', '.join(parameters)})"
    dispatch = (
        f"\n{inner}{emit.feature_attribute(job)}\n{inner}if {asks.group(1)}.is_{vendor}() {{\n"
        f"{inner}    return {call};\n{inner}}}"
    )
    signature = site.source.text(site.node.start_byte, body.start_byte).strip()
    lints = [a for a in site.attributes if node_text(a).startswith("#[allow")]
    alone = (
        f'#[cfg(all(feature = "{vendor}", not(feature = "{source}")))]\n'
        + "".join(f"{site.indent}{node_text(a).strip()}\n" for a in lints)
        + f"{site.indent}{signature} {{\n{inner}{call}\n{site.indent}}}"
    )
    return Edit(body.start_byte + 1, body.start_byte + 1, dispatch), alone


RULE = Rule(CODE, "cfg_function", frozenset({"function_item"}), check)
