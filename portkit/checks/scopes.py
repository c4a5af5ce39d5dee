"""The names that imports bring into a place of a Rust file.

Source: the Rust reference, chapters "Use declarations" and "Names: Scopes". An item or an import of
an inner block hides one of an outer one; a module does not see the imports of the module around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import field

from portkit.syntax.imports import find_import_leaves, read_leaf_name
from portkit.syntax.source_file import field_text, node_text
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

_CONTAINERS = frozenset({"block", "declaration_list", "source_file"})


class Container(Value, frozen=True):
    """A block, a module or a file.

    Attributes:
        imports: the whole path of each imported name.
        globs: the paths of which everything is imported.
        types: the path that each type alias stands for.
    """

    imports: Mapping[str, str]
    globs: tuple[str, ...]
    types: Mapping[str, str]


class Scopes(Value, frozen=True):
    """The containers of a file, each read once."""

    known: dict[int, Container] = field(default_factory=dict)

    def around(self, node: Node) -> Iterator[Container]:
        """Yield the containers whose names a node sees, the innermost first."""
        outer = node.parent
        while outer is not None:
            if outer.type in _CONTAINERS:
                if outer.id not in self.known:
                    self.known[outer.id] = _read_container_names(outer)
                yield self.known[outer.id]
                module = outer.type == "declaration_list" and outer.parent is not None
                if module and outer.parent is not None and outer.parent.type == "mod_item":
                    return
            outer = outer.parent

    def resolve_name(self, node: Node, name: str) -> str:
        """Return the path that a name stands for at a node; the name itself if nothing says."""
        for container in self.around(node):
            found = container.imports.get(name) or container.types.get(name)
            if found is not None:
                return found
        return name

    def find_globs(self, node: Node) -> tuple[str, ...]:
        """Return the paths of which everything is imported at a node, the innermost first."""
        return tuple(glob for container in self.around(node) for glob in container.globs)


def find_self_type(node: Node) -> str:
    """Return the type that ``Self`` stands for at a node, or an empty string."""
    outer = node.parent
    while outer is not None:
        if outer.type == "impl_item":
            named = outer.child_by_field_name("type")
            if named is not None and named.type == "generic_type":
                named = named.child_by_field_name("type")
            return node_text(named)
        if outer.type in ("enum_item", "struct_item", "trait_item"):
            return field_text(outer, "name")
        outer = outer.parent
    return ""


def _read_container_names(container: Node) -> Container:
    """Return the imports, globs and type aliases of a module or a block."""
    imports: dict[str, str] = {}
    globs: list[str] = []
    types: dict[str, str] = {}
    for child in container.named_children:
        if child.type == "type_item":
            alias = child.child_by_field_name("type")
            if alias is not None and alias.type in ("type_identifier", "scoped_type_identifier"):
                types[field_text(child, "name")] = node_text(alias)
        if child.type != "use_declaration":
            continue
        for leaf, prefix in find_import_leaves(child):
            text = prefix + node_text(leaf)
            if leaf.type == "use_wildcard":
                globs.append(text.removesuffix("*").rstrip().removesuffix("::"))
            elif leaf.type == "use_as_clause":
                imports[field_text(leaf, "alias")] = prefix + field_text(leaf, "path")
            elif leaf.type == "self":
                path = prefix.removesuffix("::")
                imports[path.rpartition("::")[2]] = path
            else:
                imports[read_leaf_name(leaf)] = text
    return Container(imports, tuple(globs), types)
