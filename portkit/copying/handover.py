"""Copies of functions under a name of their own, and how they are reached.

With both features on, two functions of one name would stand twice. Callers use the plain name; so
the source vendor's function hands tensors of the written vendor over to the copy, and without the
source's feature the plain name belongs to the written vendor alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying import gating, standing
from portkit.copying.analog import copy_site
from portkit.copying.placing import insertion
from portkit.lang.cfg import conditions_of
from portkit.lang.imports import brought_in
from portkit.lang.renaming import code_only
from portkit.lang.source import field_text, node_text
from portkit.tree.finding import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

    from portkit.lang.span import Span
    from portkit.site.context import Site
    from portkit.site.intent import CopyAs


def copied_as(site: Site, intent: CopyAs) -> tuple[list[Edit], Span | None]:
    """Return the edits for such a copy, none where all of it stands, and where the copy stands."""
    name = intent.name
    found = standing.named_sibling(site, name)
    if _is_written_by_hand(site, name):
        return [], found
    edits: list[Edit] = []
    texts = [] if found else [_copy(site, intent)]
    if intent.called and intent.device:
        if f"{name}(" not in site.code:
            edits.append(_handover(site, intent))
        if not _stands_without_source(site):
            texts.append(_without_source(site, name))
    if texts:
        edits.append(insertion(site, f"\n\n{site.indent}".join(texts)))
    return edits, found


def _copy(site: Site, intent: CopyAs) -> str:
    """Return the copy under its own name, with the imports that it needs for itself."""
    copy = re.sub(rf"\bfn {site.name}\b", f"fn {intent.name}", copy_site(site), count=1)
    imports = "".join(f"\n{site.indent}    {use}" for use in intent.imports)
    body = copy.index("{", copy.index(f"fn {intent.name}")) + 1
    return copy[:body] + imports + copy[body:]


def _handover(site: Site, intent: CopyAs) -> Edit:
    """Return the edit by which the source vendor's function calls the copy where it is meant."""
    body = site.node.child_by_field_name("body")
    assert body is not None  # such a function calls something
    inner = site.indent + "    "
    text = (
        f"\n{inner}{gating.feature_attribute(site.job)}\n"
        f"{inner}if {intent.device}.is_{site.job.vendor.name}() {{\n"
        f"{inner}    return {_call(site, intent.name)};\n{inner}}}"
    )
    return Edit(body.start_byte + 1, body.start_byte + 1, text)


def _without_source(site: Site, name: str) -> str:
    """Return the function of the plain name for builds without the source vendor."""
    job = site.job
    body = site.node.child_by_field_name("body")
    assert body is not None  # such a function calls something
    inner = site.indent + "    "
    signature = site.source.text(site.node.start_byte, body.start_byte).strip()
    lints = [a for a in site.attributes if node_text(a).startswith("#[allow")]
    return (
        f'#[cfg(all(feature = "{job.feature}", not(feature = "{job.source_feature}")))]\n'
        + "".join(f"{site.indent}{node_text(a).strip()}\n" for a in lints)
        + f"{site.indent}{signature} {{\n{inner}{_call(site, name)}\n{site.indent}}}"
    )


def _call(site: Site, name: str) -> str:
    return f"{name}({', '.join(parameters(site))})"


def parameters(site: Site) -> list[str]:
    """Return the patterns of a function's parameters, ``self`` aside."""
    listed = site.node.child_by_field_name("parameters")
    return [
        field_text(p, "pattern")
        for p in (listed.named_children if listed is not None else ())
        if p.type == "parameter"
    ]


def _is_written_by_hand(site: Site, name: str) -> bool:
    """Whether a person wrote the function under the plain name, with a body of its own."""
    return any(
        field_text(node, "name") == site.name
        and any(cfg.requires(site.job.feature) for _, cfg in conditions_of(attributes))
        and f"{name}(" not in node_text(node)
        for node, attributes in site.peers
    )


def _stands_without_source(site: Site) -> bool:
    """Whether the plain name has a function for the written vendor alone."""
    job = site.job
    return any(
        field_text(node, "name") == site.name
        and any(
            c.requires(job.feature) and job.without_source(c) for _, c in conditions_of(attributes)
        )
        for node, attributes in site.peers
    )


def is_for_functions(site: Site) -> bool:
    """Whether an import brings in unchanged names that only functions with shared names use."""
    job = site.job
    names = _clashing(site, site.node)
    if not names or standing.imports_stand(site):
        return False
    if any(c.type == "visibility_modifier" for c in site.node.children):
        return False
    users = []
    for node, attributes in site.siblings:
        gated = any(job.of_source(cfg) for _, cfg in conditions_of(attributes))
        if gated and node.id != site.node.id and _uses(node_text(node), names):
            name = field_text(node, "name")
            users.append(node.type == "function_item" and job.rename(name) == name)
    return bool(users) and all(users)


def imports_for(site: Site) -> tuple[str, ...]:
    """Return what the copy of a function imports itself, since both cannot stand beside it."""
    job = site.job
    return tuple(
        job.rename(node_text(node))
        for node, attributes in site.siblings
        if node.type == "use_declaration"
        and any(job.of_source(cfg) for _, cfg in conditions_of(attributes))
        and _uses(site.code, _clashing(site, node))
    )


def _clashing(site: Site, use: Node) -> list[str]:
    """Return the names of an import that stay as they are although its path is renamed."""
    if not site.job.renames_code(field_text(use, "argument")):
        return []
    return [n for n in brought_in(use) if site.job.rename(n) == n]


def _uses(text: str, names: list[str]) -> bool:
    return any(re.search(rf"(?<!::)\b{n}\b", code_only(text)) for n in names)
