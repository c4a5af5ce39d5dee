"""The finding of a rule at a site.

A *site* is a place in the tree where a backend decision stands. A *finding* is what one rule says
about one site. Offsets are byte offsets into the file as it stands on disk; lines and columns are
derived from them only when a report is written.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from portkit.syntax.span import Span
from portkit.syntax.value import Value


class Applicability(StrEnum):
    """How far a finding can be trusted without a review."""

    SAFE = "safe"
    """Mechanical: the written counterpart follows from the CUDA side."""
    REVIEW = "review"
    """Written, or deliberately left as it is, but a person should look; the message says why."""
    MANUAL = "manual"
    """Not written; the message says what to do."""
    KEEP = "keep"
    """Left alone on purpose; the message says why."""


class Status(StrEnum):
    """What the tree shows now."""

    TODO = "todo"
    """The counterpart is missing."""
    PORTED = "ported"
    """The counterpart stands in the tree, whoever wrote it."""
    NONE = "none"
    """There is nothing to write."""


class Edit(NamedTuple):
    """Replace the bytes ``[start, end)`` by ``text``; an insertion has ``start == end``."""

    start: int
    end: int
    text: str


class NewFile(Value, frozen=True):
    """A file that the port adds, with its whole text.

    Attributes:
        before: what stands there and is replaced; none for a file that is new.
    """

    path: str
    text: str
    before: bytes | None = None


def no_files() -> tuple[NewFile, ...]:
    """Return no files."""
    return ()


Place = tuple[str, str, Span]
"""The path, the code and the span of a finding."""


class Finding(Value, frozen=True):
    """The result of one rule at one site.

    Attributes:
        path: the file, relative to the workspace root, with ``/``.
        construct: the kind of construct in words, such as ``match arm: Device``.
        symbol: the item that holds it, such as ``Device::location``.
        edits: what to change in ``path``; empty unless ``status`` is ``todo``.
        fallback_edits: what to change in ``path`` if the place is left out, so that it compiles.
        replaces_error_arm: whether an arm that answers with an error stands at the place.
        types: the types whose values it is about, as the file calls them: the enum of a variant,
            those that a pattern names.
        renamed: a name, and what it becomes or could become.
        files: makes the files to add; called only when they are written.
        claims: the spans whose backend mentions the finding accounts for.
        detail: more lines for the reader, such as what upstream has changed; it may hold upstream's
            text.
        reason: why, where the message says more than that: in the profile's words, or without the
            figures of this tree.
        excluded: whether a person, and no rule or profile, has decided to leave the place alone.
        outdated: whether it is about a file that was written as a whole and is not what would be
            written now.
        looked_at: whether a person has accepted the place as it is (``portkit review``).
        entry: the entry of the codebase's profile that it comes from, such as ``patch 3``.
        shadowed: the entries that would decide about it as well, if ``entry`` did not come first.
        line: the line, from 1, in a file that is none of the tree's sources, such as
            ``portkit.toml``; 0 where ``span`` says it.
    """

    code: str
    path: str
    span: Span
    construct: str
    symbol: str
    applicability: Applicability
    status: Status
    message: str
    edits: tuple[Edit, ...] = ()
    files: Callable[[], tuple[NewFile, ...]] = no_files
    claims: tuple[Span, ...] = ()
    detail: str = ""
    reason: str = ""
    excluded: bool = False
    outdated: bool = False
    entry: str = ""
    shadowed: tuple[str, ...] = ()
    fallback_edits: tuple[Edit, ...] = ()
    replaces_error_arm: bool = False
    types: tuple[str, ...] = ()
    renamed: tuple[str, str] = ("", "")
    looked_at: bool = False
    line: int = 0

    @property
    def place(self) -> Place:
        """What identifies the finding within one scan."""
        return self.path, self.code, self.span


def finding_id(finding: Finding, ordinal: int) -> str:
    """Return the identity of a finding that survives shifted lines.

    Args:
        ordinal: its place, from 1, among findings of the same code, path, construct and symbol.

    Returns:
        The code and eight hexadecimal digits, such as ``PK301-1f0c9a2b``.
    """
    key = "\0".join((finding.code, finding.path, finding.construct, finding.symbol, str(ordinal)))
    # A file's name need not be Unicode.
    digest = hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()
    return f"{finding.code}-{digest[:8]}"


def identify_findings(findings: Iterable[Finding]) -> Iterator[tuple[str, Finding]]:
    """Yield each finding with its identity, in their order."""
    ordinals: Counter[tuple[str, str, str, str]] = Counter()
    for finding in findings:
        key = (finding.code, finding.path, finding.construct, finding.symbol)
        ordinals[key] += 1
        yield finding_id(finding, ordinals[key]), finding
