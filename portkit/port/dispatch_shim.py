"""Copies of functions under a name of their own, and how they are reached.

With both features on, two functions of one name would stand twice. Callers use the plain name; so
the source vendor's function hands tensors of the written vendor over to the copy, and without the
source's feature the plain name belongs to the written vendor alone. A copy that has the plain name
itself is there only where the source's feature is off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from tree_sitter import Node

from portkit.context.intent import CopyUnderName
from portkit.context.port_job import Site
from portkit.port import counterparts, feature_conflicts, gating
from portkit.port.copy_item import copy_site
from portkit.port.insert_position import insert_after_site
from portkit.syntax.cfg import parse_conditions
from portkit.syntax.imports import find_import_leaves, find_imported_name, find_imported_names
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import SourceFile, field_text, node_text
from portkit.syntax.span import Span
from portkit.workspace.finding import Edit

_WORD = re.compile(r"(?<!::)\b\w+")


def copy_under_name(site: Site, intent: CopyUnderName) -> tuple[list[Edit], Span | None]:
    """Return the edits for such a copy, none where all of it stands, and where the copy stands."""
    name = intent.name
    if name == site.name:
        found = counterparts.find_sibling_named(site, name, gated=True)
        copy = "" if found else feature_conflicts.write_excluded_copy(site, _copy(site, intent))
        return [insert_after_site(site, copy)] if copy else [], found
    found = counterparts.find_sibling_named(site, name)
    if _is_written_by_hand(site, name):
        return [], found
    edits: list[Edit] = []
    texts = [] if found else [_copy(site, intent)]
    if intent.called and intent.device:
        if f"{name}(" not in site.code:
            edits.append(_add_dispatch(site, intent))
        if not _stands_without_source(site):
            texts.append(_write_plain_name(site, name))
    if texts:
        edits.append(insert_after_site(site, f"\n\n{site.indent}".join(texts)))
    return edits, found


def _copy(site: Site, intent: CopyUnderName) -> str:
    """Return the copy under its own name, with the imports that it needs for itself."""
    imports = "".join(f"\n{site.indent}    {use}" for use in intent.imports)
    copy = _qualify_signature(
        feature_conflicts.write_exclusive_copy(site, copy_site(site)), intent.imports
    )
    return rename_function(copy, intent.name, imports)


def _qualify_signature(function: str, imports: Iterable[str]) -> str:
    """Return a function whose signature names the types of some imports by their paths.

    The imports stand in the body, and the signature is outside their scope.
    """
    uses = [SourceFile("use.rs", each.encode()).tree.root_node.children for each in imports]
    found = [leaf for nodes in uses for node in nodes for leaf in find_import_leaves(node)]
    paths = {
        name: prefix + node_text(leaf)
        for leaf, prefix in found
        if (name := find_imported_name(leaf)) and leaf.type != "use_as_clause"
    }
    data = function.encode()
    nodes = SourceFile("copy.rs", data).tree.root_node.children
    item = next((node for node in nodes if node.type == "function_item"), None)
    parts = [c for c in item.children if c.type != "block"] if item is not None else []
    for node in sorted(_find_types(parts), key=lambda node: node.start_byte, reverse=True):
        if path := paths.get(node_text(node)):
            data = data[: node.start_byte] + path.encode() + data[node.end_byte :]
    return data.decode()


def _find_types(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the names of types in some nodes that are no part of a path."""
    for node in nodes:
        if node.type == "type_identifier":
            yield node
        elif node.type != "scoped_type_identifier":
            yield from _find_types(node.children)


def rename_function(function: str, name: str, beginning: str = "") -> str:
    """Return a function of Rust under another name."""
    data = function.encode()
    nodes = SourceFile("copy.rs", data).tree.root_node.children
    node = next((n for n in nodes if n.type in ("function_item", "function_signature_item")), None)
    named = node.child_by_field_name("name") if node is not None else None
    body = node.child_by_field_name("body") if node is not None else None
    if named is None:
        return function
    at = body.start_byte + 1 if body is not None else len(data)
    parts = data[: named.start_byte], name.encode(), data[named.end_byte : at]
    return b"".join((*parts, beginning.encode(), data[at:])).decode()


def _add_dispatch(site: Site, intent: CopyUnderName) -> Edit:
    """Return the edit by which the source vendor's function calls the copy where it is meant."""
    body = site.node.child_by_field_name("body")
    assert body is not None  # such a function calls something
    inner = site.indent + "    "
    text = (
        f"\n{inner}{gating.write_feature_attribute(site.job)}\n"
        f"{inner}if {intent.device}.is_{site.job.vendor.name}() {{\n"
        f"{inner}    return {_call(site, intent.name)};\n{inner}}}"
    )
    return Edit(body.start_byte + 1, body.start_byte + 1, text)


def _write_plain_name(site: Site, name: str) -> str:
    """Return the plain name for builds without the source vendor: an import, or a function."""
    job = site.job
    gate = f'#[cfg(all(feature = "{job.feature}", not(feature = "{job.source_feature}")))]\n'
    if _is_module_function(site):
        seen = [node_text(c) for c in site.node.children if c.type == "visibility_modifier"]
        use = " ".join((*seen, f"use self::{name} as {site.name};"))
        return f"{gate}{site.indent}{use}"
    body = site.node.child_by_field_name("body")
    assert body is not None  # such a function calls something
    inner = site.indent + "    "
    signature = site.source.text(site.node.start_byte, body.start_byte).strip()
    lints = [a for a in site.attributes if node_text(a).startswith("#[allow")]
    return (
        gate
        + "".join(f"{site.indent}{node_text(a).strip()}\n" for a in lints)
        + f"{site.indent}{signature} {{\n{inner}{_call(site, name)}\n{site.indent}}}"
    )


