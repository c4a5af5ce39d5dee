"""A run that is killed, interrupted or out of disk at each of its steps leaves all or nothing."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import (
    CHANGES,
    KILLED,
    CountingDisk,
    FailingDisk,
    FullDisk,
    KillingDisk,
    LinklessDisk,
    expected,
    in_child,
    leftovers,
    make_tree,
    picture,
)
from edits_support import EDIT, anew, edited, in_place, killed

from portkit.errors import DiskError, PortkitError, TreeChangedError
from portkit.transaction import transaction as apply
from portkit.transaction.transaction import Change, recover_run, write_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory where the system has one: there are thousands of runs to be killed."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    os.umask(0o022)


@pytest.fixture(params=["git", "state", "in tree"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with its journal in each of the places, staged there or beside the targets."""
    if request.param == "in tree":
        monkeypatch.setattr(apply, "_is_same_file_system", lambda one, other: False)
    return make_tree(tmp_path / "tree", git=request.param == "git")


def reset(root: Path) -> None:
    """Bring the tree back to its start and drop all journals."""
    git = (root / ".git").exists()
    shutil.rmtree(root)
    shutil.rmtree(root.parent / "state", ignore_errors=True)
    make_tree(root, git=git)


def operations(root: Path) -> int:
    """Return the number of operations of an undisturbed run."""
    disk = CountingDisk()
    write_plan(root, CHANGES, disk=disk)
    reset(root)
    return disk.count


@pytest.mark.parametrize("torn", [False, True])
def test_killed_at_each_operation_the_next_run_finishes_or_restores(root: Path, torn: bool) -> None:
    before = picture(root)
    after = expected(before)
    outcomes = []
    for at in range(operations(root)):
        status = in_child(partial(write_plan, root, CHANGES, disk=KillingDisk(at, torn=torn)))
        assert status == KILLED or torn  # not every operation can be torn; nor does the last write
        recovery = recover_run(root)
        now = picture(root)
        assert now in (before, after), f"killed at {at}"
        assert leftovers(root) == []
        if recovery is not None:
            assert recovery.finished == (now == after)
            assert recovery.paths == tuple(change.path for change in CHANGES)
        assert recover_run(root) is None
        outcomes.append(now == after)
        # What recovery left is a tree that the same plan can be written to, or has been.
        if now == before:
            write_plan(root, CHANGES)
            assert picture(root) == after
        reset(root)
    assert outcomes == sorted(outcomes), "restored after a finished one: no single commit point"
    assert True in outcomes and False in outcomes


@pytest.mark.real
def test_killed_again_while_recovering(root: Path) -> None:
    before = picture(root)
    few = CHANGES[1:3]  # a changed file, and a new one in a new folder
    disk = CountingDisk()
    write_plan(root, few, disk=disk)
    after = picture(root)
    reset(root)
    seen = set()
    for at in range(disk.count):
        for again in range(1000):
            in_child(partial(write_plan, root, few, disk=KillingDisk(at)))
            status = in_child(partial(recover_run, root, disk=KillingDisk(again)))
            recover_run(root)
            now = picture(root)
            assert now in (before, after), f"killed at {at}, then at {again}"
            assert leftovers(root) == []
            seen.add((status, now == after))
            reset(root)
            if status == 0:
                break
        else:
            pytest.fail("recovery never ended")
    assert seen == {(status, end) for status in (0, KILLED) for end in (True, False)}


