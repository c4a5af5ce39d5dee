"""What a port has written at places that are left out from now on, taken out of the tree again.

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

from portkit.errors import HistoryError
from portkit.lang.source import Source
from portkit.profile.settings import NAME, settings
from portkit.scan.partial import check_variants
from portkit.scan.plan import plan
from portkit.scan.session import check_portable, scan_tree
from portkit.tree.git_program import run_git
from portkit.update.files import export
from portkit.update.pure import Wanted, own_files
from portkit.update.ready import seen
from portkit.update.update import BRANCH, Asked, ported_from
from portkit.write.change import Change

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from portkit.codebases.directory import Directory
    from portkit.scan.scan import Scan
    from portkit.tree.finding import Finding

_WHOLE: Final = "the port has {} as a whole, which is for a person to remove"
_EDITED: Final = "{} was changed by hand in the same lines"


def taken_out(
    root: Path, before: bytes, after: bytes, *, profile: Directory | None, gating: str
) -> tuple[Change, ...]:
    """Return the changes by which a ported tree becomes what the port is under other decisions.

    Args:
        root: the workspace root.
        before: what ``portkit.toml`` held when the port was written.
        after: what it holds from now on.
        profile: the codebase's directory, where the user names one.
        gating: ``dummy`` or ``cfg``; empty for what ``portkit.toml`` says.

    Raises:
        HistoryError: the history does not tell what the port is of, or a file cannot be changed
            without a person.
        PortkitError: upstream's commit cannot be ported, or git failed.
        OSError: the disk refuses.
    """
    ready = seen(root, BRANCH)
    upstream, recorded = ported_from(ready, Asked(gating=gating, profile=profile))
    with tempfile.TemporaryDirectory(prefix="portkit-") as scratch:
        folder = Path(scratch) / "tree"
        folder.mkdir()
        export(ready.git, upstream, folder)
        tree = folder / ready.git.below
        for path, data in own_files(ready.git, Wanted(ready.head)):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(data)
        scans = [_scan(tree, toml, profile, gating, recorded) for toml in (before, after)]
        # A file is written by the findings in it, or in what it is a copy of: a few of many.
        told = [{(f.path, _decided(f)) for f in each.findings} for each in scans]
        paths = {path for path, _ in told[0] ^ told[1]}
        said = [_written(each, paths) for each in scans]
        changed = [p for p in sorted({*said[0], *said[1]}) if said[0].get(p) != said[1].get(p)]
        found = []
        for path in changed:
            place = tree / path
            stood = place.read_bytes() if place.is_file() else None
            old, new = (each.get(path, stood) for each in said)
            mine = (root / path).read_bytes() if (root / path).is_file() else None
            if old is None or new is None or mine is None:
                raise HistoryError(_WHOLE.format(path))
            merged = new if mine == old else _merged(Path(scratch), path, mine, old, new)
            if merged != mine:
                found.append(Change(path, mine, merged))
    return tuple(found)


def _scan(tree: Path, toml: bytes, profile: Directory | None, gating: str, recorded: str) -> Scan:
    """Return what is found in a tree under the decisions of a ``portkit.toml``."""
    (tree / NAME).write_bytes(toml)
    gating = gating or settings(Source(NAME, toml)).gating or recorded
    scan = scan_tree(tree, gating=gating, profile=profile)
    check_portable(scan)
    check_variants(scan, scan)
    return scan


def _written(scan: Scan, paths: Collection[str]) -> Mapping[str, bytes]:
    """Return what a port writes for the findings in some files, by path."""
    findings = tuple(finding for finding in scan.findings if finding.path in paths)
    return {change.path: change.after for change in plan(replace(scan, findings=findings)).changes}


def _decided(finding: Finding) -> tuple[object, ...]:
    """Return what tells a place that is written from one that is left out."""
    return finding.span, finding.code, finding.status, finding.excepted, finding.edits


def _merged(scratch: Path, path: str, mine: bytes, old: bytes, new: bytes) -> bytes:
    """Return a file with a difference merged into it (git-merge-file(1)).

    Raises:
        HistoryError: it is of lines that a person has changed.
        ToolError: git is missing.
    """
    names = [str(scratch / name) for name in ("mine", "old", "new")]
    for name, data in zip(names, (mine, old, new), strict=True):
        Path(name).write_bytes(data)
    done = run_git(scratch, "merge-file", "--stdout", *names)
    if done.returncode != 0:
        raise HistoryError(_EDITED.format(path))
    return done.stdout
