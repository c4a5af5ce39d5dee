"""Files that were written as a whole before: what they lack, and what differs in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from tree_sitter import Node

from portkit.context.port_job import PortJob
from portkit.syntax.cfg import parse_conditions
from portkit.syntax.imports import find_imported_names
from portkit.syntax.items import ITEMS, describe_item
from portkit.syntax.name_table import NO_CODE
from portkit.syntax.source_file import SourceFile, field_text, group_attributes, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.workspace.cargo_workspace import CUDA_CODE
from portkit.workspace.finding import Applicability, Edit, Finding, NewFile, Status

_CONTAINERS = frozenset({"impl_item", "trait_item"})
_WORD = re.compile(r"\w+|[^\s\w{},;]")


class MissingItem(Value, frozen=True):
    """An item that the file lacks."""

    symbol: str  # the item
    edit: Edit  # puts it back
    serves: bool  # whether it is there for other items only: an import, or a private module


class DifferingItem(Value, frozen=True):
    """An item that says something else than what would be written."""

    symbol: str  # the item
    span: Span  # where it stands in the file


class _Item(Value, frozen=True):
    key: tuple[str, ...]
    symbol: str
    start: int
    node: Node

    @property
    def end(self) -> int:
        return self.node.end_byte


def compare_items(
    expected: str, standing: SourceFile
) -> tuple[tuple[MissingItem, ...], tuple[DifferingItem, ...]]:
    """Compare what would be written with the file that stands.

    Returns:
        What the file lacks, and what differs in it, both in the order of the file.
    """
    wanted = SourceFile(standing.path, expected.encode())
    if count_words(expected) == count_words(standing.text(0, len(standing.data))):
        return (), ()
    missing: list[MissingItem] = []
    differing: list[DifferingItem] = []
    _compare(
        wanted, wanted.tree.root_node, standing, standing.tree.root_node, "", missing, differing
    )
    if differing and all(item.serves for item in missing):
        # What needs them is there in other words.
        return (), tuple(differing)
    return tuple(missing), tuple(differing)


def is_written_by_hand(expected: str, standing: SourceFile) -> bool:
    """Whether most items of a file are none of those that a copy would have.

    A person wrote it in the place of the copy, with another design. To add the copy's items there
    would define things twice.
    """
    wanted = SourceFile(standing.path, expected.encode())
    known = {item.key for item in _find_items(wanted.tree.root_node)}
    own = [
        item for item in _find_items(standing.tree.root_node) if item.node.type != "use_declaration"
    ]
    return sum(item.key not in known for item in own) * 2 > len(own)


def _list_symbols(missing: Sequence[MissingItem]) -> str:
    """Return the names of items that a copy would have, without imports and the like."""
    return ", ".join(dict.fromkeys(item.symbol for item in missing))


def count_words(text: str) -> Counter[str]:
    """Return the words of Rust source, without layout and comments, in no order."""
    words: Counter[str] = Counter()
    at = 0
    for literal in NO_CODE.finditer(text):
        words.update(_WORD.findall(text, at, literal.start()))
        if not literal[0].startswith("/"):
            words[literal[0]] += 1
        at = literal.end()
    words.update(_WORD.findall(text, at))
    return words


def _compare(
    wanted: SourceFile,
    wanted_node: Node,
    standing: SourceFile,
    standing_node: Node,
    outer: str,
    missing: list[MissingItem],
    differing: list[DifferingItem],
) -> None:
    present = {item.key: item for item in _find_items(standing_node)}
    imported = _find_imported(standing_node)
    end = standing_node.start_byte
    for child in standing_node.children:
        if child.type in ("{", "inner_attribute_item") or (
            child.type == "line_comment" and node_text(child).startswith("//!")
        ):
            end = child.end_byte
        else:
            break
    after = end
    for item in _find_items(wanted_node):
        symbol = "::".join(s for s in (outer, item.symbol) if s)
        found = present.get(item.key)
        text = wanted.text(item.start, item.end)
        if found is None and item.key[1] in imported and item.node.type != "use_declaration":
            continue
        if found is None:
            indent = wanted.indent(item.start)
            edit = Edit(after, after, f"\n\n{indent}{text}")
            missing.append(MissingItem(symbol, edit, _serves(item.node)))
            continue
        after = found.end
        if count_words(text) == count_words(standing.text(found.start, found.end)):
            continue
        body, other = (n.child_by_field_name("body") for n in (item.node, found.node))
        if item.node.type in _CONTAINERS and body is not None and other is not None:
            _compare(wanted, body, standing, other, symbol, missing, differing)
        else:
            differing.append(DifferingItem(symbol, Span(found.start, found.end)))


def _serves(node: Node) -> bool:
    """Whether an item is an import or a module that the file has for itself."""
    exported = any(child.type == "visibility_modifier" for child in node.children)
    return node.type in ("use_declaration", "mod_item") and not exported


def _find_imported(container: Node) -> frozenset[str]:
    """Return the names that ``use`` brings into a container, which cannot be defined there too."""
    return frozenset(
        name
        for node in container.named_children
        if node.type == "use_declaration"
        for name in find_imported_names(node)
    )


def _find_items(container: Node) -> Iterator[_Item]:
    seen: Counter[tuple[str, ...]] = Counter()
    for node, attributes in group_attributes(container):
        if node.type not in ITEMS:
            continue
        start = attributes[0].start_byte if attributes else node.start_byte
        if node.type == "use_declaration":
            name = field_text(node, "argument").split("{", 1)[0].strip(": ")
        elif node.type == "impl_item":
            name = f"{field_text(node, 'trait')} for {field_text(node, 'type')}"
        else:
            name = field_text(node, "name")
        conditions = " ".join(sorted(node_text(a) for a, _ in parse_conditions(attributes)))
        key = (node.type, name, conditions)
        seen[key] += 1
        yield _Item((*key, str(seen[key])), describe_item(node) or name, start, node)


def find_drift(job: PortJob, code: str, path: str, make: Callable[[], str]) -> Iterator[Finding]:
    """Yield what a file that was written before lacks, and what differs in it."""
    source = job.workspace.sources.get(path)
    found = partial(Finding, code=code, path=path, applicability=Applicability.SAFE)
    if source is None or path.endswith(CUDA_CODE):
        if not job.stands(path):
            yield found(
                span=Span(0, 0),
                construct="new file",
                symbol=path,
                status=Status.TODO,
                message="the file is missing from what was written before",
                files=lambda: (NewFile(path, make()),),
            )
        elif job.kernels:
            yield from _other_content(job, code, path, make)
        return
    if not job.regenerate and not path.endswith(".rs"):
        return
    text = make()
    if job.regenerate:
        if count_words(text) != count_words(source.text(0, len(source.data))):
            yield found(
                span=Span(0, len(source.data)),
                construct="new file",
                symbol=path,
                status=Status.TODO,
                message="it is replaced by what would be written now",
                edits=(Edit(0, len(source.data), text),),
            )
        return
    missing, differing = compare_items(text, source)
    if missing and is_written_by_hand(text, source):
        yield Finding(
            code=code,
            path=path,
            span=Span(0, max(len(source.data), 1)),
            construct="file in the place of a copy",
            symbol=path,
            applicability=Applicability.REVIEW,
            status=Status.PORTED,
            message=f"Most items of {path} are its own, so portkit adds nothing to it. Check that"
            f" it has what the CUDA side has: {_list_symbols(missing)}",
        )
        return
    for item in missing:
        yield found(
            span=Span(item.edit.start, item.edit.end),
            construct="item of a copy",
            symbol=item.symbol,
            status=Status.TODO,
            message=f"{item.symbol} is missing from what was written before",
            edits=(item.edit,),
        )
    for other in differing:
        yield Finding(
            code=code,
            path=path,
            span=other.span,
            construct="item of a copy",
            symbol=other.symbol,
            applicability=Applicability.REVIEW,
            status=Status.PORTED,
            message=f"{other.symbol} is not what would be written now; it is left alone "
            "(--regenerate replaces the file)",
            outdated=True,
        )


def _other_content(
    job: PortJob, code: str, path: str, make: Callable[[], str]
) -> Iterator[Finding]:
    """Yield the finding about a file of kernels that is not what would be written now."""
    before, text = (job.workspace.root / path).read_bytes(), make()
    if before == text.encode():
        return
    replaced = job.regenerate
    yield Finding(
        code=code,
        path=path,
        span=Span(0, 0),
        construct="new file",
        symbol=path,
        applicability=Applicability.SAFE if replaced else Applicability.REVIEW,
        status=Status.TODO if replaced else Status.PORTED,
        message="it is replaced by what would be written now"
        if replaced
        else "it is not what would be written now; it is left alone (--regenerate replaces it)",
        files=lambda: (NewFile(path, text, before),) if replaced else (),
        outdated=not replaced,
    )


def list_outdated_files(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the files that were written as a whole and are not what would be written now, sorted.

    Upstream's code or portkit has changed since, or a person has changed the file: nothing in a
    tree says which. So they are left alone unless a person asks for ``--regenerate``.
    """
    found = {f.path for f in findings if f.outdated}
    return tuple(sorted(found))


def explain_regeneration(outdated: Sequence[str], tree: str) -> str:
    """Return what to do about files that are not what would be written now, as half a sentence."""
    first, *more = outdated
    others = f" and {len(more)} other file{'s' * (len(more) > 1)}" if more else ""
    return (
        f"{first}{others} {'are' if more else 'is'} not what portkit would write now, as after a"
        f" merge of upstream: `portkit apply{tree} --regenerate` writes"
        f" {'them' if more else 'it'} anew, and `git diff` shows then whether a person's change is"
        f" lost with it; a change that is to stay `portkit review{tree}` accepts"
    )