def test_killed_while_taking_back(root: Path) -> None:
    """The disk fails in the middle of the renames, and the process dies while it undoes them.

    The user's edit of a file that was taken back is kept, and the rest is taken back as well.
    """
    before = picture(root)

    class Disk(KillingDisk):
        def rename(self, source: Path, target: Path) -> None:
            if target.name == "new.rs":
                self.reached("rename", source, target)
                raise OSError(errno.EIO, "Input/output error", str(source), None, str(target))
            super().rename(source, target)

        def link(self, source: Path, target: Path) -> None:
            if target.name == "new.rs":
                self.reached("link", source, target)
                raise OSError(errno.EIO, "Input/output error", str(source), None, str(target))
            super().link(source, target)

    counting = CountingDisk()
    write_plan(root, CHANGES, disk=counting)
    reset(root)
    failing = next(n for n, (_, paths) in enumerate(counting.log) if paths[-1].name == "new.rs")
    edited = 0
    for at in range(failing + 1, 1000):
        status = in_child(partial(write_plan, root, CHANGES, disk=Disk(at)))
        if status == 1:  # DiskError: the process lived to tell
            break
        now = picture(root)
        if now["src/lib.rs"] == before["src/lib.rs"] and now["run.sh"] != before["run.sh"]:
            edited += 1
            (root / "src/lib.rs").write_bytes(b"edited after it was taken back\n")
            recover_run(root)
            assert (root / "src/lib.rs").read_bytes() == b"edited after it was taken back\n"
            (root / "src/lib.rs").write_bytes(b"old lib\n")
            assert picture(root) == before
        else:
            recover_run(root)
            assert picture(root) in (before, expected(before)), f"killed at {at}"
        assert leftovers(root) == []
        reset(root)
    assert picture(root) == before
    assert edited


def test_what_somebody_did_in_the_same_way_is_left_alone(root: Path) -> None:
    before = picture(root)
    disk = CountingDisk()
    write_plan(root, CHANGES, disk=disk)
    commit = next(n for n, (name, _) in enumerate(disk.log) if name == "rename")
    reset(root)
    in_child(partial(write_plan, root, CHANGES, disk=KillingDisk(commit + 2)))
    (root / "run.sh").write_bytes(b"")  # as planned
    number = (root / "run.sh").stat().st_ino
    recovery = recover_run(root)
    assert recovery is not None and recovery.finished
    assert picture(root) == expected(before)
    assert (root / "run.sh").stat().st_ino == number


@pytest.mark.real
def test_an_edit_between_kill_and_recovery_is_never_lost(root: Path) -> None:
    before = picture(root)
    after = expected(before)
    messages = set()
    for at in range(operations(root)):
        for change in (CHANGES[0], CHANGES[2]):
            in_child(partial(write_plan, root, CHANGES, disk=KillingDisk(at)))
            edited = root / change.path
            edited.parent.mkdir(parents=True, exist_ok=True)
            edited.write_bytes(b"the user's own\n")
            try:
                recover_run(root)
            except TreeChangedError as error:
                assert change.path in str(error)
                messages.add("kept" in str(error))
            assert edited.read_bytes() == b"the user's own\n", f"killed at {at}"
            now = picture(root)
            others = {key: now.get(key) for key in after if change.path not in key}
            parents = {str(parent) for parent in Path(change.path).parents}
            for whole in (before, after):
                if all(whole.get(k) == v for k, v in others.items() if k not in parents):
                    break
            else:
                pytest.fail(f"killed at {at}, edited {change.path}: {others}")
            assert leftovers(root) == []
            reset(root)
    assert messages == {True}


