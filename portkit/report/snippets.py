"""The text of a finding before and after, for reports that may show source.

What comes after is what the finding itself writes; rustfmt, and what other findings write around
it, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.port.copy_item import copy_with
from portkit.port.item_patches import ADJUST, REPAIR, find_patch_matches
from portkit.syntax.compressed_source import release_in_turn
from portkit.workspace.finding import Applicability, Status, identify_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.context.port_job import PortJob
    from portkit.engine.scan import Scan
    from portkit.syntax.source_file import SourceFile
    from portkit.workspace.finding import Finding, NewFile

CONTEXT: Final = 3
"""How many lines stand around a change."""
LONGEST: Final = 240
"""How many lines of one place are shown."""
BRANCHES: Final = 40
"""How many lines are shown after a condition, as far as what it decides goes."""
_DECIDE: Final = frozenset({"if_expression", "while_expression", "match_expression"})
_OUTSIDE: Final = frozenset({"block", "source_file"})


@dataclass(frozen=True, slots=True)
class Hunk:
    """Adjacent lines.

    Attributes:
        before: the file as it is; empty for one that the port adds.
        after: the file as it will be; empty where nothing changes.
        line: the number of the first line that is part of ``before``, or of ``after`` for a file
            that the port adds.
        lines: each after a space, a ``-`` or a ``+``, as in a unified diff, or after a ``=`` where
            it is part of a place at which nothing changes.
        left_out: how many more lines there are that are not shown.
    """

    before: str
    after: str
    line: int
    lines: tuple[str, ...]
    left_out: int = 0


def build_snippets(scan: Scan) -> Mapping[str, tuple[Hunk, ...]]:
    """Return the text of each finding by its identity; findings without text are left out.

    A file that is left alone as a whole is not shown.
    """
    sources = scan.job.workspace.sources
    files = release_in_turn(sources.get(finding.path) for finding in scan.findings)
    found = {
        identity: build_site_snippets(scan.job, finding, source)
        for (identity, finding), source in zip(identify_findings(scan.findings), files, strict=True)
    }
    return {identity: hunks for identity, hunks in found.items() if hunks}


def build_site_snippets(
    job: PortJob, finding: Finding, source: SourceFile | None, longest: int = LONGEST
) -> tuple[Hunk, ...]:
    """Return the text of one finding: the lines of its copy, or its hunks."""
    if source is not None:
        elsewhere = (
            *_show_repairs(job, finding, source, longest),
            *_show_kernel_patches(job, finding, source, longest),
        )
        if elsewhere:
            return elsewhere
    return tuple(build_hunks(finding, source, longest))


def _show_kernel_patches(
    job: PortJob, finding: Finding, source: SourceFile, longest: int
) -> Iterator[Hunk]:
    made = job.translated.get(finding.path)
    if made is None or finding.applicability is not Applicability.REVIEW:
        return
    # Only a patch is for review, and its edits are of the source as it stands.
    at = finding.code, finding.span
    edits = next((f.edits for f in made.findings if (f.code, f.span) == at), ())
    if edits:
        patched = replace(finding, edits=edits)
        yield from _show_edits(patched, source, longest, f"{source.path}, as it is translated")


def _show_repairs(
    job: PortJob, finding: Finding, source: SourceFile, longest: int
) -> Iterator[Hunk]:
    """Yield how a copy differs from the CUDA side's item under other names alone."""
    if finding.code not in (REPAIR, ADJUST):
        return
    start, end = finding.span.start, finding.span.end
    hits = [
        h
        for h in find_patch_matches(job, source, start, end)
        if job.codebase.key(h.patch) == finding.entry
    ]
    copy = job.rename(source.text(start, end))
    right = copy_with(job, source, start, end, hits)
    if right != copy:
        first, _ = source.position(start)
        paths = (
            f"{source.path}, renamed alone",
            job.tree_facts.copied_files.get(source.path, source.path),
        )
        yield from _compare_texts(_split_lines(copy), _split_lines(right), first, paths, longest)


def build_hunks(
    finding: Finding, source: SourceFile | None, longest: int = LONGEST
) -> Iterator[Hunk]:
    """Yield the hunks of one finding."""
    if finding.status is Status.TODO:
        copied, *added = finding.files() or (None,)
        if copied is not None:
            yield from (
                _show_copy(copied, source, longest)
                if source is not None
                else (_show_new_file(copied, longest),)
            )
        yield from (_show_new_file(file, longest) for file in added if file is not None)
    if source is None:
        return
    if finding.edits:
        yield from _show_edits(finding, source, longest)
    elif finding.status is not Status.TODO and (
        finding.span.start or finding.span.end < len(source.data)
    ):
        first, _ = source.position(finding.span.start)
        last, _ = source.position(max(finding.span.end - 1, finding.span.start))
        start = max(first - CONTEXT, 1)
        end = max(last + CONTEXT, _find_last_decided_line(source, finding))
        text = _decode_text(source, start, min(end, len(source.line_starts)))
        lines = (f"{' ='[first <= n <= last]}{line}" for n, line in enumerate(text, start))
        yield _shorten_hunk(Hunk(source.path, "", start, tuple(lines)), longest)


