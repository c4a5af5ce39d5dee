"""Halves of one thing, of which each build has one, still cover each build after the port.

``#[cfg(feature = "cuda")] let n = ..`` and ``#[cfg(not(feature = "cuda"))] let n = ..`` are such
halves. A condition that is widened takes the second half from a build with ROCm. If nobody writes
ROCm's first half, that build has neither, so the condition stays as it is. If a person is to look
at ROCm's first half, both are one decision.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from portkit.checks.definitions import Definitions, do_conditions_hold, is_declared
from portkit.checks.ported_tree import Doubt, Refusal
from portkit.port.counterparts import read_item_name
from portkit.port.feature_conflicts import STEPS
from portkit.syntax.cfg import Cfg, find_attributes, find_conditions_around, parse_conditions
from portkit.syntax.imports import find_imported_names
from portkit.syntax.source_file import field_text, group_attributes
from portkit.syntax.value import Value
from portkit.syntax.word_search import find_occurrences
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.workspace.finding import Finding

_LOST: Final = (
    "A build with {features} would lose {thing}: this condition excludes it there, and portkit does"
    " not write the other half. Write both halves by hand."
)
_TOGETHER: Final = (
    "It is one half of {thing}, and the other half is for review. Decide both together"
)


class _Trees(NamedTuple):
    """The syntax trees of a file that have a holder of halves; not always all of the file.

    Attributes:
        written: the file.
        before: the root before the port.
        after: the root after it.
    """

    written: WrittenFile
    before: Node
    after: Node

    def conditions_before(self, offset: int) -> tuple[Cfg, ...]:
        """Return the conditions before the port around an offset in the file before it."""
        return tuple(find_conditions_around(self.before, offset))

    def conditions_after(self, offset: int) -> tuple[Cfg, ...]:
        """Return the conditions after the port around an offset in the file after it."""
        return tuple(find_conditions_around(self.after, offset))


class _Half(Value, frozen=True):
    """One of the nodes that define the same thing under different conditions.

    Attributes:
        writers: the findings that write its conditions, or all of it.
        is_new: whether the port adds it.
        before: its conditions before the port, those around it among them.
        after: the same after the port.
    """

    writers: tuple[Finding, ...]
    is_new: bool
    before: tuple[Cfg, ...]
    after: tuple[Cfg, ...]


class _Whole(Value, frozen=True):
    """A thing that halves define: a name in a block or module, or the value of a block.

    Attributes:
        name: the name, or an empty string for steps of a block.
        halves: the halves, in the file's order.
        impls: the implementations beside them that belong to one half of a type.
        before: the conditions around all of them before the port.
        after: the same after the port.
    """

    name: str
    halves: tuple[_Half, ...]
    impls: tuple[_Half, ...]
    before: tuple[Cfg, ...]
    after: tuple[Cfg, ...]

    def find_lost(self, on: frozenset[str]) -> tuple[_Half, ...]:
        """Return the halves if a build has none after the port; else the impls if it has none."""
        if not do_conditions_hold(self.after, on):
            return ()
        of_type = [half for half in self.halves if do_conditions_hold(half.after, on)]
        if not of_type:
            return self.halves
        is_kept = any(not half.is_new and do_conditions_hold(half.before, on) for half in of_type)
        return (
            self.impls
            if is_kept and not any(do_conditions_hold(i.after, on) for i in self.impls)
            else ()
        )

    @property
    def thing(self) -> str:
        """The thing, in words."""
        return f"`{self.name}`" if self.name else "this step"


def check_halves(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse a condition that leaves a build without either half.

    Args:
        ported: the tree after the port.
    """
    definitions = ported.definitions
    for written, whole in _find_wholes(ported):
        builds = _find_builds(definitions, written, whole)
        if not _covers_before(whole, builds):
            continue
        for on in builds:
            parts = whole.find_lost(on)
            narrowed = [h for h in parts if not h.is_new and do_conditions_hold(h.before, on)]
            guilty = {id(f): f for half in narrowed for f in half.writers}
            if guilty:
                named = frozenset().union(*(c.features() for h in whole.halves for c in h.after))
                features = " and ".join(f"`{each}`" for each in sorted(named & on))
                reason = _LOST.format(features=features, thing=whole.thing)
                yield Refusal((*guilty.values(),), reason)
                break


def doubt_halves(ported: PortedTree) -> Iterator[Doubt]:
    """Ask for a person who looks at a half, if a person is to look at the other.

    Args:
        ported: the tree after the port.
    """
    definitions = ported.definitions
    things: dict[int, tuple[Finding, list[str]]] = {}
    for written, whole in _find_wholes(ported):
        of_all = [f for half in (*whole.halves, *whole.impls) for f in half.writers]
        if all(f.applicability is not Applicability.REVIEW for f in of_all):
            continue
        if not _covers_before(whole, _find_builds(definitions, written, whole)):
            continue
        for finding in of_all:
            if finding.applicability is Applicability.SAFE:
                things.setdefault(id(finding), (finding, []))[1].append(whole.thing)
    for finding, named in things.values():
        thing = " and ".join(dict.fromkeys(named))
        yield Doubt(finding, _TOGETHER.format(thing=thing))


def _find_wholes(ported: PortedTree) -> Iterator[tuple[WrittenFile, _Whole]]:
    """Yield what is defined by halves of which the port changes a condition."""
    for written in ported.find_edited_files(".rs"):
        seen: set[int] = set()
        for piece in written.pieces:
            root = written.tree.root_node
            holder = _find_holder(root, piece.start, piece.end)
            if holder is not None and holder.type != "block":
                # The halves that no edit touches are items of the same names.
                root = written.tree_around(_find_places(written, holder)).root_node
                holder = _find_holder(root, piece.start, piece.end)
            if holder is not None and holder.start_byte not in seen:
                seen.add(holder.start_byte)
                for whole in _find_wholes_in(written, root, holder):
                    yield written, whole


