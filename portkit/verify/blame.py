"""Which rule wrote a line of a ported tree.

The port is a function of the tree before it: written once more, in memory, it says of each line
which finding it came from. The tree that stands is aligned with it, so that lines which rustfmt has
broken or a person has added in between do no harm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from portkit.engine.session import scan_tree
from portkit.errors import PortkitError
from portkit.hipify.paths import derive_hip_path, is_cuda
from portkit.syntax.items import describe_item
from portkit.syntax.source_file import SourceFile, group_attributes
from portkit.workspace.finding import Status, finding_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from portkit.engine.scan import Scan
    from portkit.verify.diagnostics import Diagnostic
    from portkit.verify.verified_tree import VerifiedTree
    from portkit.workspace.finding import Edit, Finding


_KERNEL_RULES: Final = "PH"
"""What the codes of the rules for kernels begin with."""


@dataclass(frozen=True, slots=True)
class Author:
    """The finding that a line came from.

    Attributes:
        origin: its place in the tree before the port: ``path:line symbol``.
    """

    rule: str
    site: str
    origin: str


def attribute_diagnostics(
    tree: VerifiedTree, found: Iterable[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """Return diagnostics with the rules that wrote their lines; the tree's own come first.

    Where there is no tree before the port to compare with, they come back as they are.
    """
    diagnostics = list(found)
    try:
        authors = find_authors(tree)
        diagnostics = [_attribute_diagnostic(authors, diagnostic) for diagnostic in diagnostics]
    except PortkitError as error:
        tree.say(f"the lines cannot be traced to their rules: {error}")
    return tuple(sorted(diagnostics, key=lambda d: (d.level != "error", not d.site)))


def _attribute_diagnostic(authors: Authors, diagnostic: Diagnostic) -> Diagnostic:
    author = authors.of(diagnostic.path, diagnostic.line) if diagnostic.path else None
    if author is None:
        return diagnostic
    return replace(diagnostic, rule=author.rule, site=author.site, origin=author.origin)


def find_authors(tree: VerifiedTree) -> Authors:
    """Return the authors of a ported tree's lines."""

    def read(path: str) -> bytes:
        try:
            return (tree.root / path).read_bytes()
        except OSError:
            return b""

    def before() -> Scan:
        job = tree.scan.job
        return scan_tree(
            tree.baseline, gating=job.gating, kernels=True, profile=job.codebase.directory
        )

    return Authors(read, before)


class Authors:
    """The authors of a tree's lines."""

    def __init__(self, read: Callable[[str], bytes], before: Callable[[], Scan]) -> None:
        self._content = read
        self._scan = before
        self._known: dict[str, list[Author | None]] = {}

    def of(self, path: str, line: int) -> Author | None:
        """Return who wrote a line; None for the tree's own and for a person's."""
        if path not in self._known:
            self._known[path] = self._attribute_lines(path)
        authors = self._known[path]
        return authors[line - 1] if 0 < line <= len(authors) else None

    def _attribute_lines(self, path: str) -> list[Author | None]:
        """Return the author of each line of a file."""
        data = self._content(path)
        if (written := self._files.get(path)) is not None:
            if path in self._cuda:
                return self._read_kernel_authors(data, self._cuda[path])
            return self._read_file_authors(SourceFile(path, data), *written)
        edited = self._edits.get(path)
        if edited is None:
            return []
        before = self._before.job.workspace.sources[path].data
        return align_authors(attribute_edited_lines(before, edited), data)

    def _read_file_authors(
        self, source: SourceFile, finding: Finding, author: Author
    ) -> list[Author | None]:
        """Return the authors of a file that was written whole.

        The lines of a copy stand for those of the file that it is a copy of; items that come from
        elsewhere, such as a template, have findings of their own.
        """
        authors: list[Author | None] = [author] * (source.data.count(b"\n") + 1)
        original = self._before.job.workspace.sources.get(finding.path)
        if original is None:
            return authors
        rename = self._before.job.rename
        lines: list[Line[Author]] = [
            (text, replace(author, origin=f"{finding.path}:{number}"))
            for number, text in enumerate(rename(original.data.decode()).split("\n"), 1)
        ]
        authors = [copied or author for copied in align_authors(lines, source.data)]
        own = {
            rename(other.symbol): self._author(other)
            for other in self._before.findings
            if other.path == finding.path and other.code != finding.code and other.symbol
        }
        for symbol, first, last in list_symbols(source):
            if symbol in own:
                authors[first - 1 : last] = [own[symbol]] * (last - first + 1)
        return authors

    def _read_kernel_authors(self, data: bytes, path: str) -> list[Author | None]:
        """Return the authors of a translated kernel by aligning it with its CUDA source."""
        source = self._before.job.workspace.sources[path]
        count = len(source.line_starts)
        authors = [Author("", "", f"{path}:{line}") for line in range(1, count + 1)]
        for finding in self._before.findings:
            wide = finding.span.end > finding.span.start
            if finding.path == path and finding.code.startswith(_KERNEL_RULES) and wide:
                first = source.position(finding.span.start)[0]
                last = source.position(finding.span.end - 1)[0]
                author = self._author(finding)
                authors[first - 1 : last] = [author] * (last - first + 1)
        lines = zip(source.data.decode(errors="replace").split("\n"), authors, strict=False)
        return align_authors(list(lines), data)

    @cached_property
    def _before(self) -> Scan:
        return self._scan()

    @cached_property
    def _cuda(self) -> Mapping[str, str]:
        """The CUDA source that each HIP source is made from."""
        kernels = self._before.job.codebase.kernels
        if kernels is None:
            return {}
        return {
            f"{kernels.name}/{derive_hip_path(path.removeprefix(f'{kernels.source}/'))}": path
            for path in self._before.job.workspace.sources
            if path.startswith(f"{kernels.source}/") and is_cuda(path)
        }

    @cached_property
    def _sites(self) -> Mapping[int, str]:
        """The identity of each finding, by where it lies in memory."""
        ordinals: Counter[tuple[str, str, str, str]] = Counter()
        sites = {}
        for finding in self._before.findings:
            key = (finding.code, finding.path, finding.construct, finding.symbol)
            ordinals[key] += 1
            sites[id(finding)] = finding_id(finding, ordinals[key])
        return sites

    def _author(self, finding: Finding) -> Author:
        source = self._before.job.workspace.sources.get(finding.path)
        line = source.position(finding.span.start)[0] if source is not None else 1
        origin = f"{finding.path}:{line} {finding.symbol}".strip()
        return Author(finding.code, self._sites[id(finding)], origin)

    @cached_property
    def _edits(self) -> Mapping[str, list[tuple[Edit, Author]]]:
        edits: dict[str, list[tuple[Edit, Author]]] = {}
        for finding in self._before.findings:
            if finding.status is Status.TODO:
                author = self._author(finding)
                edits.setdefault(finding.path, []).extend((e, author) for e in finding.edits)
        return edits

    @cached_property
    def _files(self) -> Mapping[str, tuple[Finding, Author]]:
        return {
            file.path: (finding, self._author(finding))
            for finding in self._before.findings
            if finding.status is Status.TODO
            for file in finding.files()
        }


