"""Places of a port that a person takes back come back, whichever they are."""

from __future__ import annotations

import random
import tomllib
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from portkit.engine.plan import build_plan
from portkit.engine.scan import Scan, scan_workspace
from portkit.rules.file_rules import ADDED_FILE_CODE as ADDED
from portkit.syntax.source_file import SourceFile
from portkit.workspace.cargo_workspace import Workspace
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from collections.abc import Callable


pytestmark = pytest.mark.real

TOGETHER = 40


@pytest.mark.parametrize(
    ("version", "gating"), [("0.11.1", "dummy"), ("0.11.1", "cfg"), ("0.9.2", "cfg")]
)
def test_every_place_comes_back_as_it_was(
    scanned: Callable[[str, str], Scan], version: str, gating: str
) -> None:
    found = scanned(version, gating)
    whole = applied(found).sources
    places = [
        i for i, f in enumerate(found.findings) if f.status is Status.TODO and f.code != ADDED
    ]
    random.Random(version + gating).shuffle(places)
    for at in range(0, len(places), TOGETHER):
        out = set(places[at : at + TOGETHER])
        rest = tuple(f for i, f in enumerate(found.findings) if i not in out)
        half = applied(replace(found, findings=rest))
        again = applied(
            scan_workspace(half, found.job.vendor, found.job.codebase, gating=gating)
        ).sources
        assert sorted(again) == sorted(whole)
        for path in whole:
            assert again[path].data.decode().split("\n") == whole[path].data.decode().split("\n")


def applied(scan: Scan) -> Workspace:
    """Return the tree that a scan would make, in memory and without rustfmt."""
    old = scan.job.workspace
    files = {path: source.data for path, source in old.sources.items()}
    files |= {change.path: change.after for change in build_plan(scan, rustfmt=False).changes}
    sources = {path: SourceFile(path, data) for path, data in sorted(files.items())}
    return Workspace(old.root, tomllib.loads(files["Cargo.toml"].decode()), sources, old.unread)