def _is_module_function(site: Site) -> bool:
    """Whether the function is a module's own, which an import may name; none may name a method."""
    outer = site.outer
    if outer is None or outer.kind == "source_file":
        return True
    around = outer.parent
    return outer.kind == "declaration_list" and around is not None and around.type == "mod_item"


def _call(site: Site, name: str) -> str:
    return f"{name}({', '.join(list_parameters(site))})"


def list_parameters(site: Site) -> list[str]:
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
        any(site.job.cfg_requires_rocm(cfg) for _, cfg in parse_conditions(attributes))
        and not re.search(rf"\b{name}\b", node_text(node))
        for node, attributes in _find_namesakes(site)
    )


def _stands_without_source(site: Site) -> bool:
    """Whether the plain name has a function for the written vendor alone."""
    job = site.job
    return any(
        job.cfg_requires_rocm(c) and job.cfg_excludes_cuda(c)
        for _, attributes in _find_namesakes(site)
        for _, c in parse_conditions(attributes)
    )


def _find_namesakes(site: Site) -> list[counterparts.Sibling]:
    """Return the other functions of a site's name beside it, and the imports under that name."""
    named = counterparts.list_siblings_named(site, site.name)
    found = [each for each in named if each[0].type == site.kind and each[0].id != site.node.id]
    imported = site.memoize("imports by name", site.container, make=lambda: _index_imports(site))
    return [*found, *imported.get(site.name, ())]


def _index_imports(site: Site) -> Mapping[str, list[counterparts.Sibling]]:
    """Return the imports beside a site by the names that they bring in."""
    found: dict[str, list[counterparts.Sibling]] = {}
    for each in site.siblings:
        if each[0].type == "use_declaration":
            for name in {*find_imported_names(each[0])}:
                found.setdefault(name, []).append(each)
    return found


def is_import_for_functions(site: Site) -> bool:
    """Whether an import brings in unchanged names that only functions with shared names use."""
    job = site.job
    names = _list_clashing_names(site, site.node)
    if not names or counterparts.has_imports(site):
        return False
    if any(c.type == "visibility_modifier" for c in site.node.children):
        return False
    gated = _index_gated_siblings(site)
    users = {n.id: n for name in names for n in gated.get(name, ()) if n.id != site.node.id}
    return bool(users) and all(
        n.type == "function_item" and job.rename(field_text(n, "name")) == field_text(n, "name")
        for n in users.values()
    )


def list_copy_imports(site: Site) -> tuple[str, ...]:
    """Return what the copy of a function imports itself, since both cannot stand beside it."""
    clashing = site.memoize("clashing", site.container, make=lambda: _index_clashing_imports(site))
    used = {n.start_byte: n for word in _list_words(site.code) for n in clashing.get(word, ())}
    return tuple(site.job.rename(node_text(used[at])) for at in sorted(used))


def find_cuda_only_import(site: Site, text: str) -> str:
    """Return a name in a text of a site that an import brings in for the source vendor alone.

    The path of that import is renamed and the name is not, so that no copy of it stands beside it,
    unless it is one of a pair. What another import brings in for the written vendor under the same
    name is none.
    """
    words, scope = _list_words(text), site
    while True:
        clashing = scope.memoize(
            "clashing", scope.container, make=partial(_index_clashing_imports, scope)
        )
        for name in sorted(words & clashing.keys()):
            if not any(_is_for_written(scope, each) for each in _index_imports(scope)[name]):
                return name
        if scope.outer is None or scope.kind == "mod_item":
            return ""
        scope = scope.outer


def _is_for_written(site: Site, use: counterparts.Sibling) -> bool:
    """Whether an import, or its copy, stands where the written vendor alone is on."""
    job, conditions = site.job, parse_conditions(use[1])
    alone = any(job.cfg_requires_cuda(c) or job.cfg_excludes_rocm(c) for _, c in conditions)
    return not alone or feature_conflicts.is_pair(site, use[0], conditions)


def _list_gated_siblings(site: Site) -> list[Node]:
    """Return what stands under the source vendor's feature beside a site."""
    job = site.job
    return [
        n for n, a in site.siblings if any(job.cfg_requires_cuda(c) for _, c in parse_conditions(a))
    ]


def _index_gated_siblings(site: Site) -> Mapping[str, list[Node]]:
    """Return the gated siblings that use a word, by the word."""

    def index() -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in _list_gated_siblings(site):
            for word in _list_words(node_text(node)):
                found.setdefault(word, []).append(node)
        return found

    return site.memoize("words", site.container, make=index)


def _index_clashing_imports(site: Site) -> dict[str, list[Node]]:
    """Return the gated imports beside a site by the names that stay as they are."""
    found: dict[str, list[Node]] = {}
    for node in _list_gated_siblings(site):
        for name in _list_clashing_names(site, node) if node.type == "use_declaration" else ():
            found.setdefault(name, []).append(node)
    return found


def _list_clashing_names(site: Site, use: Node) -> list[str]:
    """Return the names of an import that stay as they are although its path is renamed."""
    if not site.job.rename_changes_code(field_text(use, "argument")):
        return []
    return [n for n in find_imported_names(use) if site.job.rename(n) == n]


def _list_words(text: str) -> frozenset[str]:
    """Return the words of a piece of Rust that are no part of a longer path."""
    return frozenset(_WORD.findall(strip_comments_and_strings(text)))