T = TypeVar("T", bound=Hashable)
Line = tuple[str, T | None]
"""A line that was written, and by whom."""


def attribute_edited_lines(before: bytes, edits: Sequence[tuple[Edit, T]]) -> list[Line[T]]:
    """Return the lines of an edited file with their authors.

    A line that several edits have changed belongs to the first of them.
    """
    pieces: list[Line[T]] = []
    at = 0
    for edit, author in sorted(edits, key=lambda pair: (pair[0].start, pair[0].end)):
        pieces += [(before[at : edit.start].decode(), None), (edit.text, author)]
        at = max(at, edit.end)
    pieces.append((before[at:].decode(), None))
    lines: list[Line[T]] = []
    text = ""
    owner: T | None = None
    for piece, writer in pieces:
        first, *rest = piece.split("\n")
        text, owner = text + first, owner or (writer if first.strip() else None)
        for following in rest:
            lines.append((text, owner))
            text, owner = following, writer if following.strip() else None
    return [*lines, (text, owner)]


def align_authors(lines: Sequence[Line[T]], now: bytes) -> list[T | None]:
    """Return the authors of a file's current lines."""
    standing = [line.strip() for line in now.decode(errors="replace").split("\n")]
    written = ["".join(text.split()) for text, _ in lines]
    squeezed = ["".join(text.split()) for text in standing]
    authors: list[T | None] = [None] * len(standing)
    matcher = SequenceMatcher(None, written, squeezed, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            authors[c:d] = [author for _, author in lines[a:b]]
        elif tag == "replace":
            # What a formatter has broken differently belongs to whom the lines belonged.
            among = Counter(author for _, author in lines[a:b] if author is not None)
            if among:
                owner = among.most_common(1)[0][0]
                authors[c:d] = [owner if text else None for text in squeezed[c:d]]
    return authors


def list_symbols(source: SourceFile) -> list[tuple[str, int, int]]:
    """Return the items of a Rust file, outer before inner: symbol, first and last line, from 1."""
    found: list[tuple[str, int, int]] = []
    pending = [(source.tree.root_node, "")] if source.path.endswith(".rs") else []
    while pending:
        container, outer = pending.pop(0)
        for node, attributes in group_attributes(container):
            symbol = describe_item(node)
            if not symbol:
                continue
            whole = f"{outer}::{symbol}" if outer else symbol
            first = attributes[0] if attributes else node
            found.append((whole, first.start_point[0] + 1, node.end_point[0] + 1))
            body = node.child_by_field_name("body")
            if body is not None and node.type in ("impl_item", "trait_item", "mod_item"):
                pending.append((body, whole))
    return found