def _find_places(written: WrittenFile, holder: Node) -> list[int]:
    """Return where a file has the names that edited children of a node define."""
    edited = (
        node
        for node, attached in group_attributes(holder)
        if written.find_writers(min(n.start_byte for n in (node, *attached)), node.end_byte)
    )
    names = {name.encode() for node in edited for name in _find_names(node)}
    return sorted(at for name in names for at in find_occurrences(written.source.data, name))


def _find_holder(root: Node, start: int, end: int) -> Node | None:
    """Return what holds a node with a condition that an edit writes a part of."""
    if start == end:
        return None
    node = root.descendant_for_byte_range(start, end - 1)
    while node is not None and node.type not in ("attribute_item", "inner_attribute_item"):
        node = node.parent
    return node.parent if node is not None else None


def _find_wholes_in(written: WrittenFile, root: Node, holder: Node) -> Iterator[_Whole]:
    """Yield what the children of a node define by halves."""
    halves: dict[str, list[tuple[Node, Sequence[Node]]]] = {}
    impls: dict[str, list[tuple[Node, Sequence[Node]]]] = {}
    run = 0
    always: set[str] = set()
    for node, attached in group_attributes(holder):
        if not node.is_named or node.type == "attribute_item":
            continue
        conditions = parse_conditions(find_attributes(node, attached))
        is_step = node.type in STEPS or (holder.type == "block" and not _is_named(node))
        if not (is_step and conditions):
            run += 1
        if node.type == "impl_item" and conditions:
            impls.setdefault(field_text(node, "type"), []).append((node, attached))
        for name in [f" {run}"] if is_step else _find_names(node):
            if conditions:
                halves.setdefault(name, []).append((node, attached))
            elif node.type != "let_declaration" or name not in halves:
                always.add(name)  # a variable that follows only takes the name over
    several = {n: each for n, each in halves.items() if len(each) > 1 and n not in always}
    if not several:
        return
    assert written.before is not None
    nodes = (node for name, each in several.items() for node, _ in (*each, *impls.get(name, ())))
    places = [written.offset_before(node.start_byte) for node in (holder, *nodes)]
    trees = _Trees(written, written.before.tree_around(places).root_node, root)
    for name, found in several.items():
        yield _read_whole(trees, holder, name, found, impls.get(name, ()))


def _is_named(node: Node) -> bool:
    """Whether a node of a block is an item or a variable."""
    return node.type.endswith(("_item", "_declaration", "_definition"))


def _find_names(node: Node) -> list[str]:
    """Return the names that a node defines for what stands beside it."""
    if node.type == "use_declaration":
        return [name for name in find_imported_names(node) if name != "_"]
    if node.type == "let_declaration":
        pattern = node.child_by_field_name("pattern")
        return [] if pattern is None else sorted({*_find_bound(pattern)})
    if node.type in ("macro_definition", "match_arm", "line_comment", "block_comment"):
        return []
    return [name for name in [read_item_name(node)] if name]


def _find_bound(pattern: Node) -> Iterator[str]:
    """Yield the names that a pattern binds."""
    if pattern.type in ("identifier", "shorthand_field_identifier"):
        if is_declared(pattern) and pattern.text is not None:
            yield pattern.text.decode()
    else:
        yield from chain.from_iterable(map(_find_bound, pattern.named_children))


def _read_whole(
    trees: _Trees,
    holder: Node,
    name: str,
    found: Iterable[tuple[Node, Sequence[Node]]],
    impls: Iterable[tuple[Node, Sequence[Node]]],
) -> _Whole:
    start = holder.start_byte
    outer = trees.written.offset_before(start)
    is_file = holder.parent is None
    return _Whole(
        "" if name[0] == " " else name,
        tuple(_read_half(trees, node, attached) for node, attached in found),
        tuple(_read_half(trees, node, attached) for node, attached in impls),
        () if is_file else trees.conditions_before(outer),
        () if is_file else trees.conditions_after(start),
    )


def _read_half(trees: _Trees, node: Node, attached: Sequence[Node]) -> _Half:
    written = trees.written
    start, end = node.start_byte, node.end_byte
    first = min([start, *(a.start_byte for a in attached)])
    new = next((p for p in written.pieces if p.start <= start and end <= p.end), None)
    after = trees.conditions_after(start)
    if new is not None:
        return _Half((new.finding,), is_new=True, before=(), after=after)
    at = written.offset_before(start)
    writers = written.find_writers(first, start - 1) if first < start else ()
    return _Half(writers, is_new=False, before=trees.conditions_before(at), after=after)


def _find_builds(
    definitions: Definitions, written: WrittenFile, whole: _Whole
) -> tuple[frozenset[str], ...]:
    conditions = chain(
        whole.before, whole.after, *((*h.before, *h.after) for h in (*whole.halves, *whole.impls))
    )
    return definitions.find_builds(written.source.path, conditions)


def _covers_before(whole: _Whole, builds: Iterable[frozenset[str]]) -> bool:
    """Whether each build had a half before the port."""
    old = [half for half in whole.halves if not half.is_new]
    return len(old) > 1 and all(
        any(do_conditions_hold(half.before, on) for half in old)
        for on in builds
        if do_conditions_hold(whole.before, on)
    )
