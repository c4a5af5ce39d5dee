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

from msgspec.structs import replace

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
    """What the tree shows now.

    Each status has its applicabilities:

    - ``todo``: ``safe`` and ``review``; ``keep`` if the edits write an arm that answers with an
      error for what the user has excluded.
    - ``ported``: ``safe`` and ``review``; ``keep`` for an exclusion of what is written already.
    - ``none``: ``keep``, ``manual``, ``review`` of what portkit leaves as it is, and ``safe`` of
      what differs in a copy only.
    """

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
    """A file that the port adds, with its whole text."""

    path: str
    text: str
    before: bytes | None = None  # What stands there and is replaced; none for a file that is new.


def no_files() -> tuple[NewFile, ...]:
    """Return no files."""
    return ()


Place = tuple[str, str, Span]
"""The path, the code and the span of a finding."""


class Finding(Value, frozen=True):
    """The result of one rule at one site."""

    code: str
    path: str  # The file, relative to the workspace root, with ``/``.
    span: Span
    construct: str  # The kind of construct in words, such as ``match arm: Device``.
    symbol: str  # The item that holds it, such as ``Device::location``.
    applicability: Applicability
    status: Status
    message: str
    edits: tuple[Edit, ...] = ()  # What to change in ``path``; empty unless ``status`` is ``todo``.
    # Makes the files to add; called only when they are written.
    files: Callable[[], tuple[NewFile, ...]] = no_files
    claims: tuple[Span, ...] = ()  # The spans whose backend mentions the finding accounts for.
    # More lines for the reader, such as what upstream has changed; it may hold upstream's text.
    detail: str = ""
    # Why, where the message says more than that: in the profile's words, or without the figures of
    # this tree.
    reason: str = ""
    # Whether a person, and no rule or profile, has decided to leave the place alone.
    excluded: bool = False
    # Whether it is about a file that was written as a whole and is not what would be written now.
    outdated: bool = False
    entry: str = ""  # The entry of the codebase's profile that it comes from, such as ``patch 3``.
    # The entries that would decide about it as well, if ``entry`` did not come first.
    shadowed: tuple[str, ...] = ()
    # What to change in ``path`` if the place is left out, so that it compiles.
    error_edits: tuple[Edit, ...] = ()
    # Whether an arm that answers with an error stands at the place.
    replaces_error_arm: bool = False
    # Whether its edits write an arm that answers with an error.
    writes_error_arm: bool = False
    # The types whose values it is about, as the file calls them: the enum of a variant, the struct
    # of a field, those that a pattern names.
    types: tuple[str, ...] = ()
    renamed: tuple[str, str] = ("", "")  # A name, and what it becomes or could become.
    # Whether a person has accepted the place as it is (``portkit review``).
    looked_at: bool = False
    # The line, from 1, in a file that is none of the tree's sources, such as ``portkit.toml``; 0
    # where ``span`` says it.
    line: int = 0

    @property
    def place(self) -> Place:
        """What identifies the finding within one scan."""
        return self.path, self.code, self.span

    def to_manual(self, message: str) -> Finding:
        """Return the finding as one that a person must write."""
        return replace(
            self,
            applicability=Applicability.MANUAL,
            status=Status.NONE,
            message=message,
            edits=(),
            files=no_files,
            outdated=False,
        )


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
