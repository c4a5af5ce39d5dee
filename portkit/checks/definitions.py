"""The names that a tree defines after the port, and the conditions under which each exists."""

from __future__ import annotations

import posixpath
import re
import string
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

from msgspec import field

from portkit.checks.gated_files import find_gated_files
from portkit.port.c_declarations import find_c_names
from portkit.port.manifest_targets import list_required_features
from portkit.syntax.cfg import Cfg, find_conditions_around
from portkit.syntax.source_file import field_text, node_text
from portkit.syntax.value import Value
from portkit.syntax.word_search import build_word_finder, find_occurrences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile
    from portkit.workspace.edits import Piece
    from portkit.workspace.finding import Finding

_KEYWORDS: Final = (
    rb"\b(?:fn|struct|enum|union|trait|type|mod|const|static|macro_rules!)\s+(?:mut\s+|ref\s+)?"
    rb"(?:r#)?"
)
_BEFORE_A_MEMBER: Final = rb"(?<![\w.:])(?:r#)?"
_AFTER_A_MEMBER: Final = rb"(?=\s*(?::(?!:)|[,({=}>/#]))"
"""Bytes around a field, a variant and a type parameter, among others."""
_KEYWORD: Final = re.compile(_KEYWORDS + rb"\Z")
_ENUM: Final = re.compile(rb"\benum\s+(\w+)")
_MOST_FEATURES: Final = 6
_REACH: Final = 80
"""How many bytes before a name its keyword is looked for."""
_WORD: Final = re.compile(rb"\w+")
_LETTERS: Final = frozenset(b"_" + string.ascii_letters.encode() + string.digits.encode())
_DECLARES: Final = frozenset({"enum_variant", "field_declaration", "type_parameter"})
_PATTERNS: Final = frozenset(
    {
        "captured_pattern",
        "closure_parameters",
        "field_pattern",
        "mut_pattern",
        "or_pattern",
        "ref_pattern",
        "reference_pattern",
        "remaining_field_pattern",
        "slice_pattern",
        "struct_pattern",
        "tuple_pattern",
        "tuple_struct_pattern",
    }
)
_BINDERS: Final = frozenset(
    {"for_expression", "let_condition", "let_declaration", "match_pattern", "parameter"}
)


class Definition(Value, frozen=True):
    """An item of a name.

    Attributes:
        path: the file.
        at: where the name stands.
    """

    path: str
    at: int


