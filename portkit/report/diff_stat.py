"""The preview of a port: the lines that it adds and removes, by crate and by rule."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from portkit.report.model import count_noun
from portkit.report.terminal import align_columns
from portkit.syntax.value import Value
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.engine.plan import Plan
    from portkit.engine.scan import Scan
    from portkit.report.model import Report
    from portkit.report.terminal import Terminal
    from portkit.transaction.change import Change

_ROOT: Final = "."
_COLUMNS: Final = ("changed", "added", "lines")


class LineChange(Value, frozen=True):
    """A run of changed lines, and the code of the finding that changes them."""

    path: str
    code: str
    is_new_file: bool
    added: int
    removed: int


def render_stat(report: Report, scan: Scan, plan: Plan, terminal: Terminal) -> str:
    """Return the tables and a line with the sum, in the form of ``git diff --stat``."""
    found = [*find_line_changes(scan, plan)]
    crates = [*(c.path for c in report.crates), *report.additions.crates]
    titles = {page.code: page.construct.split(":")[0] for page in reversed(report.sites)}
    by_crate: dict[tuple[str, ...], list[LineChange]] = {}
    by_rule: dict[tuple[str, ...], list[LineChange]] = {}
    for each in found:
        crate = max((c for c in crates if each.path.startswith(f"{c}/")), key=len, default=_ROOT)
        by_crate.setdefault(("root" if crate == _ROOT else crate,), []).append(each)
        by_rule.setdefault((each.code, titles.get(each.code, "")), []).append(each)
    lines = [
        *_render_rows(("Crate",), by_crate, terminal),
        "",
        *_render_rows(("Rule", "Construct"), by_rule, terminal),
        "",
        f"{count_noun(len(plan.changes), 'file')}, {_render_lines(found)} lines",
    ]
    return "".join(f"{line}\n" for line in lines)


def find_line_changes(scan: Scan, plan: Plan) -> Iterator[LineChange]:
    """Yield the changed lines of a plan, each with the finding whose edit is the nearest."""
    makers: dict[str, str] = {}
    edits: dict[str, list[tuple[int, str]]] = {}
    for finding in scan.findings:
        if finding.status is not Status.TODO:
            continue
        makers.update((file.path, finding.code) for file in finding.files())
        for edit in finding.edits:
            line = scan.job.workspace.sources[finding.path].position(edit.start)[0] - 1
            edits.setdefault(finding.path, []).append((line, finding.code))
    for change in plan.changes:
        if change.path in makers:
            removed = len((change.before or b"").splitlines())
            added = len(change.after.splitlines())
            yield LineChange(
                change.path, makers[change.path], change.before is None, added, removed
            )
        else:
            yield from _attribute_lines(change, sorted(edits.get(change.path, [])))


def _attribute_lines(change: Change, edits: Sequence[tuple[int, str]]) -> Iterator[LineChange]:
    before, after = (change.before or b"").split(b"\n"), change.after.split(b"\n")
    starts = [line for line, _ in edits]
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, after, False).get_opcodes():
        if kind == "equal":
            continue
        at = bisect_left(starts, i1)
        near = min(edits[max(at - 1, 0) : at + 1], key=lambda e: abs(e[0] - i1), default=(0, ""))
        yield LineChange(change.path, near[1], False, j2 - j1, i2 - i1)


def _render_rows(
    names: tuple[str, ...],
    grouped: dict[tuple[str, ...], list[LineChange]],
    terminal: Terminal,
) -> Iterator[str]:
    rows = [[*names, *_COLUMNS]]
    for key, found in sorted(grouped.items()):
        files = Counter({True: 0, False: 0})
        files.update({each.path: each.is_new_file for each in found}.values())
        rows.append([*key, str(files[False] or ""), str(files[True] or ""), _render_lines(found)])
    first, *body = align_columns(rows, numbers=len(_COLUMNS), width=terminal.width)
    yield terminal.dim(first)
    yield from body


def _render_lines(found: Sequence[LineChange]) -> str:
    added, removed = sum(e.added for e in found), sum(e.removed for e in found)
    return f"+{added:,} -{removed:,}"
