"""Names in attributes that no other field or variant may have: options, keys, names in documents.

With ``#[arg(short = 'c')]`` on two fields clap panics when the program starts, and of two variants
with ``#[serde(alias = "gpu")]`` the second is never read. The copy of a field or of a variant
leaves out such names if renaming does not give it others, and a person chooses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import Site
from portkit.syntax.source_file import COMMENTS, field_text, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value

_OF_CLAP: Final = frozenset(
    {
        "alias",
        "aliases",
        "env",
        "id",
        "long",
        "name",
        "short",
        "short_alias",
        "short_aliases",
        "visible_alias",
        "visible_aliases",
        "visible_short_alias",
        "visible_short_aliases",
    }
)
_UNIQUE: Final[Mapping[str, AbstractSet[str]]] = {
    "arg": _OF_CLAP,
    "argh": frozenset({"long", "short"}),
    "clap": _OF_CLAP,
    "command": _OF_CLAP,
    "options": frozenset({"long", "short"}),
    "prost": frozenset({"tag"}),
    "pyo3": frozenset({"name"}),
    "serde": frozenset({"alias", "rename"}),
    "strum": frozenset({"serialize", "to_string"}),
    "structopt": _OF_CLAP,
    "value": _OF_CLAP | {"default"},
}
"""What must be unique, by the attribute that holds it. Sources: clap's derive reference, "Arg
Attributes" and "ValueEnum Attributes"; serde's "Field attributes" and "Variant attributes"; strum's
"Additional attributes"; the documentation of argh, gumdrop, prost and PyO3."""
_NEEDED: Final = frozenset({"tag"})
"""What cannot be left out: without it the derive refuses the field."""
_OF_NAME: Final = frozenset({"long", "short"})
"""What is made of the field's name where it has no value (clap's derive reference)."""
_POSITIONAL: Final = frozenset({"arg", "clap", "options", "structopt"})
"""Attributes of options: one without a name is an argument by its position."""
_RESERVED: Final = frozenset("hV")
"""Letters that clap has for its own options."""


class _Argument(Value, frozen=True):
    """One argument of an attribute."""

    key: str  # its name
    start: int  # where it begins
    end: int  # where it ends, its comma aside
    value: str  # what it is given, or nothing


def explain_name_review(site: Site) -> str:
    """Return why a person reviews the names that a copy has for others, or an empty string."""
    if site.kind not in ("enum_variant", "field_declaration"):
        return ""
    gone = [f"`{site.source.text(a.start, a.end)}`" for a in _find_repeated(site)]
    title = site.job.vendor.title
    if gone:
        names = ", ".join(dict.fromkeys(gone))
        return (
            f"The copy leaves out {names}, which must be unique. Choose {title}'s, if it needs one"
        )
    if _is_required(site):
        name = site.job.rename(site.name)
        return (
            f"Documents without `{name}` can no longer be read. Give it `#[serde(default)]`, or"
            " check what writes the documents"
        )
    return ""


def explain_name_clash(site: Site) -> str:
    """Return why a copy without such names would not compile, or an empty string."""
    needed = [a for a in _find_repeated(site) if a.key in _NEEDED]
    if not needed:
        return ""
    return (
        f"`{site.source.text(needed[0].start, needed[0].end)}` must be unique. Add the field for"
        f" {site.job.vendor.title} with a number of its own, by hand"
    )


def list_name_changes(site: Site) -> Iterator[tuple[Span, str]]:
    """Yield what a copy leaves out of its attributes, as spans and texts."""
    gone = {a.start: a for a in _find_repeated(site)}
    for attribute in site.attributes if gone else ():
        arguments = _read_arguments(attribute)
        left = [site.source.text(a.start, a.end) for a in arguments if a.start not in gone]
        if len(left) == len(arguments):
            continue
        keys = {a.key for a in arguments if a.start in gone}
        if _name(attribute) in _POSITIONAL and keys & _OF_NAME and "long" not in left:
            left.append("long")
        if not left:
            following = re.compile(rb"\s*").match(site.source.data, attribute.end_byte)
            assert following is not None  # the pattern matches the empty string
            yield Span(attribute.start_byte, following.end()), ""
            continue
        yield Span(arguments[0].start, arguments[-1].end), site.job.rename(", ".join(left))


def _find_repeated(site: Site) -> list[_Argument]:
    """Return the arguments of a site's attributes that its copy would repeat."""
    if site.kind not in ("enum_variant", "field_declaration"):
        return []
    return [
        argument
        for attribute in site.attributes
        for argument in _read_arguments(attribute)
        if argument.key in _UNIQUE.get(_name(attribute), ()) and _repeats(site, argument)
    ]


def _repeats(site: Site, argument: _Argument) -> bool:
    """Whether the copy of an argument would be what the original is, or another's."""
    job, key, value = site.job, argument.key, argument.value
    if value:
        return job.rename(value) == value
    if key not in _OF_NAME:
        return True
    if key == "long" or job.rename(site.name) == site.name:
        return False
    letter = job.rename(site.name)[:1]
    return letter == site.name[:1] or letter in _list_letters(site)


def _list_letters(site: Site) -> frozenset[str]:
    """Return the letters that the options of a struct have."""

    def find() -> frozenset[str]:
        letters = set(_RESERVED)
        for node, attributes in site.siblings:
            for attribute in attributes:
                for argument in _read_arguments(attribute):
                    if argument.key == "short" and _name(attribute) in _UNIQUE:
                        given = argument.value.strip("'\"")
                        letters.add(given or field_text(node, "name")[:1])
        return frozenset(letters)

    return site.memoize("letters", site.container, make=find)


def _is_required(site: Site) -> bool:
    """Whether a field is one more that a document must have."""
    struct = site.outer.outer if site.outer is not None else None
    if site.kind != "field_declaration" or struct is None or not site.name:
        return False
    own, heads = map(_read_attributes, (site.attributes, struct.attributes))
    if not re.search(r"\bDeserialize\b", heads):
        return False
    said = f"{own} {' '.join(re.findall(r'serde[^]]*', heads))}"
    of_type = field_text(site.node, "type")
    return not re.search(r"\b(?:default|skip|skip_deserializing|flatten)\b", said) and not (
        of_type.startswith("Option<")
    )


def _read_attributes(attributes: tuple[Node, ...]) -> str:
    return " ".join(node_text(a) for a in attributes if a.type == "attribute_item")


def _read_inner(attribute: Node) -> Node | None:
    named = attribute.named_children if attribute.type == "attribute_item" else []
    return named[0] if named else None


def _name(attribute: Node) -> str:
    """Return the name of an attribute."""
    inner = _read_inner(attribute)
    return node_text(inner.named_children[0]) if inner is not None and inner.named_children else ""


def _read_arguments(attribute: Node) -> list[_Argument]:
    """Return the arguments of an attribute: ``short = 'c'`` and ``long``."""
    inner = _read_inner(attribute)
    tree = inner.child_by_field_name("arguments") if inner is not None else None
    groups: list[list[Node]] = [[]]
    for token in tree.children[1:-1] if tree is not None else ():
        if token.type == ",":
            groups.append([])
        elif token.type not in COMMENTS:
            groups[-1].append(token)
    return [
        _Argument(
            key=node_text(group[0]),
            start=group[0].start_byte,
            end=group[-1].end_byte,
            value=" ".join(node_text(node) for node in group[1:] if node.type != "="),
        )
        for group in groups
        if group
    ]
