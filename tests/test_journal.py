"""Where the journal lies, who may use it, and what a damaged one does: nothing."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from apply_support import (
    CHANGES,
    CountingDisk,
    KillingDisk,
    expected,
    git,
    in_child,
    make_tree,
    picture,
)

from portkit.errors import (
    BusyTreeError,
    DiskError,
    OutsideTreeError,
    PortkitError,
    TreeChangedError,
)
from portkit.transaction.disk import Disk
from portkit.transaction.journal import find_journals
from portkit.transaction.transaction import Change, recover_run, write_plan


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    os.umask(0o022)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


def kill_between_renames(root: Path, changes: list[Change] = CHANGES) -> Path:
    """Kill a run when it has written one file; return the journal's folder."""
    disk = CountingDisk()
    scratch = make_tree(root.parent / "scratch", git=(root / ".git").exists())
    write_plan(scratch, changes, disk=disk)
    exchanges = [n for n, (name, _) in enumerate(disk.log) if name == "exchange"]
    assert in_child(partial(write_plan, root, changes, disk=KillingDisk(exchanges[1]))) != 0
    return next(j.folder for j in find_journals(root, Disk()) if j.exists())


def test_in_the_git_directory(root: Path) -> None:
    assert kill_between_renames(root).parent == root / ".git/portkit"


def test_in_the_state_folder(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree", git=False)
    assert kill_between_renames(root).parent == tmp_path / "state/portkit"


def test_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = make_tree(tmp_path / "tree", git=False)
    assert kill_between_renames(root).parent == tmp_path / "home/.local/state/portkit"


def test_in_the_git_directory_of_a_linked_work_tree(tmp_path: Path) -> None:
    main = make_tree(tmp_path / "main", git=False)
    git(main, "init", "--quiet")
    git(main, "add", ".")
    git(main, "commit", "--quiet", "--message", "start")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    root = tmp_path / "linked"
    (root / "run.sh").chmod(0o750)  # git knows no other permission than this one's last bit
    told = git(root, "rev-parse", "--absolute-git-dir").strip()
    assert find_journals(root, Disk())[0].folder.parent == Path(told) / "portkit"
    before = picture(root)
    write_plan(root, CHANGES)
    assert picture(root) == expected(before)


def test_workspaces_of_one_repository_have_journals_of_their_own(root: Path) -> None:
    one, other = make_tree(root / "one", git=False), make_tree(root / "other", git=False)
    places = {find_journals(place, Disk())[0].folder for place in (root, one, other)}
    assert len(places) == 3
    assert {place.parent for place in places} == {root / ".git/portkit"}


def test_a_killed_run_is_found_after_the_repository_was_moved(root: Path) -> None:
    before = picture(root)
    kill_between_renames(root)
    moved = root.rename(root.parent / "moved")
    recovery = recover_run(moved)
    assert recovery is not None and recovery.finished
    assert picture(moved) == expected(before)


def test_a_killed_run_is_found_after_git_init(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree", git=False)
    before = picture(root)
    kill_between_renames(root)
    git(root, "init", "--quiet")
    recovery = recover_run(root)
    assert recovery is not None and recovery.finished
    assert picture(root) == expected(before)


def test_writing_ends_a_killed_run_first(root: Path) -> None:
    before = picture(root)
    kill_between_renames(root)
    write_plan(root, [Change("src/new.rs", b"new\n", b"newer\n")])
    after = expected(before)
    after["src/new.rs"] = (0o644, b"newer\n")
    assert picture(root) == after


def test_a_busy_tree(root: Path) -> None:
    before = picture(root)
    with find_journals(root, Disk())[0].locked():
        with pytest.raises(BusyTreeError, match="another portkit is writing") as error:
            write_plan(root, CHANGES)
        assert error.value.exit_code == 22
        assert recover_run(root) is None  # nothing is there, so nothing is asked for
        folder = find_journals(root, Disk())[0].folder
        folder.mkdir()
        with pytest.raises(BusyTreeError):
            recover_run(root)
        folder.rmdir()
    assert picture(root) == before
    write_plan(root, CHANGES)


def test_a_lock_dies_with_its_process(root: Path) -> None:
    def hold() -> None:
        with find_journals(root, Disk())[0].locked():
            os._exit(5)

    assert in_child(hold) == 5
    write_plan(root, CHANGES)


def untouched(root: Path, folder: Path, *words: str) -> None:
    """Expect that recovery and writing refuse, saying the words, and touch nothing."""
    tree = picture(root)
    journal = picture(folder) if folder.is_dir() else None
    for action in (partial(recover_run, root), partial(write_plan, root, CHANGES)):
        with pytest.raises(DiskError) as error:
            action()
        for word in (str(folder), "nothing was changed", *words):
            assert word in str(error.value)
        assert "\n" not in str(error.value)
    assert picture(root) == tree
    assert journal == (picture(folder) if folder.is_dir() else None)


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\0" * 100,
        b"{",
        b"[]",
        b"null\n",
        b'"x"\n',
        b"{}\n",
        b'{"format": 1}\n',
        b"[" * 100_000,
        b'{"format": 1, "root": "", "run": "ab", "folders": 1, "entries": []}\n',
        b'{"format": 1, "root": "", "run": "../x", "folders": [], "entries": []}\n',
        b'{"format": 1, "root": "", "run": "ab", "folders": [], "entries": [{"path": 1}]}\n',
        b"\xff\xfe\n",
    ],
)
def test_a_damaged_record_of_a_committed_run(root: Path, garbage: bytes) -> None:
    folder = kill_between_renames(root)
    (folder / "committed.json").write_bytes(garbage)
    untouched(root, folder, "damaged committed.json", "delete that folder")


