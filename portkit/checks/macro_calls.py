"""An edited call of the tree's own macro matches a rule of the macro after the port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.checks.ported_tree import Refusal
from portkit.context.device_macros import has_rocm_parameter, list_parameters
from portkit.context.macro_fragments import find_macro_name
from portkit.context.macro_items import find_definitions, is_defined, parse_call, read_definitions
from portkit.syntax.macro_expansion import expand_macro, matches_macro
from portkit.syntax.source_file import SourceFile, find_descendants, node_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.context.port_job import PortJob
    from portkit.workspace.edits import Piece

    FindDefinitions = Callable[[str], Sequence[Node]]

_UNMATCHED: Final = (
    "No rule of {name}! accepts this call after the port. No build would compile. Write the rule"
    " and the call by hand."
)
_DEEPEST: Final = 4
"""How many macros are expanded within each other."""


def check_macro_calls(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse an edit of a call that no rule of the macro matches after the port.

    A call gains an argument only if its macro has the parameter then.

    Args:
        ported: the tree after the port.
    """
    job = ported.job
    known: dict[str, tuple[Node, ...]] = {}

    def find_after(name: str) -> tuple[Node, ...]:
        if name not in known:
            known[name] = tuple(_find_definitions(ported, name)) if is_defined(job, name) else ()
        return known[name]

    def find_before(name: str) -> tuple[Node, ...]:
        return find_definitions(job, name)

    for written in ported.find_edited_files(".rs"):
        for piece in written.pieces:
            for old, new in _find_calls(job, written, piece):
                name = find_macro_name(new)
                fits = _is_accepted(new, find_after)
                if fits is None:
                    gains = _count_arguments(new) > _count_arguments(old)
                    fits = not gains or _has_parameter(ported, find_after(name))
                if not fits and _is_accepted(old, find_before) is not False:
                    yield Refusal((piece.finding,), _UNMATCHED.format(name=name))


def _find_calls(job: PortJob, written: WrittenFile, piece: Piece) -> Iterator[tuple[Node, Node]]:
    """Yield the calls of the tree's macros around an edit, as they are before and after it."""
    node = written.tree.root_node.descendant_for_byte_range(piece.start, piece.end)
    while node is not None:
        start, name = _find_start(node)
        inside = start < piece.start and piece.end < node.end_byte
        if name and inside and is_defined(job, name):
            assert written.before is not None  # the caller looks at edited files only
            places = written.offset_before(start), written.offset_before(node.end_byte)
            old = parse_call(written.before.text(*places))
            new = parse_call(written.source.text(start, node.end_byte))
            if old is not None and new is not None:
                yield old, new
        node = node.parent


def _find_start(node: Node) -> tuple[int, str]:
    """Return the start and the macro of the call that a node is, or among tokens ends; or 0, ""."""
    if node.type == "macro_invocation":
        return node.start_byte, find_macro_name(node)
    mark = node.prev_sibling if node.type == "token_tree" else None
    name = mark.prev_sibling if mark is not None and node_text(mark) == "!" else None
    in_tokens = node.parent is not None and node.parent.type == "token_tree"
    if name is None or name.type != "identifier" or not in_tokens:
        return 0, ""
    return name.start_byte, node_text(name)


def _find_definitions(ported: PortedTree, name: str) -> Iterator[Node]:
    """Yield each definition of a macro after the port."""
    written = {each.source.path: each.source for each in ported.find_written_files(".rs")}
    for path, source in {**ported.job.workspace.sources, **written}.items():
        if path.endswith(".rs"):
            yield from read_definitions(source, name)


def _is_accepted(call: Node, find: FindDefinitions, depth: int = 0) -> bool | None:
    """Tell whether a macro accepts a call, and so on for the calls that it writes."""
    definitions = find(find_macro_name(call))
    answers = [matches_macro(definition, call) for definition in definitions]
    if True not in answers:
        return None if None in answers or not answers else False
    if len(definitions) > 1 or depth == _DEEPEST:
        return True
    text = expand_macro(definitions[0], call)
    for shape in (f"{text}", f"fn f() {{ {text} }}") if text is not None else ():
        root = SourceFile("macro.rs", shape.encode()).tree.root_node
        if not root.has_error:
            calls = find_descendants(root, "macro_invocation")
            return all(_is_accepted(each, find, depth + 1) is not False for each in calls)
    return True


def _count_arguments(call: Node) -> int:
    trees = [child for child in call.named_children if child.type == "token_tree"]
    return sum(child.type == "," for tree in trees for child in tree.children)


def _has_parameter(ported: PortedTree, definitions: Sequence[Node]) -> bool:
    """Tell whether a rule has a parameter that is named after the written vendor."""
    rules = [r for d in definitions for r in d.named_children if r.type == "macro_rule"]
    return any(has_rocm_parameter(ported.job, list_parameters(rule)) for rule in rules)
