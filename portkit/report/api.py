"""What a port changes for who uses a tree's crates: their features and their public names.

It is told from the files before and after, not from findings: an entry of a profile may add a name,
and what a rule copies may be private.

Not handled: whether the module of a file is public, names that a macro makes, and methods of traits
that whoever implements one must write.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Final

from portkit.lang.cfg import conditions_of
from portkit.lang.imports import brought_in
from portkit.lang.items import item_symbol
from portkit.lang.source import Source, field_text, grouped, node_text
from portkit.lang.value import Value

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


class Api(Value, frozen=True):
    """What is new since before the port.

    Attributes:
        features: the features that crates gained, with the crates' names.
        defaults: the same of what is on unless somebody turns it off.
        names: names that are new, or that were not public, by what they are.
        enums: public enums that gained a variant.
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
        kind: what it is, in the plural.
        symbol: the name, with what it is a member of.
        closed: whether it is a variant that each ``match`` without ``_`` must know in every build
            (the Rust reference, "The non_exhaustive attribute").
    """

    kind: str
    symbol: str
    closed: bool = False


def changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Api:
    """Return what is new in files that stand before and after.

    Of what the port adds as whole files only macros are told, which are named without a module: its
    modules and crates are names of files that stood before.

    Args:
        before: the texts of files, by path.
        after: those of the ported tree.
    """
    new: dict[str, list[_Name]] = {kind: [] for kind in (*_KINDS.values(), _BROUGHT, _VARIANTS)}
    manifests = [path for path in after if path.rpartition("/")[2] == "Cargo.toml"]
    added = tuple(path.removesuffix("Cargo.toml") for path in manifests if path not in before)
    for path, data in after.items():
        is_library = _IN_NO_LIBRARY.isdisjoint(path.split("/")) and not path.startswith(added)
        if path.endswith(".rs") and is_library:
            for name in _new(path, before.get(path), data):
                new[name.kind].append(name)
    variants = new.pop(_VARIANTS)
    features: dict[str, list[str]] = {}
    defaults: dict[str, list[str]] = {}
    for path in (path for path in manifests if path in before):
        old, now = (_features(texts[path]) for texts in (before, after))
        for feature in (each for each in now if each not in (*old, "default")):
            features.setdefault(feature, []).append(_crate(after[path]))
        for feature in (f for f in now.get("default", ()) if f not in old.get("default", ())):
            defaults.setdefault(feature, []).append(_crate(after[path]))
    return Api(
        features=features,
        defaults=defaults,
        names={k: [*dict.fromkeys(n.symbol for n in names)] for k, names in new.items() if names},
        enums=_enums(variants),
        closed=_enums(name for name in variants if name.closed),
    )


def _new(path: str, before: bytes | None, after: bytes) -> Iterator[_Name]:
    """Yield the public names of a file that it did not have before."""
    names = _public(Source(path, after).tree.root_node)
    if before is None:
        yield from (name for name in names if name.kind == "macros")
        return
    known = {name.symbol for name in _public(Source(path, before).tree.root_node)}
    yield from (name for name in names if name.symbol not in known)


def _public(container: Node, outer: str = "", *, is_open: bool = False) -> Iterator[_Name]:
    """Yield the public names among the items of a file or of an item, in order.

    Args:
        container: what holds the items.
        outer: what it is called.
        is_open: whether all of them are public, as in a trait.
    """
    for node, attributes in grouped(container):
        said = [re.sub(r"\s", "", node_text(each)) for each in attributes]
        body = node.child_by_field_name("body")
        if node.type == "macro_definition":
            shown = any(text.startswith("#[macro_export") for text in said)
        else:
            shown = is_open or any(node_text(child) == "pub" for child in node.children[:1])
        if node.type == "impl_item" and node.child_by_field_name("trait") is None and body:
            yield from _public(body, item_symbol(node))
        if not shown or "#[doc(hidden)]" in said:
            continue
        symbol = "::".join(filter(None, (outer, field_text(node, "name"))))
        if node.type in _KINDS:
            yield _Name(_KINDS[node.type], symbol)
        elif node.type == "use_declaration":
            yield from (_Name(_BROUGHT, name) for name in brought_in(node))
        if node.type == "enum_item" and body:
            yield from _variants(body, symbol, closed="#[non_exhaustive]" not in said)
        elif node.type in ("mod_item", "trait_item") and body:
            yield from _public(body, symbol, is_open=node.type == "trait_item")


def _variants(body: Node, enum: str, *, closed: bool) -> Iterator[_Name]:
    for node, attributes in grouped(body):
        if node.type == "enum_variant":
            always = not conditions_of(attributes)
            yield _Name(_VARIANTS, f"{enum}::{field_text(node, 'name')}", closed and always)


def _enums(variants: Iterable[_Name]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.symbol.rpartition("::")[0] for name in variants))


def _features(manifest: bytes) -> Mapping[str, Sequence[str]]:
    features = _table(manifest).get("features", {})
    return features if isinstance(features, dict) else {}


def _crate(manifest: bytes) -> str:
    package = _table(manifest).get("package", {})
    return str(package.get("name", "")) if isinstance(package, dict) else ""


def _table(manifest: bytes) -> Mapping[str, object]:
    """Return what a manifest holds; nothing where it is none that cargo could read."""
    try:
        return tomllib.loads(manifest.decode())
    except ValueError:
        return {}