def test_a_truncated_record_of_a_committed_run(root: Path) -> None:
    folder = kill_between_renames(root)
    record = (folder / "committed.json").read_bytes()
    # All but the last byte, which is a line end and carries nothing.
    for size in range(0, len(record) - 1, 7):
        (folder / "committed.json").write_bytes(record[:size])
        untouched(root, folder, "damaged committed.json")


def test_a_record_of_another_format(root: Path) -> None:
    folder = kill_between_renames(root)
    place = folder / "committed.json"
    place.write_bytes(place.read_bytes().replace(b'"format": 1', b'"format": 2'))
    untouched(root, folder, "format is 2, not 1")
    place.rename(folder / "staging.json")
    untouched(root, folder, "format is 2, not 1")


def test_two_records(root: Path) -> None:
    folder = kill_between_renames(root)
    (folder / "staging.json").write_bytes((folder / "committed.json").read_bytes())
    untouched(root, folder, "holds both")


def test_a_file_in_the_journals_place(root: Path) -> None:
    folder = find_journals(root, Disk())[0].folder
    folder.parent.mkdir()
    folder.write_bytes(b"")
    untouched(root, folder, "is not a folder")


def test_a_link_in_the_journals_place(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_bytes(b"")
    folder = find_journals(root, Disk())[0].folder
    folder.parent.mkdir()
    folder.symlink_to(elsewhere)
    untouched(root, folder, "is not a folder")
    folder.unlink()
    folder.parent.rename(tmp_path / "moved")
    folder.parent.symlink_to(elsewhere)
    with pytest.raises(DiskError, match="symbolic link"):
        write_plan(root, CHANGES)
    assert [place.name for place in elsewhere.iterdir()] == ["precious"]


def test_a_link_in_the_locks_place(root: Path, tmp_path: Path) -> None:
    folder = find_journals(root, Disk())[0].folder
    folder.parent.mkdir()
    folder.with_suffix(".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError, match="symbolic link"):
        write_plan(root, CHANGES)
    assert not (tmp_path / "elsewhere").exists()


def test_a_staged_file_never_replaces_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        with pytest.raises(FileExistsError):
            Disk().write(tmp_path / name, b"2")
    assert (tmp_path / "file").read_bytes() == b"1"
    assert not (tmp_path / "nowhere").exists()


def tampered(folder: Path, **values: Any) -> None:
    """Change the record's first entry, or the record."""
    place = folder / "committed.json"
    record = json.loads(place.read_bytes())
    for key, value in values.items():
        (record if key in record else record["entries"][0])[key] = value
    place.write_text(json.dumps(record) + "\n")


@pytest.mark.parametrize(
    "values",
    [
        {"path": "../out"},
        {"path": "/tmp/out"},
        {"path": ".git/hooks/pre-commit"},
        {"folders": ["../out"]},
        {"stage": ".."},
        {"stage": "/tmp"},
        {"stage": "elsewhere"},
        {"after": "../../x"},
        {"run": "a/../../x"},
        {"run": 5},
        {"unknown": 5},
    ],
)
def test_a_forged_record_leads_nowhere(root: Path, values: dict[str, Any]) -> None:
    folder = kill_between_renames(root)
    tampered(folder, **values)
    untouched(root, folder, "damaged committed.json")


def test_a_folder_that_became_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    """Recovery asks anew: here for a file that is not written yet."""
    disk = CountingDisk()
    write_plan(make_tree(tmp_path / "scratch"), CHANGES, disk=disk)
    first = next(n for n, (name, _) in enumerate(disk.log) if name == "exchange")
    in_child(partial(write_plan, root, CHANGES, disk=KillingDisk(first)))
    outside = tmp_path / "outside"
    (root / "src").rename(outside)
    (root / "src").symlink_to(outside)
    inside = picture(outside)
    with pytest.raises(PortkitError, match=r"src/lib\.rs, .*changed while"):
        recover_run(root)
    assert not inside.keys() - picture(outside).keys() - {"rocm", "rocm/deep", "rocm/deep/er"}
    assert (outside / "lib.rs").read_bytes() == b"old lib\n"
    assert not (outside / "new.rs").exists()
    with pytest.raises(OutsideTreeError):
        write_plan(root, CHANGES)


@pytest.mark.parametrize("number", range(5))
def test_a_staged_file_that_was_disturbed(root: Path, number: int) -> None:
    """Damaged content is never written: the run is taken back, and what lay there is kept."""
    before = picture(root)
    disk = CountingDisk()
    write_plan(make_tree(root.parent / "scratch"), CHANGES, disk=disk)
    first = next(n for n, (name, _) in enumerate(disk.log) if name == "exchange")
    in_child(partial(write_plan, root, CHANGES, disk=KillingDisk(first)))
    folder = find_journals(root, Disk())[0].folder
    (folder / f"{number}.new").write_bytes(b"disturbed")
    with pytest.raises(TreeChangedError, match="is kept in"):
        recover_run(root)
    assert picture(root) == before
    (kept,) = folder.with_name(f"{folder.name}-kept").iterdir()
    assert kept.read_bytes() == b"disturbed"
    assert recover_run(root) is None


def test_a_kept_file_that_was_disturbed(root: Path) -> None:
    """What cannot be taken back is named, and nothing is touched."""
    folder = kill_between_renames(root)
    assert (root / "src/lib.rs").read_bytes() == b"new lib\n" * 3
    (folder / "0.old").write_bytes(b"disturbed")
    (folder / "1.new").write_bytes(b"disturbed")
    now = picture(root)
    with pytest.raises(PortkitError, match=r"src/lib\.rs changed .* bring the file back with git"):
        recover_run(root)
    assert picture(root) == now
