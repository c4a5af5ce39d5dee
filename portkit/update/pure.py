"""The pure port of a commit of upstream: made in a folder of its own, never in the user's tree."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.codebases.known import announced, brought
from portkit.lang.source import Source
from portkit.lang.value import Value
from portkit.profile.settings import NAME, read, settings
from portkit.scan.manifests import check_manifests
from portkit.scan.partial import check_variants
from portkit.scan.plan import plan
from portkit.scan.session import check_portable, scan_tree
from portkit.update.files import committed, export

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.codebases.directory import Directory
    from portkit.scan.scan import Scan
    from portkit.update.repository import Git


class Made(Value, frozen=True):
    """A pure port, not yet committed.

    Attributes:
        upstream: the commit of upstream that it is the port of.
        tree: the hash of its files.
        scan: the scan of upstream's commit, kernels included.
    """

    upstream: str
    tree: str
    scan: Scan

    @property
    def title(self) -> str:
        """What is ported: a codebase and its version."""
        job = self.scan.job
        return f"{job.codebase.name} {job.workspace.version}".strip()


class Wanted(Value, frozen=True):
    """What a pure port is made by.

    Attributes:
        said: the commit whose ``portkit.toml`` and profile count: the user's.
        since: the commit of upstream before, whose own count less than the user's.
        gating: ``dummy`` or ``cfg``; empty for what ``portkit.toml`` says.
        recorded: the gating of the last pure port, where nobody says.
        profile: the codebase's directory; by default as ``portkit.session.scan_tree`` finds it.
    """

    said: str
    since: str = ""
    gating: str = ""
    recorded: str = ""
    profile: Directory | None = None


@contextmanager
def made(git: Git, upstream: str, wanted: Wanted) -> Iterator[Made]:
    """Give the pure port of a commit of upstream; its scan can be used while the context lasts.

    Args:
        git: the repository.
        upstream: the hash of the commit.
        wanted: what it is made by.

    Raises:
        PortkitError: it cannot be ported, or git failed.
        OSError: the disk refuses.
    """
    with tempfile.TemporaryDirectory(prefix="portkit-") as scratch:
        folder = Path(scratch) / "tree"
        folder.mkdir()
        export(git, upstream, folder)
        root = folder / git.below
        for path, data in own_files(git, wanted):
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        gating = wanted.gating or read(root).gating or wanted.recorded
        scan = scan_tree(root, gating=gating, kernels=True, profile=wanted.profile)
        check_portable(scan)
        check_variants(scan, scan)
        changes = plan(scan).changes
        check_manifests(scan, scan, changes)
        yield Made(upstream, committed(git, upstream, changes), scan)


def own_files(git: Git, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    """Yield the files by which the user speaks to portkit: paths below the workspace, and bytes.

    What the user has as upstream had it before is upstream's to change.
    """
    toml = git.blob(wanted.said, git.below + NAME)
    if toml is None:
        return
    paths = [git.below + NAME]
    profile = settings(Source(NAME, toml)).profile
    if profile and profile not in brought() and profile not in announced():
        listing = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", wanted.said, "--")
        paths += git.paths(*listing, f"{git.below}{profile}/")
    for path in paths:
        data = git.blob(wanted.said, path)
        if data is not None and not (wanted.since and data == git.blob(wanted.since, path)):
            yield path.removeprefix(git.below), data
