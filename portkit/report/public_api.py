"""Find the changes of a port to features and public names.

It is told from the files before and after, not from findings: an entry of a profile may add a name,
and what a rule copies may be private.

Not handled: whether the module of a file is public, names that a macro makes, and methods of traits
that whoever implements one must write.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Final

from portkit.syntax.cfg import parse_conditions
from portkit.syntax.imports import find_imported_names
from portkit.syntax.items import describe_item
from portkit.syntax.source_file import SourceFile, field_text, group_attributes, node_text
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tree_sitter import Node

_KINDS: Final = {
    "function_item": "functions",
    "function_signature_item": "functions",
    "enum_item": "types",
    "struct_item": "types",
    "trait_item": "types",
    "type_item": "types",
    "union_item": "types",
    "mod_item": "modules",
    "const_item": "constants",
    "static_item": "constants",
    "macro_definition": "macros",
}
_BROUGHT: Final = "re-exports"
_VARIANTS: Final = "variants"
_IN_NO_LIBRARY: Final = frozenset({"benches", "examples", "tests"})


class ApiChanges(Value, frozen=True):
    """The additions to the public API since before the port.

    Attributes:
        features: the features that crates gained, with the crates' names.
        defaults: the same of what is on unless somebody turns it off.
        names: names that are new, or that were not public, by what they are.
        closed: those of them that a ``match`` without ``_`` may be about.
    """

    features: Mapping[str, Sequence[str]] = {}
    defaults: Mapping[str, Sequence[str]] = {}
    names: Mapping[str, Sequence[str]] = {}
    enums: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


class _Name(Value, frozen=True):
    """A public name.

    Attributes:
        symbol: the name, with what it is a member of.
        closed: whether it is a variant that each ``match`` without ``_`` must know in every build
            (the Rust reference, "The non_exhaustive attribute").
    """

    kind: str
    symbol: str
    closed: bool = False


def find_api_changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> ApiChanges:
    """Return the additions to the public API between two states of files.

    Of what the port adds as whole files only macros are told, which are named without a module: its
    modules and crates are names of files that stood before.
    """
    new: dict[str, list[_Name]] = {kind: [] for kind in (*_KINDS.values(), _BROUGHT, _VARIANTS)}
    manifests = [path for path in after if path.rpartition("/")[2] == "Cargo.toml"]
    added = tuple(path.removesuffix("Cargo.toml") for path in manifests if path not in before)
    for path, data in after.items():
        is_library = _IN_NO_LIBRARY.isdisjoint(path.split("/")) and not path.startswith(added)
        if path.endswith(".rs") and is_library:
            for name in _find_new_names(path, before.get(path), data):
                new[name.kind].append(name)
    variants = new.pop(_VARIANTS)
    features: dict[str, list[str]] = {}
    defaults: dict[str, list[str]] = {}
    for path in (path for path in manifests if path in before):
        old, now = (_find_features(texts[path]) for texts in (before, after))
        for feature in (each for each in now if each not in (*old, "default")):
            features.setdefault(feature, []).append(_find_crate(after[path]))
        for feature in (f for f in now.get("default", ()) if f not in old.get("default", ())):
            defaults.setdefault(feature, []).append(_find_crate(after[path]))
    return ApiChanges(
        features=features,
        defaults=defaults,
        names={k: [*dict.fromkeys(n.symbol for n in names)] for k, names in new.items() if names},
        enums=_find_enums(variants),
        closed=_find_enums(name for name in variants if name.closed),
    )


def _find_new_names(path: str, before: bytes | None, after: bytes) -> Iterator[_Name]:
    names = _find_public_names(SourceFile(path, after).tree.root_node)
    if before is None:
        yield from (name for name in names if name.kind == "macros")
        return
    known = {name.symbol for name in _find_public_names(SourceFile(path, before).tree.root_node)}
    yield from (name for name in names if name.symbol not in known)


def _find_public_names(
    container: Node, outer: str = "", *, is_open: bool = False
) -> Iterator[_Name]:
    for node, attributes in group_attributes(container):
        said = [re.sub(r"\s", "", node_text(each)) for each in attributes]
        body = node.child_by_field_name("body")
        if node.type == "macro_definition":
            shown = any(text.startswith("#[macro_export") for text in said)
        else:
            shown = is_open or any(node_text(child) == "pub" for child in node.children[:1])
        if node.type == "impl_item" and node.child_by_field_name("trait") is None and body:
            yield from _find_public_names(body, describe_item(node))
        if not shown or "#[doc(hidden)]" in said:
            continue
        symbol = "::".join(filter(None, (outer, field_text(node, "name"))))
        if node.type in _KINDS:
            yield _Name(_KINDS[node.type], symbol)
        elif node.type == "use_declaration":
            yield from (_Name(_BROUGHT, name) for name in find_imported_names(node))
        if node.type == "enum_item" and body:
            yield from _find_variants(body, symbol, closed="#[non_exhaustive]" not in said)
        elif node.type in ("mod_item", "trait_item") and body:
            yield from _find_public_names(body, symbol, is_open=node.type == "trait_item")


def _find_variants(body: Node, enum: str, *, closed: bool) -> Iterator[_Name]:
    for node, attributes in group_attributes(body):
        if node.type == "enum_variant":
            always = not parse_conditions(attributes)
            yield _Name(_VARIANTS, f"{enum}::{field_text(node, 'name')}", closed and always)


def _find_enums(variants: Iterable[_Name]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.symbol.rpartition("::")[0] for name in variants))


def _find_features(manifest: bytes) -> Mapping[str, Sequence[str]]:
    features = _parse_manifest(manifest).get("features", {})
    return features if isinstance(features, dict) else {}


def _find_crate(manifest: bytes) -> str:
    package = _parse_manifest(manifest).get("package", {})
    return str(package.get("name", "")) if isinstance(package, dict) else ""


def _parse_manifest(manifest: bytes) -> Mapping[str, object]:
    try:
        return tomllib.loads(manifest.decode())
    except ValueError:
        return {}
