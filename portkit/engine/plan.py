"""From findings to a plan: every change of one run, checked, not yet written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from portkit.engine.rustfmt import FormatFailure, Rustfmt
from portkit.engine.scan import Scan
from portkit.errors import PlanError
from portkit.syntax.value import Value
from portkit.transaction.transaction import Change
from portkit.workspace.edits import apply_edits
from portkit.workspace.finding import Finding, Status


class Plan(Value, frozen=True):
    """What one run would do to the tree."""

    changes: tuple[Change, ...]
    # Rust files that rustfmt left alone, because the file on disk was not formatted before, not as
    # rustfmt could read it, or not as fast as it may take; sorted.
    unformatted: tuple[str, ...] = ()


def build_plan(scan: Scan, *, rustfmt: bool = True) -> Plan:
    """Turn the findings of a scan that are to do into changes.

    Args:
        rustfmt: whether to format what is written, as the tree's own rustfmt settings say.

    Raises:
        PlanError: two findings want to edit the same bytes, or to add the same file, or rustfmt
            could read a file and could not read what it would become.
        ToolError: rustfmt is missing.
    """
    todo = [f for f in scan.findings if f.status is Status.TODO]
    sources = scan.job.workspace.sources
    by_path: dict[str, list[Finding]] = {}
    for finding in todo:
        if finding.edits:
            by_path.setdefault(finding.path, []).append(finding)
    changes = {
        path: Change(path, sources[path].data, apply_edits(sources[path], found))
        for path, found in by_path.items()
    }
    for finding in todo:
        for file in finding.files():
            if file.path in changes or (file.path in sources and file.before is None):
                raise PlanError(
                    f"{finding.code} would add {file.path}, which stands already or is added "
                    "twice; this is a defect of the profile"
                )
            changes[file.path] = Change(file.path, file.before, file.text.encode())
    unformatted: tuple[str, ...] = ()
    if rustfmt:
        changes, unformatted = format_changes(scan, changes)
    return Plan(tuple(changes[p] for p in sorted(changes)), unformatted)


def format_changes(
    scan: Scan, changes: Mapping[str, Change]
) -> tuple[dict[str, Change], tuple[str, ...]]:
    """Return the changes with Rust files formatted, and the files left unformatted.

    Raises:
        PlanError: rustfmt could read a file and could not read what it would become.
        ToolError: rustfmt is missing.
    """
    rust = [c for c in changes.values() if c.path.endswith(".rs")]
    if not rust:
        return dict(changes), ()
    rustfmt = Rustfmt(scan.job.workspace.root)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda c: _format_one(scan, rustfmt, c), rust))
    if not any(results):
        rustfmt.check()
    made = dict(changes)
    unformatted = []
    for change, after in zip(rust, results, strict=True):
        if after is None:
            unformatted.append(change.path)
        else:
            made[change.path] = Change(change.path, change.before, after)
    return made, tuple(sorted(unformatted))


def _format_one(scan: Scan, rustfmt: Rustfmt, change: Change) -> bytes | None:
    """Return the formatted text, or None if rustfmt must not format it.

    A file that was not formatted before keeps its layout: formatting it now would change lines that
    have nothing to do with the port.
    """
    edition = _find_edition(scan, change.path)
    if change.before is not None and rustfmt.formatted(change.before, edition) != change.before:
        return None
    after = rustfmt.formatted(change.after, edition)
    if after is FormatFailure.UNREADABLE and change.before is not None:
        raise PlanError(
            f"{change.path} would be no Rust any more that rustfmt can read, so nothing is written:"
            " this is a defect of portkit or of a profile; --no-format writes it all the same"
        )
    return None if isinstance(after, FormatFailure) else after


def _find_edition(scan: Scan, path: str) -> str:
    """Return the Rust edition of a file; a new crate has the workspace's."""
    workspace = scan.job.workspace
    shared = workspace.manifest.get("workspace", {}).get("package", {}).get("edition", "2021")
    crate = workspace.crate_of(path)
    own = crate.manifest["package"].get("edition", shared) if crate is not None else shared
    return own if isinstance(own, str) else str(shared)
