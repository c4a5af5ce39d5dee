"""The edits that an editor offers for a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol.types import (
    CreateFile,
    OptionalVersionedTextDocumentIdentifier,
    Range,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)
from msgspec.structs import replace

from portkit.editor.positions import START, Positions
from portkit.engine.partial_ports import check_variants, restore_required_arms
from portkit.engine.session import check_portable
from portkit.profiles.exclusion_writer import (
    append_exclusion,
    check_accepts_nothing,
    check_excludable,
)
from portkit.profiles.settings import NAME
from portkit.report.model import State
from portkit.syntax.items import find_items
from portkit.syntax.value import Value
from portkit.workspace.edits import match_newlines
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from portkit.editor.diagnostics import EditorFinding
    from portkit.editor.workspace import EditorWorkspace
    from portkit.engine.scan import Scan

REASON: Final = "say why"
"""What stands for the reason until the person has written it, who is brought there."""

Change = CreateFile | TextDocumentEdit


class Documents(Value, frozen=True):
    """The client's names and versions of a tree's files.

    Attributes:
        uri: from a file's path to its URI.
        version: from a file's path to the version of its document; none where it is not open.
    """

    uri: Callable[[str], str]
    version: Callable[[str], int | None]

    def edit(self, path: str, *edits: TextEdit) -> TextDocumentEdit:
        """Return edits of one file."""
        document = OptionalVersionedTextDocumentIdentifier(self.uri(path), self.version(path))
        return TextDocumentEdit(document, edits)


def is_written(place: EditorFinding) -> bool:
    """Whether a finding has something to write."""
    return place.finding.status is Status.TODO


def requires_action(place: EditorFinding) -> bool:
    """Whether a finding needs an action, so that it can be excluded instead."""
    return place.site.state in (State.MANUAL, State.REVIEW, State.MECHANICAL)


def build_fix(tree: EditorWorkspace, place: EditorFinding, documents: Documents) -> WorkspaceEdit:
    """Return the edit that writes one finding, as ``portkit apply --at`` does, without rustfmt."""
    scan = tree.scan
    assert scan is not None, "a place comes from a scan"
    check_portable(scan)
    alone = replace(scan, findings=(place.finding,))
    check_variants(scan, alone)
    return WorkspaceEdit(
        document_changes=[*_list_changes(tree, restore_required_arms(scan, alone), documents)]
    )


def _list_changes(tree: EditorWorkspace, chosen: Scan, documents: Documents) -> Iterator[Change]:
    sources = chosen.job.workspace.sources
    by_path: dict[str, list[TextEdit]] = {}
    todo = [finding for finding in chosen.findings if finding.status is Status.TODO]
    for finding in todo:
        positions = tree.positions(finding.path) if finding.edits else None
        for edit in sorted(finding.edits, key=lambda each: (each.start, each.end)):
            assert positions is not None
            there = Range(positions.position(edit.start), positions.position(edit.end))
            text = match_newlines(sources[finding.path], edit.text).decode()
            by_path.setdefault(finding.path, []).append(TextEdit(there, text))
    for path, edits in sorted(by_path.items()):
        yield documents.edit(path, *edits)
    for finding in todo:
        for file in finding.files():
            if file.before is None:
                yield CreateFile(documents.uri(file.path))
                yield documents.edit(file.path, TextEdit(START, file.text))
            else:
                whole = tree.whole(file.before)
                yield documents.edit(file.path, TextEdit(whole, file.text))


def build_exclusion(
    tree: EditorWorkspace, place: EditorFinding, before: bytes | None, documents: Documents
) -> tuple[WorkspaceEdit, Range]:
    """Return the edit that excludes a finding, and the range of its reason in ``portkit.toml``."""
    site = place.site
    check_excludable(site.code, site.id, site.message)
    taken = [
        f"{each.site.id} {each.site.position}"
        for each in tree.places.get(place.shown, ())
        if each.site.looked_at and _get_exclusion_key(each) == _get_exclusion_key(place)
    ]
    check_accepts_nothing(site.code, site.position, taken)
    after = append_exclusion(before or b"", site.code, site.path, site.symbol, REASON)
    end = tree.whole(before or b"").end
    changes: list[Change] = [CreateFile(documents.uri(NAME))] if before is None else []
    added = after[len(before or b"") :].decode()
    changes.append(documents.edit(NAME, TextEdit(Range(end, end), added)))
    at = after.rindex(REASON.encode())
    positions = Positions(after, tree.encoding)
    reason = Range(positions.position(at), positions.position(at + len(REASON)))
    return WorkspaceEdit(document_changes=changes), reason


def _get_exclusion_key(place: EditorFinding) -> tuple[str, str, str]:
    """Return the code, the path and the symbol, which one exclusion covers."""
    return place.site.code, place.site.path, place.site.symbol


def find_cuda_counterpart(
    tree: EditorWorkspace, path: str, offset: int
) -> tuple[str, Range] | None:
    """Return the CUDA original of a ROCm position, or None if it is unknown.

    A file that was copied as a whole has its side in the file that it was copied from, an item in
    the item of that name. Anything else is part of the counterpart of a place.
    """
    scan = tree.scan
    if scan is None or path not in scan.job.workspace.sources:
        return None
    offset = _skip_blanks(scan.job.workspace.sources[path].data, offset)
    origin = {copy: file for file, copy in scan.job.tree_facts.copied_files.items()}.get(path)
    if origin is not None:
        return origin, _find_same_item(tree, scan, path, offset, origin)
    for finding in scan.findings:
        if finding.path == path and finding.status is Status.PORTED:
            own = finding.span.start <= offset < finding.span.end
            if not own and any(each.start <= offset < each.end for each in finding.claims):
                return path, tree.positions(path).range(finding.span)
    return None


def _skip_blanks(data: bytes, offset: int) -> int:
    """Return the offset of the text after blanks."""
    while data[offset : offset + 1] in (b" ", b"\t"):
        offset += 1
    return offset


def _find_same_item(
    tree: EditorWorkspace, scan: Scan, path: str, offset: int, origin: str
) -> Range:
    """Return the range of the original of the item at an offset, or the file's beginning."""
    sources = scan.job.workspace.sources
    around = [
        each for each in find_items(sources[path]) if each.span.start <= offset < each.span.end
    ]
    if around:
        symbol = max(around, key=lambda each: each.span.start).symbol
        for item in find_items(sources[origin]):
            if scan.job.rename(item.symbol) == symbol:
                return tree.positions(origin).range(item.span)
    return START
