"""Cargo features: their names, and the places where a file names one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from tree_sitter import Node

from portkit.syntax.source_file import SourceFile, node_text
from portkit.syntax.toml_nodes import find_value, read_key, read_table_header, unquote

_LISTS = frozenset({"features", "required-features"})


def is_feature_name(text: str) -> bool:
    """Whether Cargo accepts a text as the name of a feature.

    Source: Cargo, function ``validate_feature_name``: a character that may begin an identifier, or
    a digit; then such as may stand in one, ``-``, ``+`` and ``.``. The Cargo book, chapter
    "Features", refers to it.
    """
    return (
        bool(text)
        and (text[0].isidentifier() or text[0] in "0123456789")
        and all(f"a{each}".isidentifier() or each in "-+." for each in text)
    )


def enables_any(features: Mapping[str, Sequence[str]], first: str, wanted: Collection[str]) -> bool:
    """Whether a feature of a crate turns one of some others on, or is one of them."""
    seen, pending = {first}, [first]
    for feature in pending:
        new = [m for m in features.get(feature, ()) if m not in seen]
        seen.update(new)
        pending += new
    return not seen.isdisjoint(wanted)


def enables_dependency(member: str, name: str) -> bool:
    """Whether a member of a feature turns an optional dependency on, by whatever form.

    Source: the Cargo book, chapter "Features", section "Optional dependencies".
    """
    return member in (name, f"dep:{name}") or member.startswith(f"{name}/")


def is_feature_spelling(feature: str, name: str) -> bool:
    """Whether a feature is one of a name, or the hidden one behind it, such as ``_cuda``.

    An underscore before the name says that other features turn it on, and users do not.
    """
    return feature.lstrip("_") == name


def cargo_feature_variable(feature: str) -> str:
    """Return the environment variable that tells a build script of a feature.

    Source: the Cargo book, chapter "Environment variables".
    """
    return f"CARGO_FEATURE_{feature.upper().replace('-', '_')}"


def find_feature_mentions(source: SourceFile, feature: str) -> list[int]:
    """Return the offsets at which a file names a feature, sorted.

    That is in a condition, in what a manifest lists, in a build script's variable, and behind
    ``--features``. The same word elsewhere is none.
    """
    if (
        feature.encode() not in source.data
        and cargo_feature_variable(feature).encode() not in source.data
    ):
        return []
    found = {match.end() - 1 for match in _pattern(feature).finditer(source.data)}
    if source.path.endswith("Cargo.toml"):
        found.update(_in_manifest(source.tree.root_node, feature))
    return sorted(found)


def parse_feature_member(member: str) -> str:
    """Return the feature in a member of a feature, such as ``cuda`` in ``a-crate?/cuda``."""
    return member.rpartition("/")[2]


@cache
def _pattern(feature: str) -> re.Pattern[bytes]:
    name, asked = re.escape(feature), re.escape(cargo_feature_variable(feature))
    pattern = (
        rf'\bfeature\s*=\s*"{name}"|\b{asked}\b'
        rf"|--features[ =][\"']?(?:[\w+./?-]+,)*(?:[\w-]+/)?{name}(?![\w+-])"
    )
    return re.compile(pattern.encode())


def _in_manifest(root: Node, feature: str) -> Iterator[int]:
    pending = [root]
    while pending:
        node = pending.pop()
        pending += node.named_children
        if node.type != "pair" or not node.named_children:
            continue
        own = read_table_header(node) == "features"
        if own and unquote(read_key(node)) == feature:
            yield node.start_byte
        if own or unquote(read_key(node).rpartition(".")[2]) in _LISTS:
            for each in find_value(node).named_children:
                if (
                    each.type == "string"
                    and parse_feature_member(unquote(node_text(each))) == feature
                ):
                    yield each.start_byte
