"""Generate the port of a commit of upstream in a folder of its own."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.codebases.registry import find_announced, find_shipped
from portkit.engine.partial_ports import check_manifests, check_variants
from portkit.engine.plan import build_plan
from portkit.engine.session import check_portable, scan_tree
from portkit.profiles.settings import NAME, parse_settings, read_settings
from portkit.syntax.source_file import SourceFile
from portkit.syntax.value import Value
from portkit.update.commit_files import export_commit, hash_commit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.codebases.directory import Directory
    from portkit.engine.scan import Scan
    from portkit.update.repository import GitRepository


class GeneratedTree(Value, frozen=True):
    """A generated port, not yet committed.

    Attributes:
        upstream: the commit of upstream that it is the port of.
        scan: the scan of upstream's commit, kernels included.
    """

    upstream: str
    tree: str
    scan: Scan

    @property
    def title(self) -> str:
        """The name of the codebase and its version."""
        job = self.scan.job
        return f"{job.codebase.name} {job.workspace.version}".strip()


class PortRequest(Value, frozen=True):
    """The inputs of a generated port.

    Attributes:
        said: the commit whose ``portkit.toml`` and profile count: the user's.
        since: the commit of upstream before, whose own count less than the user's.
        gating: ``dummy`` or ``cfg``; empty for what ``portkit.toml`` says.
        recorded: the gating of the last pure port, where nobody says.
        profile: the codebase's directory; by default found by ``scan_tree``.
    """

    said: str
    since: str = ""
    gating: str = ""
    recorded: str = ""
    profile: Directory | None = None


@contextmanager
def generate_port(
    git: GitRepository, upstream: str, wanted: PortRequest
) -> Iterator[GeneratedTree]:
    """Yield the generated port of a commit of upstream; its scan is valid in the context only."""
    with export_upstream(git, upstream, wanted) as root:
        gating = wanted.gating or read_settings(root).gating or wanted.recorded
        scan = scan_tree(root, gating=gating, kernels=True, profile=wanted.profile)
        check_portable(scan)
        check_variants(scan, scan)
        changes = build_plan(scan).changes
        check_manifests(scan, scan, changes)
        yield GeneratedTree(upstream, hash_commit(git, upstream, changes), scan)


@contextmanager
def export_upstream(git: GitRepository, upstream: str, wanted: PortRequest) -> Iterator[Path]:
    """Yield the workspace of a commit of upstream, with the user's decisions and profile."""
    with tempfile.TemporaryDirectory(prefix="portkit-") as scratch:
        folder = Path(scratch) / "tree"
        folder.mkdir()
        export_commit(git, upstream, folder)
        root = folder / git.below
        for path, data in _list_user_files(git, wanted):
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        yield root


def _list_user_files(git: GitRepository, wanted: PortRequest) -> Iterator[tuple[str, bytes]]:
    """Yield the path below the workspace and the content of the user's own files.

    A file that the user has as upstream had it before is upstream's to change.
    """
    toml = git.blob(wanted.said, git.below + NAME)
    if toml is None:
        return
    paths = [git.below + NAME]
    profile = parse_settings(SourceFile(NAME, toml)).profile
    if profile and profile not in find_shipped() and profile not in find_announced():
        listing = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", wanted.said, "--")
        paths += git.paths(*listing, f"{git.below}{profile}/")
    for path in paths:
        data = git.blob(wanted.said, path)
        if data is not None and not (wanted.since and data == git.blob(wanted.since, path)):
            yield path.removeprefix(git.below), data
