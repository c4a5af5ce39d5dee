"""Remove from a ported tree the changes of findings that are newly excluded.

The port is made twice from upstream's commit, with the decisions before and with those after. What
differs is what goes: where a file of the tree is what the port made of it, it becomes what the port
makes of it now; where a person has edited it, the difference is merged into it. Where the edit is
of the same lines, nothing is taken out: nobody's work is lost.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.engine.partial_ports import check_variants
from portkit.engine.plan import build_plan
from portkit.engine.session import check_portable, scan_tree
from portkit.errors import HistoryError
from portkit.profiles.settings import NAME, parse_settings
from portkit.syntax.source_file import SourceFile
from portkit.transaction.change import Change
from portkit.update.generated_port import PortRequest, export_upstream
from portkit.update.repository import open_repository
from portkit.update.update import BRANCH, UpdateRequest, find_upstream_commit
from portkit.workspace.git_runner import run_git

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from portkit.codebases.directory import Directory
    from portkit.engine.scan import Scan

_WHOLE: Final = "the port has {} as a whole, which is for a person to remove"
_EDITED: Final = "{} was changed by hand in the same lines"


def drop_sites(
    root: Path, before: bytes, after: bytes, *, profile: Directory | None, gating: str
) -> tuple[Change, ...]:
    """Return the changes that adapt a ported tree to other decisions."""
    ready = open_repository(root, BRANCH)
    upstream, recorded = find_upstream_commit(ready, UpdateRequest(gating=gating, profile=profile))
    with export_upstream(ready.git, upstream, PortRequest(ready.head)) as tree:
        scans = [
            _scan_with_decisions(tree, toml, profile, gating, recorded) for toml in (before, after)
        ]
        # A file is written by the findings in it, or in what it is a copy of: a few of many.
        told = [
            {(f.path, f.span, f.code, f.status, f.excluded, f.edits) for f in each.findings}
            for each in scans
        ]
        paths = {path for path, *_ in told[0] ^ told[1]}
        said = [_plan_files(each, paths) for each in scans]
        changed = [p for p in sorted({*said[0], *said[1]}) if said[0].get(p) != said[1].get(p)]
        found = []
        for path in changed:
            place = tree / path
            stood = place.read_bytes() if place.is_file() else None
            old, new = (each.get(path, stood) for each in said)
            mine = (root / path).read_bytes() if (root / path).is_file() else None
            if old is None or new is None or mine is None:
                raise HistoryError(_WHOLE.format(path))
            merged = new if mine == old else _merge_file(path, mine, old, new)
            if merged != mine:
                found.append(Change(path, mine, merged))
    return tuple(found)


def _scan_with_decisions(
    tree: Path, toml: bytes, profile: Directory | None, gating: str, recorded: str
) -> Scan:
    (tree / NAME).write_bytes(toml)
    gating = gating or parse_settings(SourceFile(NAME, toml)).gating or recorded
    scan = scan_tree(tree, gating=gating, profile=profile)
    check_portable(scan)
    check_variants(scan, scan)
    return scan


def _plan_files(scan: Scan, paths: Collection[str]) -> Mapping[str, bytes]:
    findings = tuple(finding for finding in scan.findings if finding.path in paths)
    return {
        change.path: change.after for change in build_plan(replace(scan, findings=findings)).changes
    }


def _merge_file(path: str, mine: bytes, old: bytes, new: bytes) -> bytes:
    """Return a file with a difference merged into it (git-merge-file(1))."""
    with tempfile.TemporaryDirectory(prefix="portkit-") as scratch:
        names = [str(Path(scratch, name)) for name in ("mine", "old", "new")]
        for name, data in zip(names, (mine, old, new), strict=True):
            Path(name).write_bytes(data)
        done = run_git(Path(scratch), "merge-file", "--stdout", *names)
    if done.returncode != 0:
        raise HistoryError(_EDITED.format(path))
    return done.stdout