class Definitions(Value, frozen=True, dict=True):
    """What a tree defines after the port.

    Attributes:
        ported: the tree.
    """

    ported: PortedTree
    known: dict[str, bool] = field(default_factory=dict)
    given: dict[str, bool] = field(default_factory=dict)
    gates: dict[str, tuple[tuple[Cfg, ...], ...]] = field(default_factory=dict)
    features: dict[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    copied: dict[int, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def sources(self) -> Mapping[str, SourceFile]:
        """The Rust files of the tree, and those that the port copies."""
        paths = {*self.ported.job.workspace.sources, *self.ported.copies}
        found = ((p, self.ported.source(p)) for p in sorted(paths) if p.endswith(".rs"))
        return {path: source for path, source in found if source is not None}

    @cached_property
    def vendors(self) -> Mapping[str, tuple[Definition, ...]]:
        """The items with a name of the written vendor's."""
        some = (*list_vendor_spellings(self.ported.job), *find_c_names(self.ported.job).values())
        names_one = build_word_finder(tuple(dict.fromkeys(each.lower() for each in some)))
        found: dict[str, list[Definition]] = {}
        for path, source in self.sources.items():
            if not names_one(source.data):
                continue
            held = {at for each in some for at in find_occurrences(source.data, each.encode())}
            for start, end in sorted({_find_word_around(source.data, at) for at in held}):
                if _KEYWORD.search(source.data, max(0, start - _REACH), start):
                    name = source.data[start:end].decode()
                    found.setdefault(name, []).append(Definition(path, start))
        return {name: tuple(each) for name, each in found.items()}

    def has_name(self, name: str) -> bool:
        """Whether something has a name: an item, a name of a library, a word that the port adds."""
        if self.has_item(name) or self.is_added(name):
            return True
        job = self.ported.job
        return name in {*job.vendor.names.words.values()} - {*find_c_names(job).values()}

    def is_added(self, name: str) -> bool:
        """Whether a Rust file that the port adds has a word."""
        return name in self._added

    @cached_property
    def _added(self) -> frozenset[str]:
        """The words of the Rust files that the port adds."""
        texts = self.ported.added_texts(".rs")
        return frozenset(word for text in texts for word in re.findall(r"\w+", text))

    def originals(self, finding: Finding) -> Mapping[str, str]:
        """Return the names of the text that a finding copies, by their copies."""
        if id(finding) not in self.copied:
            job = self.ported.job
            source = job.workspace.sources.get(finding.path)
            text = source.slice(finding.span) if source is not None else ""
            named = (
                word for word in sorted({*re.findall(r"\w+", text)}) if job.mentions_cuda(word)
            )
            self.copied[id(finding)] = {job.rename(word): word for word in named}
        return self.copied[id(finding)]

    def enabled(self, path: str, features: Iterable[str]) -> frozenset[str]:
        """Return some features with those that they enable in the crate of a file.

        A feature of a dependency counts as one of the same name here.

        Args:
            path: the file.
            features: those that are asked for.
        """
        crate = self.ported.job.workspace.crate_of(path)
        manifest = "Cargo.toml" if crate is None else posixpath.join(crate.directory, "Cargo.toml")
        table = self._features(posixpath.normpath(manifest))
        on: set[str] = set()
        pending = [*features]
        while pending:
            feature = pending.pop()
            if feature not in on:
                on.add(feature)
                pending += (each.rpartition("/")[2] for each in table.get(feature, ()))
        return frozenset(on)

    def find_builds(self, path: str, conditions: Iterable[Cfg]) -> tuple[frozenset[str], ...]:
        """Return the sets of features that are on in the builds which conditions tell apart.

        Only the first features by name are tried if there are many; the others are off then.

        Args:
            path: the file of the conditions.
            conditions: the conditions.
        """
        named = frozenset[str]().union(*(cfg.features() for cfg in conditions))
        tried = sorted(named)[:_MOST_FEATURES]
        sets = chain.from_iterable(combinations(tried, n) for n in range(len(tried) + 1))
        return tuple(dict.fromkeys(self.enabled(path, each) for each in sets))

    def _features(self, manifest: str) -> Mapping[str, Sequence[str]]:
        """Return what each feature of a crate enables after the port."""
        if manifest not in self.features:
            written = self.ported.written(manifest)
            inside = self.ported.job.workspace.manifests.inside
            before = inside.get(posixpath.dirname(manifest) or ".")
            read = written.manifest if written is not None else before
            self.features[manifest] = (read or {}).get("features", {})
        return self.features[manifest]

    def has_item(self, name: str) -> bool:
        """Whether the tree defines an item, a variant or a field of a name."""
        if name in self.vendors:
            return True
        if name not in self.known:
            self.known[name] = any(True for _ in self._declared(name))
        return self.known[name]

    def has_enum(self, name: str) -> bool:
        """Whether the tree has an enum of a name, also among the tokens of a macro."""
        return name.encode() in self._enums

    @cached_property
    def _enums(self) -> frozenset[bytes]:
        """The names of all enums."""
        holding = (each.data for each in self.sources.values() if b"enum " in each.data)
        return frozenset(name for data in holding for name in _ENUM.findall(data))

    def has_variant_of(self, owner: str, name: str) -> bool:
        """Whether an enum that is written out has a variant.

        Args:
            owner: the enum.
            name: the variant.
        """
        key = f"{owner}::{name}"
        if key not in self.known:
            nodes = self._find_variant_nodes(name)
            self.known[key] = any(_find_owner(node) == owner for node in nodes)
        return self.known[key]

    def is_argument_alone(self, name: str, other: str) -> bool:
        """Whether a macro that is called as an item is given a name, and is not given another one.

        Such a macro may make items of its arguments.

        Args:
            name: the name.
            other: the other name.
        """
        key = f"{name} {other}"
        if key not in self.given:
            self.given[key] = any(True for _ in self._find_given(name, other))
        return self.given[key]

    def has_field(self, owner: str, name: str) -> bool | None:
        """Whether a struct or a variant has a field; None if the tree does not define it."""
        struct = re.compile(rb"\b(?:struct|union)\s+%s\b" % re.escape(owner).encode())
        holding = [each for each in self.sources.values() if owner.encode() in each.data]
        defining = [each for each in holding if struct.search(each.data)]
        if not defining:
            return None
        return any(
            node.parent is not None
            and node.parent.type == "field_declaration"
            and _find_owner(node) == owner
            for source in defining
            if name.encode() in source.data
            for node in _find_nodes(source, name)
        )

    def conditions(self, name: str) -> tuple[tuple[Cfg, ...], ...]:
        """Return the conditions of each item of a name; none if one exists in every build."""
        if name not in self.gates:
            self.gates[name] = tuple(self._conditions(name))
        return self.gates[name]

    def _conditions(self, name: str) -> list[tuple[Cfg, ...]]:
        found: list[tuple[Cfg, ...]] = []
        items = [(self._root(each.path), each) for each in self.vendors.get(name, ())]
        for root, each in (*items, *self._find_variants(name)):
            here = (*find_conditions_around(root, each.at), *self.file_conditions(each.path))
            if not here:
                return []
            found.append(here)
        return found

    def has_variant(self, name: str) -> bool:
        """Whether an enum of the tree has a variant of a name, which is the written vendor's."""
        return bool(self._find_variants(name))

    def find_payloads(self, name: str, owner: str) -> tuple[str, ...]:
        """Return what the variants of a name hold, as written; none for one that holds nothing.

        Args:
            name: the variant, which is the written vendor's.
            owner: the name of its enum.
        """
        nodes = (n for n in self._find_variant_nodes(name) if _find_owner(n) == owner)
        return tuple(filter(None, (field_text(node, "body") for node in nodes)))

    def _find_variant_nodes(self, name: str) -> Iterator[Node]:
        for root, each in self._find_variants(name):
            node = root.descendant_for_byte_range(each.at, each.at)
            if node is not None and node.parent is not None:
                yield node.parent

    def file_conditions(self, path: str) -> tuple[Cfg, ...]:
        """Return the conditions of a file as a whole: its target's, and those of its module.

        Args:
            path: the file.
        """
        asked = list_required_features(self.ported.job, path)
        return (*(Cfg("", (), each) for each in asked), *self._gated_files.get(path, ()))

    @cached_property
    def _gated_files(self) -> Mapping[str, tuple[Cfg, ...]]:
        return find_gated_files(self.sources)

    def _find_variants(self, name: str) -> tuple[tuple[Node, Definition], ...]:
        """Return the variants of a name, each with the root of its file's tree."""
        if name not in self._variants:
            found: list[tuple[Node, Definition]] = []
            for path, source in self._with_enums.items() if name[:1].isupper() else ():
                at = [*find_occurrences(source.data, name.encode())]
                if not at:
                    continue
                root = source.tree_around(at).root_node
                for each in at:
                    node = root.descendant_for_byte_range(each, each + len(name) - 1)
                    holder = node.parent if node is not None else None
                    is_own = holder is not None and holder.type == "enum_variant"
                    if is_own and node_text(node) == name:
                        found.append((root, Definition(path, each)))
            self._variants[name] = tuple(found)
        return self._variants[name]

    @cached_property
    def _with_enums(self) -> Mapping[str, SourceFile]:
        """The files that define an enum and spell the written vendor."""
        some = [each.encode() for each in list_vendor_spellings(self.ported.job)]
        return {
            path: source
            for path, source in self.sources.items()
            if b"enum " in source.data and any(each in source.data for each in some)
        }

    @cached_property
    def _variants(self) -> dict[str, tuple[tuple[Node, Definition], ...]]:
        """The variants that were asked for, by their names."""
        return {}

    def _root(self, path: str) -> Node:
        """Return the root of at least the items of a file that hold a definition."""
        if path not in self._roots:
            at = {each.at for found in self.vendors.values() for each in found if each.path == path}
            self._roots[path] = self.sources[path].tree_around(sorted(at)).root_node
        return self._roots[path]

    @cached_property
    def _roots(self) -> dict[str, Node]:
        """The trees that were asked for."""
        return {}

    def _find_given(self, name: str, other: str) -> Iterator[Node]:
        """Yield the calls that are items and that are given a name, but not another one."""
        for source in self.sources.values():
            for node in _find_nodes(source, name) if name.encode() in source.data else ():
                call = _find_item_call(node)
                words = re.findall(r"\w+", node_text(call)) if call is not None else ()
                if call is not None and other not in words:
                    yield call

    def _declared(self, name: str) -> Iterator[Definition]:
        word = re.escape(name).encode()
        items = re.compile(_KEYWORDS + rb"%s\b" % word)
        member = re.compile(_BEFORE_A_MEMBER + rb"(%s)" % word + _AFTER_A_MEMBER)
        for path, source in self.sources.items():
            if name.encode() not in source.data:
                continue
            for match in items.finditer(source.data):
                yield Definition(path, match.start())
            places = [match.start(1) for match in member.finditer(source.data)]
            for node in _find_nodes_at(source, name, places):
                if node.parent is not None and node.parent.type in _DECLARES:
                    yield Definition(path, node.start_byte)


def do_conditions_hold(conditions: Iterable[Cfg], on: frozenset[str]) -> bool:
    """Whether all conditions hold in a build.

    Args:
        conditions: the conditions.
        on: the features of the build.
    """
    return all(cfg.holds(on) for cfg in conditions)


def find_vendor_names(
    ported: PortedTree, written: WrittenFile
) -> Iterator[tuple[re.Match[bytes], Node, Piece]]:
    """Yield where edits put a word of the written vendor's into a file, with the node there.

    Args:
        ported: the tree after the port.
        written: the file.
    """
    wanted = re.compile(rb"\b(?:" + vendor_name_pattern(ported.job) + rb")\b")
    data, root = written.source.data, written.tree.root_node
    for piece in written.pieces:
        for match in wanted.finditer(data, piece.start, piece.end):
            node = root.descendant_for_byte_range(match.start(), match.end() - 1)
            if node is not None:
                yield match, node, piece


def is_name(node: Node, match: re.Match[bytes]) -> bool:
    """Whether a word of a file is a name there, or the value of a variable in a formatted text.

    Args:
        node: the node at the word.
        match: the word.
    """
    if "identifier" in node.type:
        return node.text in (match[0], b"r#" + match[0])
    return _is_formatted(node, match)


def _is_formatted(node: Node, match: re.Match[bytes]) -> bool:
    """Whether a text that a macro formats takes the value of a variable (``std::fmt``)."""
    if node.type != "string_content" or node.parent is None or node.parent.parent is None:
        return False
    data = match.string
    opens = (
        data[match.start() - 1 : match.start()]
        == b"{"
        != data[match.start() - 2 : match.start() - 1]
    )
    return (
        opens
        and data[match.end() : match.end() + 1] in (b"}", b":")
        and (node.parent.parent.type == "token_tree")
    )


def list_vendor_spellings(job: PortJob) -> tuple[str, ...]:
    """Return the ways in which names of the written vendor spell it."""
    name = job.vendor.name
    return tuple(dict.fromkeys((name, job.vendor.variant, job.vendor.title, name.upper())))


def vendor_name_pattern(job: PortJob) -> bytes:
    """Return a pattern for the names that the written vendor's name is a part of."""
    parts = "|".join(list_vendor_spellings(job))
    return "|".join((rf"\w*(?:{parts})\w*", *find_c_names(job).values())).encode()


def is_bound(name: str, scope: Node, source: SourceFile) -> bool:
    """Whether a name is bound by a pattern, or a parameter, somewhere in a node."""
    wanted = re.compile(rb"\b%s\b" % re.escape(name).encode())
    for match in wanted.finditer(source.data, scope.start_byte, scope.end_byte):
        node = scope.descendant_for_byte_range(match.start(), match.end() - 1)
        if node is not None and is_declared(node):
            return True
    return False


def _find_word_around(data: bytes, at: int) -> tuple[int, int]:
    """Return where the word begins and ends that has an offset in it."""
    tail = _WORD.match(data, at)
    start = at
    while start and data[start - 1] in _LETTERS:
        start -= 1
    return start, tail.end() if tail is not None else at


def _find_nodes(source: SourceFile, name: str) -> Iterator[Node]:
    return _find_nodes_at(source, name, [*find_occurrences(source.data, name.encode())])


def _find_nodes_at(source: SourceFile, name: str, places: Sequence[int]) -> Iterator[Node]:
    if not places:
        return
    root = source.tree_around(places).root_node
    for each in places:
        node = root.descendant_for_byte_range(each, each + len(name) - 1)
        if node is not None and node.text in (name.encode(), b"r#" + name.encode()):
            yield node


def _find_item_call(node: Node) -> Node | None:
    """Return the macro call that is an item and that is given a name, which is no path's part."""
    before, outer = node.prev_sibling, node.parent
    if before is not None and node_text(before) == "::":
        return None
    while outer is not None and outer.type == "token_tree":
        outer = outer.parent
    holder = outer.parent if outer is not None else None
    if holder is not None and holder.type == "expression_statement":
        holder = holder.parent
    is_item = holder is not None and holder.type in ("declaration_list", "source_file")
    return outer if is_item and outer is not None and outer.type == "macro_invocation" else None


def _find_owner(node: Node) -> str:
    outer = node.parent
    while outer is not None:
        if outer.type in ("enum_item", "struct_item", "enum_variant", "union_item"):
            named = outer.child_by_field_name("name")
            return named.text.decode() if named is not None and named.text is not None else ""
        outer = outer.parent
    return ""


def is_declared(node: Node) -> bool:
    """Whether a name is declared where it stands."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type in _DECLARES or parent.type == "use_as_clause":
        return parent.child_by_field_name("alias") in (None, node)
    inner = node
    while parent is not None and parent.type in _PATTERNS:
        if parent.child_by_field_name("type") == inner:
            return False  # the path of a pattern
        if parent.type == "closure_parameters":
            return True
        inner, parent = parent, parent.parent
    if parent is None or parent.type not in _BINDERS:
        return False
    if parent.type == "match_pattern":
        return parent.child_by_field_name("condition") != inner
    return parent.child_by_field_name("pattern") == inner
