"""A port as a series of commits: one for each phase that has anything to write.

Each state between is planned from the tree before the port with the places of the phases so far, so
that the last is what one run writes, byte for byte. What a place needs comes with it
(`portkit.report.edit_dependencies`), and a ``match`` whose arm follows later errs until then
(`portkit.engine.partial_ports`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.engine.partial_ports import check_variants, restore_required_arms
from portkit.engine.plan import build_plan
from portkit.engine.rule_pages import list_all_pages
from portkit.report.edit_dependencies import (
    MANIFEST,
    WrittenFinding,
    assign_phases,
    find_dependencies,
)
from portkit.report.model import State, count_noun, count_places, locate_finding
from portkit.report.phases import find_phase, load_phases
from portkit.report.terminal import wrap_text
from portkit.rules.file_rules import ADDED_FILE_CODE as ADDED
from portkit.syntax.value import Value
from portkit.transaction.change import Change
from portkit.workspace.finding import Status, identify_findings
from portkit.workspace.git_series import TRAILER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.engine.scan import Scan
    from portkit.report.model import Report, ReportedSite
    from portkit.report.phases import Phase
    from portkit.workspace.finding import Finding, NewFile

LATER: Final = "a later commit of this series writes it"
_PACKAGE: Final = re.compile(r'^name\s*=\s*"([\w-]+)"', re.MULTILINE)


class Part(Value, frozen=True):
    """The changes of one commit of a series.

    Attributes:
        phase: the phase whose places they are; none for those that no phase has.
        sites: the places that it writes, sorted as the report has them.
        errors: the places that answer with an error after it.
        changes: against the part before, sorted by path.
    """

    phase: Phase | None
    sites: tuple[ReportedSite, ...]
    errors: tuple[ReportedSite, ...]
    changes: tuple[Change, ...]


class Series(Value, frozen=True):
    """The parts of a port, in their order.

    Attributes:
        changes: all of them together, as one run would make them; sorted by path.
    """

    parts: tuple[Part, ...]
    changes: tuple[Change, ...]
    unformatted: tuple[str, ...]


def split_port(whole: Scan, *, rustfmt: bool = True) -> Series:
    """Return a port in parts."""
    whole = replace(whole, findings=tuple(map(_cache_files, whole.findings)))
    order = (*load_phases(whole.job.codebase.directory), None)
    sites = [
        _locate_finding(whole, f, identity) for identity, f in identify_findings(whole.findings)
    ]
    todo = [n for n, f in enumerate(whole.findings) if f.status is Status.TODO]
    own = [order.index(find_phase(sites[n], filter(None, order))) for n in todo]
    written = [_describe_finding(whole, whole.findings[n]) for n in todo]
    needed = find_dependencies(
        written,
        _list_words(whole),
        whole.job.vendor.variant,
        {crate.name: crate.directory for crate in whole.job.workspace.crates},
    )
    turn = dict(zip(todo, assign_phases(written, needed, own), strict=True))

    parts: list[Part] = []
    state: dict[str, Change] = {}
    before: dict[str, tuple[Finding, ...]] = {}
    unformatted: set[str] = set()
    for number, phase in enumerate(order):
        chosen = [n for n in turn if turn[n] == number]
        if not chosen:
            continue
        kept = tuple(f for n, f in enumerate(whole.findings) if turn.get(n, 0) <= number)
        some = replace(whole, findings=kept)
        check_variants(whole, some)
        some = restore_required_arms(whole, some, LATER)
        now = _group_by_path(some.findings)
        moved = {path for path in now if now[path] != before.get(path)}
        planned = build_plan(
            replace(some, findings=tuple(f for f in some.findings if f.path in moved)),
            rustfmt=rustfmt,
        )
        unformatted = {p for p in unformatted if p not in moved} | {*planned.unformatted}
        changes = [
            Change(c.path, state[c.path].after, c.after) if c.path in state else c
            for c in planned.changes
        ]
        state |= {change.path: change for change in planned.changes}
        before = now
        if changes := [c for c in changes if c.before != c.after]:
            errors = [f for f in some.findings if f.reason == LATER]
            parts.append(
                Part(
                    phase,
                    tuple(sites[n] for n in chosen),
                    tuple(_locate_finding(whole, f, "") for f in errors),
                    tuple(changes),
                )
            )
    changes = [state[path] for path in sorted(state)]
    return Series(tuple(parts), tuple(changes), tuple(sorted(unformatted)))


def _cache_files(finding: Finding) -> Finding:
    """Return a finding that makes its files only once."""
    made: list[tuple[NewFile, ...]] = []

    def files() -> tuple[NewFile, ...]:
        if not made:
            made.append(finding.files())
        return made[0]

    return replace(finding, files=files) if finding.status is Status.TODO else finding


def _locate_finding(whole: Scan, finding: Finding, identity: str) -> ReportedSite:
    return locate_finding(finding, whole.job.workspace.sources.get(finding.path), identity)


def _describe_finding(whole: Scan, finding: Finding) -> WrittenFinding:
    workspace = whole.job.workspace
    is_crate = finding.code == ADDED and finding.construct == "new crate"
    files = {file.path: file.text for file in finding.files()}
    name = ""
    if is_crate:
        manifest = f"{finding.path}/{MANIFEST}"
        files = {manifest: files[manifest]} if manifest in files else {}
        named = _PACKAGE.search(files.get(manifest, ""))
        name = named[1] if named else finding.path.rpartition("/")[2]
    crate = workspace.crate_of(next(iter(files), finding.path))
    return WrittenFinding(
        code=finding.code,
        path=finding.path,
        symbol=finding.symbol,
        crate=finding.path if is_crate else crate.directory if crate is not None else ".",
        edits=tuple(edit.text for edit in finding.edits),
        files=files,
        types=finding.types,
        added_crate=name,
    )


def _list_words(whole: Scan) -> frozenset[str]:
    sources = whole.job.workspace.sources.values()
    words = {word for source in sources for word in re.findall(rb"\w+", source.data)}
    return frozenset(word.decode(errors="replace") for word in words)


def _group_by_path(findings: Sequence[Finding]) -> dict[str, tuple[Finding, ...]]:
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.status is Status.TODO:
            grouped.setdefault(finding.path, []).append(finding)
    return {path: tuple(found) for path, found in grouped.items()}


_WIDTH: Final = 72
_SHOWN: Final = 5
"""How many places of one reason are named."""


def render_messages(report: Report, parts: Sequence[Part]) -> Iterator[str]:
    """Yield the message of each part."""
    for number, part in enumerate(parts, 1):
        lines = _render_lines(report, part, f"{number}/{len(parts)}")
        yield "\n".join(line.rstrip() for line in lines) + "\n"


def render_subject(report: Report, part: Part) -> str:
    """Return the first line: ``ROCm: device and storage``."""
    title = part.phase.title if part.phase is not None else "What belongs to no phase"
    # An abbreviation keeps its letters.
    title = title if title[1:2].isupper() else title[:1].lower() + title[1:]
    return f"{report.platform}: {title}"


def _render_lines(report: Report, part: Part, number: str) -> Iterator[str]:
    yield render_subject(report, part)
    yield ""
    added = sum(change.before is None for change in part.changes)
    changed = len(part.changes) - added
    yield from wrap_text(
        f"{count_places(part.sites)} of the port of {report.title}:"
        f" {count_noun(changed, 'file')} changed, {added} added.",
        _WIDTH,
    )
    yield ""
    titles = {page.code: page.title for page in list_all_pages(report.directory)}
    grouped: dict[str, list[ReportedSite]] = {}
    for site in part.sites:
        grouped.setdefault(site.code, []).append(site)
    for code, sites in sorted(grouped.items()):
        why = titles.get(code, "").replace("``", "`")
        yield from wrap_text(f"- {code}, {count_noun(len(sites), 'place')}: {why}", _WIDTH, "  ")
    asked = [site for site in part.sites if site.state in (State.REVIEW, State.MANUAL)]
    if asked:
        yield from ("", "To be looked at:", "")
        yield from _render_reasons(asked)
    if part.errors:
        yield ""
        yield from wrap_text(
            f"{count_places(part.errors)} whose arm a later commit writes answer with an error"
            " until"
            " then, since a match must name every variant.",
            _WIDTH,
        )
    yield ""
    command = f" and `{part.phase.verify}`" if part.phase is not None else ""
    yield from wrap_text(
        "How to check it: rustfmt leaves it as it is; `portkit verify --series` type-checks this"
        f" commit with the feature and without{command} shows what it is for.",
        _WIDTH,
    )
    yield from ("", f"{TRAILER}: {number}")


def _render_reasons(sites: Sequence[ReportedSite]) -> Iterator[str]:
    grouped: dict[tuple[str, str], list[ReportedSite]] = {}
    for site in sites:
        grouped.setdefault((site.code, site.message), []).append(site)
    for (code, message), found in sorted(grouped.items()):
        yield from wrap_text(f"- {code}: {message}", _WIDTH, "  ")
        for site in found[:_SHOWN]:
            # No line number: each commit shifts the lines.
            yield f"  {site.path} {site.symbol}"
        if len(found) > _SHOWN:
            yield f"  and {len(found) - _SHOWN} more"
