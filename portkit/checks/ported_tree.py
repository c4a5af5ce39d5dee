"""The tree as the port will leave it, read lazily, and who writes each part of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from portkit.checks.definitions import Definitions
from portkit.checks.scopes import Scopes
from portkit.port.new_files import list_added_files
from portkit.syntax.source_file import SourceFile
from portkit.syntax.value import Value
from portkit.workspace.edits import Piece, find_clash, write_edits
from portkit.workspace.finding import Edit, Status
from portkit.workspace.manifest import read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tree_sitter import Tree

    from portkit.context.port_job import PortJob
    from portkit.port.new_files import AddedFiles
    from portkit.workspace.cargo_resolution import Manifest
    from portkit.workspace.finding import Finding


class Refusal(Value, frozen=True):
    """Findings that must not be written.

    Attributes:
        findings: those that write it; each becomes a manual finding.
        reason: the fact, its consequence and the user's action, a sentence each.
        name: what does not exist, if the check is about a name.
    """

    findings: tuple[Finding, ...]
    reason: str
    name: str = ""


class Doubt(Value, frozen=True):
    """A finding that a person should look at.

    Attributes:
        finding: the finding; it is written all the same.
        reason: a sentence without its full stop, which joins the message.
    """

    finding: Finding
    reason: str


class WrittenFile(Value, frozen=True, dict=True):
    """A file that the port writes.

    Attributes:
        source: the file after the port; its ``tree`` is parsed when it is first read.
        before: the file before the port; None for a new one.
        pieces: the parts that edits write, in order; a new file is one piece.
    """

    source: SourceFile
    before: SourceFile | None
    pieces: tuple[Piece, ...]

    @cached_property
    def tree(self) -> Tree:
        """The syntax tree of at least the items that an edit touches; cheaper than all."""
        return self.source.tree if self.before is None else self.tree_around(())

    @cached_property
    def scopes(self) -> Scopes:
        """The names that are in scope in ``tree``."""
        return Scopes()

    def tree_around(self, places: Sequence[int]) -> Tree:
        """Return a syntax tree that has the items of some places and those that an edit touches.

        Args:
            places: offsets.
        """
        last = max(self.source.size - 1, 0)
        # The byte before an insertion belongs to the item that it extends.
        touched = {min(at, last) for p in self.pieces for at in (max(p.start - 1, 0), p.end)}
        return self.source.tree_around(sorted(touched.union(places)))

    @cached_property
    def manifest(self) -> Manifest | None:
        """The written manifest of a crate; None if it is none."""
        return read_manifest(self.source.data)

    def offset_before(self, offset: int) -> int:
        """Return the offset before the port of what is at an offset after it.

        Args:
            offset: in the written file; what an edit has inserted counts as where it is inserted.
        """
        last = next((piece for piece in reversed(self.pieces) if piece.start < offset), None)
        return offset if last is None else max(last.edit.end, last.edit.end + offset - last.end)

    def find_writers(self, start: int, end: int) -> tuple[Finding, ...]:
        """Return the findings that write or remove bytes in ``[start, end]``, each once."""
        found = {id(p.finding): p.finding for p in self.pieces if p.start <= end and p.end >= start}
        return tuple(found.values())

    def with_replaced(self, replaced: Mapping[int, Finding]) -> WrittenFile:
        """Return the file with other findings in the place of some, by their `id`."""
        if not any(id(piece.finding) in replaced for piece in self.pieces):
            return self
        pieces = (
            piece._replace(finding=replaced.get(id(piece.finding), piece.finding))
            for piece in self.pieces
        )
        return WrittenFile(self.source, self.before, tuple(pieces))

    @cached_property
    def writers(self) -> tuple[Finding, ...]:
        """The findings that write the file, each once."""
        return tuple({id(piece.finding): piece.finding for piece in self.pieces}.values())


class PortedTree(Value, frozen=True, dict=True):
    """The tree with all findings done that are to be done.

    Attributes:
        job: the job; its workspace is the tree before the port.
        findings: all findings of a scan. Those with ``Status.TODO`` are done.
    """

    job: PortJob
    findings: tuple[Finding, ...]

    @cached_property
    def todo(self) -> tuple[Finding, ...]:
        """The findings that are done."""
        return tuple(f for f in self.findings if f.status is Status.TODO)

    @cached_property
    def edited(self) -> Mapping[str, tuple[Finding, ...]]:
        """The findings that edit each file, by its path."""
        found: dict[str, list[Finding]] = {}
        for finding in self.todo:
            if finding.edits:
                found.setdefault(finding.path, []).append(finding)
        return {path: tuple(each) for path, each in sorted(found.items())}

    @cached_property
    def definitions(self) -> Definitions:
        """What the tree defines; all checks share it."""
        return Definitions(self)

    def written(self, path: str) -> WrittenFile | None:
        """Return a file as the port writes it; None if the port leaves it as it is or lacks it.

        Args:
            path: relative to the root.
        """
        if path not in self._written_files:
            self._written_files[path] = self._write(path)
        return self._written_files[path]

    def source(self, path: str) -> SourceFile | None:
        """Return a file as it is after the port; None if there is none.

        Args:
            path: relative to the root.
        """
        written = self.written(path)
        return written.source if written is not None else self.job.workspace.sources.get(path)

    def find_written_files(self, ending: str) -> Iterator[WrittenFile]:
        """Yield the edited and the copied files whose names end so.

        Args:
            ending: such as ``.rs``.
        """
        for path in sorted({*self.edited, *self.copies}):
            if path.endswith(ending) and (written := self.written(path)) is not None:
                yield written

    def find_edited_files(self, ending: str) -> Iterator[WrittenFile]:
        """Yield the files with edits whose names end so; each was there before the port.

        Args:
            ending: such as ``.rs``.
        """
        for path in self.edited:
            written = self.written(path) if path.endswith(ending) else None
            if written is not None and written.before is not None:
                yield written

    @cached_property
    def copies(self) -> Mapping[str, Finding]:
        """The new or replaced files that a finding of its own writes, by the file's path."""
        analogs = self.job.tree_facts.copied_files
        return {
            analogs.get(f.path, f.path): f
            for f in self.todo
            if not f.edits and f.symbol not in self._additions
        }

    @cached_property
    def added(self) -> Mapping[str, Finding]:
        """The crates and files of the port's own, by the path of the folder or file."""
        named = self._additions
        return {f.symbol: f for f in self.todo if not f.edits and f.symbol in named}

    @cached_property
    def templates(self) -> Mapping[str, Manifest]:
        """What is known of the manifests of added crates that come from templates, by folder."""
        found = {name: self._additions[name].manifest for name in self.added}
        return {name: manifest for name, manifest in found.items() if manifest is not None}

    def has(self, path: str) -> bool:
        """Whether there is a file after the port; all of them in a crate from templates.

        Args:
            path: relative to the root.
        """
        if path.partition("/")[0] in self.templates:
            return True
        if path in self.job.workspace.sources or self._find_maker(path) is not None:
            return True
        return self.written(path) is not None

    def added_texts(self, ending: str) -> Iterator[str]:
        """Yield the texts of the files of the port's own whose names end so.

        Args:
            ending: such as ``.rs``.
        """
        for name in self.added:
            for path, make in self._additions[name].files().items():
                if path.endswith(ending):
                    yield make()

    def without(self, findings: Iterable[Finding]) -> PortedTree:
        """Return the tree in which some findings are not done; unchanged files stay read.

        Args:
            findings: those that are left out.
        """
        gone = {*map(id, findings)}
        return self.with_findings(tuple(f for f in self.findings if id(f) not in gone))

    def with_findings(self, findings: tuple[Finding, ...]) -> PortedTree:
        """Return the tree with other findings; files with the same ones stay read.

        Args:
            findings: all findings.
        """
        other = PortedTree(self.job, findings)
        before, after = ({id(f): f for f in each.todo} for each in (self, other))
        known = {**before, **after}
        changed = [known[number] for number in before.keys() ^ after.keys()]
        if all(f.edits for f in changed):
            touched = {f.path for f in changed}
            other._written_files.update(
                {p: w for p, w in self._written_files.items() if p not in touched}
            )
        return other

    def with_replaced(self, replaced: Mapping[int, Finding]) -> PortedTree:
        """Return the tree with findings that say other things and write the same.

        Args:
            replaced: each that takes the place of another, by the `id` of that one.
        """
        other = PortedTree(self.job, tuple(replaced.get(id(f), f) for f in self.findings))
        other._written_files.update(
            {
                path: None if written is None else written.with_replaced(replaced)
                for path, written in self._written_files.items()
            }
        )
        return other

    def forget(self) -> None:
        """Let go of the files that were read; they are made anew if asked for."""
        self._written_files.clear()

    def _write(self, path: str) -> WrittenFile | None:
        before = self.job.workspace.sources.get(path)
        if path in self.edited and before is not None:
            findings = self.edited[path]
            if find_clash(findings) is not None:
                return None
            after, pieces = write_edits(before, findings)
            return WrittenFile(SourceFile(path, after), before, pieces)
        made = self._make_new(path)
        if made is None:
            return None
        finding, text = made
        source = SourceFile(path, text.encode())
        return WrittenFile(source, before, (Piece(0, source.size, finding, Edit(0, 0, "")),))

    def _make_new(self, path: str) -> tuple[Finding, str] | None:
        """Return the finding that adds a file, and the text."""
        if (finding := self.copies.get(path)) is not None:
            return next(((finding, f.text) for f in finding.files() if f.path == path), None)
        maker = self._find_maker(path)
        return None if maker is None else (maker[0], maker[1]())

    def _find_maker(self, path: str) -> tuple[Finding, Callable[[], str]] | None:
        """Return the finding that adds a file of the port's own, and what makes the text."""
        for name, finding in self.added.items():
            addition = self._additions[name]
            if addition.holds(path) and (make := addition.files().get(path)) is not None:
                return finding, make
        return None

    @cached_property
    def _additions(self) -> Mapping[str, AddedFiles]:
        return {each.name: each for each in list_added_files(self.job)}

    @cached_property
    def _written_files(self) -> dict[str, WrittenFile | None]:
        """The files that were asked for."""
        return {}