def test_edits_on_both_sides_are_reported_and_nothing_is_touched(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree")
    disk = CountingDisk()
    write_plan(root, CHANGES, disk=disk)
    exchanges = [n for n, (name, _) in enumerate(disk.log) if name == "exchange"]
    reset(root)
    # Kill between the first and the second file.
    in_child(partial(write_plan, root, CHANGES, disk=KillingDisk(exchanges[1])))
    (root / "src/lib.rs").write_bytes(b"edited after it was written\n")
    (root / "run.sh").write_bytes(b"edited before it could be written\n")
    now = picture(root)
    for _ in range(2):
        with pytest.raises(TreeChangedError) as error:
            recover_run(root)
        assert "src/lib.rs" in str(error.value) and str(root / ".git") in str(error.value)
        assert picture(root) == now
    # The advice holds: with the written file brought back, the rest is taken back too.
    (root / "src/lib.rs").write_bytes(b"old lib\n")
    with pytest.raises(TreeChangedError, match=r"run\.sh changed .* kept"):
        recover_run(root)
    assert (root / "run.sh").read_bytes() == b"edited before it could be written\n"
    assert not (root / "src/rocm").exists()
    assert leftovers(root) == []


def test_a_tree_that_git_brought_back_is_restored(tmp_path: Path) -> None:
    """``git checkout .`` after the kill: changed files are as before, new ones still stand."""
    root = make_tree(tmp_path / "tree")
    before = picture(root)
    disk = CountingDisk()
    write_plan(root, CHANGES, disk=disk)
    last = max(n for n, (name, _) in enumerate(disk.log) if name == "rename")
    reset(root)
    in_child(partial(write_plan, root, CHANGES, disk=KillingDisk(last)))
    assert picture(root) == expected(before)
    (root / "src/lib.rs").write_bytes(b"old lib\n")
    recovery = recover_run(root)
    assert recovery is not None and not recovery.finished
    assert picture(root) == before


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_operation_that_fails_leaves_the_tree_as_it_was(root: Path, code: int) -> None:
    before = picture(root)
    after = expected(before)
    failed = 0
    for at in range(operations(root)):
        disk = FailingDisk(at, OSError(code, os.strerror(code), "the file"))
        try:
            write_plan(root, CHANGES, disk=disk)
        except DiskError as error:
            assert disk.log[at][0] != "link"
            failed += 1
            assert os.strerror(code) in str(error)
            assert ("free some space" in str(error)) == (code == errno.ENOSPC)
            if "are whole" in str(error):  # only the journal is left
                recover_run(root)
                assert picture(root) == after, f"failed at {at}"
            else:
                assert picture(root) == before, f"failed at {at}"
        else:  # links that are replaced by copies
            assert disk.log[at][0] == "link"
            assert picture(root) == after, f"failed at {at}"
        assert leftovers(root) == []
        reset(root)
    assert failed > 20


def test_a_disk_that_fails_for_good_can_be_recovered_from(root: Path) -> None:
    before = picture(root)
    for at in range(operations(root)):
        disk = FailingDisk(at, OSError(errno.EIO, "Input/output error", "the file"), ever=True)
        with pytest.raises(DiskError, match="Input/output error"):
            write_plan(root, CHANGES, disk=disk)
        recover_run(root)
        assert picture(root) in (before, expected(before)), f"failed from {at} on"
        assert leftovers(root) == []
        reset(root)


def test_a_full_disk_leaves_the_tree_as_it_was(root: Path) -> None:
    before = picture(root)
    for at in range(operations(root)):
        try:
            write_plan(root, CHANGES, disk=FullDisk(at))
        except DiskError as error:
            assert "free some space" in str(error)
            assert picture(root) == before
            assert leftovers(root) == []
        else:
            assert picture(root) == expected(before)
            assert leftovers(root) == []
        reset(root)


def test_an_interrupt_from_the_keyboard_leaves_all_or_nothing(root: Path) -> None:
    before = picture(root)
    disk = CountingDisk()
    write_plan(root, CHANGES, disk=disk)
    commit = next(n for n, (name, _) in enumerate(disk.log) if name == "rename")
    reset(root)
    for at in range(disk.count):
        with pytest.raises(KeyboardInterrupt):
            write_plan(root, CHANGES, disk=FailingDisk(at, KeyboardInterrupt()))
        if at <= commit:
            assert picture(root) == before
            assert leftovers(root) == []
        interrupted = {k: v for k, v in picture(root).items() if ".portkit-" not in k}
        assert interrupted in (before, expected(before)), f"interrupted at {at}"
        recover_run(root)
        assert leftovers(root) == []
        assert picture(root) in (before, expected(before))
        reset(root)


@pytest.mark.parametrize("make_disk", [CountingDisk, LinklessDisk])
def test_what_a_step_relies_on_is_durable_before_it(
    root: Path, make_disk: Callable[[], CountingDisk]
) -> None:
    disk = make_disk()
    write_plan(root, CHANGES, disk=disk)
    renames = [n for n, (name, _) in enumerate(disk.log) if name == "rename"]
    commit, done = renames[0], renames[-1]
    assert disk.log[commit][1][1].name == "committed.json"
    assert disk.log[done][1][1].name == "staging.json"

    def synced(place: Path, start: int, end: int) -> bool:
        return ("sync", (place,)) in disk.log[start:end]

    first = next(n for n, (_, paths) in enumerate(disk.log) if paths[-1].suffix == ".new")
    record = disk.log[commit][1][0]
    for place in (record, record.parent, record.parent.parent):
        assert synced(place, 0, first)
    for n, (name, paths) in enumerate(disk.log[:commit]):
        if name == "write":
            assert synced(paths[0], n, commit)
        if name in ("write", "link"):
            assert synced(paths[-1].parent, n, commit)
    assert synced(record.parent, commit, renames[1])
    for n, (name, paths) in enumerate(disk.log[:done]):
        if n > commit and name in ("rename", "make_folder"):
            assert synced(paths[-1].parent, n, done)
    # Nothing in the tree changes before the commit, but for files staged there.
    touched = [paths[-1] for name, paths in disk.log[:commit] if name != "sync"]
    own = [place for place in touched if place.parts[: len(root.parts)] == root.parts]
    assert all(".git" in place.parts or place.name.startswith(".portkit-") for place in own)


def test_a_process_killed_at_random_moments(tmp_path: Path) -> None:
    """Real SIGKILL, at moments that no seam knows of."""
    tried = killed(tmp_path / "base", 20)
    assert tried.lost == []
    assert tried.counts["kills"] == 20


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.skipif(shutil.which("mount") is None, reason="mount is missing")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(mount)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        root = make_tree(mount / "tree")
        before = picture(root)
        changes = [*CHANGES, Change("src/big.rs", None, b"x" * 300_000)]
        with pytest.raises(DiskError, match="No space left on device"):
            write_plan(root, changes)
        assert picture(root) == before
        assert leftovers(root) == []
        write_plan(root, CHANGES)
        assert picture(root) == expected(before)
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_every_error_of_a_failing_disk_is_one_for_the_user(root: Path) -> None:
    """Also where recovery is what fails."""
    for at in range(operations(root)):
        in_child(partial(write_plan, root, CHANGES, disk=KillingDisk(at)))
        for again in range(30):
            error = OSError(errno.EROFS, "Read-only file system", "the file")
            try:
                recover_run(root, disk=FailingDisk(again, error, ever=True))
            except PortkitError as caught:
                assert "Read-only file system" in str(caught)
        recover_run(root)
        assert leftovers(root) == []
        reset(root)


class EditingDisk(CountingDisk):
    """Has somebody edit the tree just before the n-th operation."""

    def __init__(self, at: int, edit: Callable[[], object]) -> None:
        super().__init__()
        self.at, self.edit = at, edit

    def reached(self, name: str, *paths: Path) -> None:
        if self.count == self.at:
            self.edit()
        super().reached(name, *paths)


@pytest.mark.parametrize("save", [in_place, anew])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.path)
def test_an_edit_at_each_operation_is_never_lost(
    root: Path, change: Change, save: Callable[[Path], None]
) -> None:
    """Wherever it comes, it stands in the tree afterwards, or is kept at the place that is named.

    Until now it was overwritten where it came between the last look at a file and its renaming.
    """
    kept_apart = 0
    for at in range(operations(root)):
        said = ""
        try:
            write_plan(root, CHANGES, disk=EditingDisk(at, partial(save, root / change.path)))
        except PortkitError as error:
            said = str(error)
        standing = (root / change.path).read_bytes() if (root / change.path).exists() else b""
        if standing != EDIT:
            kept = [p for p in map(Path, leftovers(root)) if p.is_file()]
            assert any(place.read_bytes() == EDIT and str(place) in said for place in kept), at
            kept_apart += 1
        elif said:
            assert change.path in said, at
        reset(root)
    # To write to the old file after it has changed places is the one way into the journal.
    assert (kept_apart > 0) <= (save is in_place)


@pytest.mark.real
def test_a_thousand_edits_while_writing(tmp_path: Path) -> None:
    """At any moment, from another process; the aim is none lost of 1,000."""
    base = tmp_path / "base"
    base.mkdir()
    tried = edited(base, 1000)
    assert tried.lost == []
    assert tried.counts["edits"] == 1000
    assert min(tried.counts[f"{how}, the edit stands"] for how in ("refused", "written")) > 50