def _show_edits(
    finding: Finding, source: SourceFile, longest: int, written: str = ""
) -> Iterator[Hunk]:
    """Yield the changes in the lines that they touch; ``written`` says to where, if elsewhere."""
    edits = sorted(finding.edits)
    first, _ = source.position(min(finding.span.start, edits[0].start))
    last, _ = source.position(max(finding.span.end, *(edit.end for edit in edits)))
    branches = _find_last_decided_line(source, finding)
    first = max(first - CONTEXT, 1)
    last = min(max(last + CONTEXT, branches), len(source.line_starts))
    start = at = source.line_starts[first - 1]
    end = source.line_starts[last] if last < len(source.line_starts) else len(source.data)
    parts = []
    for edit in edits:
        parts += [source.text(at, edit.start), edit.text]
        at = edit.end
    after = "".join([*parts, source.text(at, end)])
    before = source.text(start, end)
    paths = source.path, written or source.path
    found = _split_lines(before), _split_lines(after)
    yield from _compare_texts(*found, first, paths, longest, to_end=bool(branches))


def _find_last_decided_line(source: SourceFile, finding: Finding) -> int:
    """Return the last line that a condition decides, or 0 if there is no condition.

    Which branch ROCm takes is seen in them alone: often it is the ``else`` far below. The arms of a
    ``match`` are shown where nothing is written, since ROCm then takes one of those that stand.
    """
    if not source.path.endswith(".rs"):
        return 0
    line, _ = source.position(max(finding.span.end - 1, finding.span.start))
    node = source.tree.root_node.descendant_for_byte_range(finding.span.start, finding.span.end)
    while node is not None and node.type not in _OUTSIDE:
        whole = node.parent
        if whole is None:
            return 0
        if node in (whole.child_by_field_name("condition"), whole.child_by_field_name("value")):
            decides = _DECIDE if not finding.edits else _DECIDE - {"match_expression"}
            if whole.type in decides:
                return min(whole.end_point[0] + 1, line + BRANCHES)
        node = whole
    return 0


def _show_copy(file: NewFile, source: SourceFile, longest: int) -> Iterator[Hunk]:
    before = _split_lines(source.text(0, len(source.data)))
    yield from _compare_texts(before, _split_lines(file.text), 1, (source.path, file.path), longest)


def _show_new_file(file: NewFile, longest: int) -> Hunk:
    lines = tuple(f"+{line}" for line in _split_lines(file.text))
    return _shorten_hunk(Hunk("", file.path, 1, lines), longest)


def _compare_texts(
    before: Sequence[str],
    after: Sequence[str],
    first: int,
    paths: tuple[str, str],
    room: int,
    *,
    to_end: bool = False,
) -> Iterator[Hunk]:
    matcher = SequenceMatcher(None, before, after)
    groups = list(matcher.get_grouped_opcodes(CONTEXT))
    if to_end and groups and groups[-1][-1][0] == "equal":
        tag, i1, _, j1, _ = groups[-1][-1]
        groups[-1][-1] = (tag, i1, len(before), j1, len(after))
    for number, group in enumerate(groups, 1):
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [f" {line}" for line in before[i1:i2]]
            else:
                lines += [f"-{line}" for line in before[i1:i2]]
                lines += [f"+{line}" for line in after[j1:j2]]
        hunk = _shorten_hunk(Hunk(*paths, first + group[0][1], tuple(lines)), room)
        room -= len(hunk.lines)
        if room <= 0 and number < len(groups):
            rest = sum(max(g[-1][2] - g[0][1], g[-1][4] - g[0][3]) for g in groups[number:])
            yield Hunk(*paths, hunk.line, hunk.lines, hunk.left_out + rest)
            return
        yield hunk


def _shorten_hunk(hunk: Hunk, room: int) -> Hunk:
    left_out = len(hunk.lines) - room
    if left_out <= 0:
        return hunk
    return Hunk(hunk.before, hunk.after, hunk.line, tuple(islice(hunk.lines, room)), left_out)


def _decode_text(source: SourceFile, first: int, last: int) -> list[str]:
    starts = source.line_starts
    end = starts[last] if last < len(starts) else len(source.data)
    return _split_lines(source.text(starts[first - 1], end))


def _split_lines(text: str) -> list[str]:
    """Split at newlines alone: ``str.splitlines`` knows more line ends than a Rust compiler."""
    return text.removesuffix("\n").split("\n")
