"""What is written, what is refused, and what stays as it was."""

from __future__ import annotations

import os
import stat
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import BEFORE, CHANGES, expected, git, in_child, leftovers, make_tree, picture

from portkit.errors import DiskError, OutsideTreeError, PlanError, PortkitError, TreeChangedError
from portkit.transaction import transaction as apply
from portkit.transaction.transaction import Change, Recovery, recover_run, write_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if hasattr(os, "umask"):
        os.umask(0o022)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


def refused(
    root: Path, changes: Sequence[Change], error: type[PortkitError], *words: str
) -> PortkitError:
    """Expect an error that says the words in one sentence, and an untouched tree."""
    before = picture(root)
    with pytest.raises(error) as caught:
        write_plan(root, changes)
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert picture(root) == before
    assert leftovers(root) == []
    return caught.value


def test_a_plan_without_changes_touches_nothing(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree", git=False)
    write_plan(root, [])
    write_plan(root, [Change("Cargo.toml", b"x", b"x")])
    assert not (tmp_path / "state").exists()
    assert recover_run(root) is None
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("with_git", [True, False])
def test_a_plan_is_written_whole(tmp_path: Path, with_git: bool) -> None:
    root = make_tree(tmp_path / "tree", git=with_git)
    before = picture(root)
    write_plan(root, CHANGES)
    assert picture(root) == expected(before)
    assert leftovers(root) == []
    assert (tmp_path / "state").exists() != with_git


def test_a_relative_root_and_one_behind_a_link(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root.parent)
    write_plan(Path("tree"), [Change("a", None, b"a")])
    (root.parent / "link").symlink_to(root)
    write_plan(root.parent / "link", [Change("b", None, b"b")])
    assert (root / "a").read_bytes() == b"a"
    assert (root / "b").read_bytes() == b"b"


def test_bytes_are_written_as_they_are(root: Path) -> None:
    content = bytes(range(256)) + b"\r\nno end"
    write_plan(root, [Change("Cargo.toml", b"untouched\r\n", content)])
    assert (root / "Cargo.toml").read_bytes() == content


def test_a_tree_on_another_file_system_than_the_journal(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        root = make_tree(Path(folder) / "tree", git=False)
        before = picture(root)
        write_plan(root, CHANGES)
        assert picture(root) == expected(before)
    assert not [place for place in tmp_path.glob("state/portkit/*") if place.suffix != ".lock"]


def test_staging_beside_the_target_in_a_hidden_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "_is_same_file_system", lambda one, other: False)
    (root / ".github").mkdir()
    before = picture(root)
    write_plan(root, [Change(".github/x.yml", None, b"x"), Change(".hidden", None, b"y")])
    after = {".github/x.yml": (0o644, b"x"), ".hidden": (0o644, b"y")}
    assert picture(root) == before | after


def test_the_owner_stays(root: Path) -> None:
    if not IS_ROOT:
        pytest.skip("only root may give files away")
    place = root / "src/lib.rs"
    os.chown(place, 1234, 2345)
    place.chmod(0o4755)
    write_plan(root, CHANGES)
    status = place.stat()
    assert (status.st_uid, status.st_gid) == (1234, 2345)
    assert stat.S_IMODE(status.st_mode) == 0o4755


def test_a_hard_link_elsewhere_keeps_the_old_content(root: Path) -> None:
    other = root.parent / "other"
    other.hardlink_to(root / "src/lib.rs")
    write_plan(root, CHANGES)
    assert other.read_bytes() == BEFORE["src/lib.rs"]


def test_the_git_index_and_head_are_left_alone(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree", git=False)
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "start")
    write_plan(root, CHANGES)
    assert git(root, "status", "--porcelain", "--untracked-files=all").splitlines() == [
        " M run.sh",
        " M src/lib.rs",
        "?? src/new.rs",
        "?? src/rocm/deep/er/x.rs",
        "?? src/rocm/mod.rs",
    ]
    assert git(root, "fsck", "--strict") == ""


# --- the tree is not as the plan saw it --------------------------------------------------------


def test_a_file_that_changed(root: Path) -> None:
    (root / "run.sh").write_bytes(b"old ruN\n")
    refused(root, CHANGES, TreeChangedError, "run.sh changed", "run portkit again")


def test_a_file_that_vanished(root: Path) -> None:
    (root / "run.sh").unlink()
    refused(root, CHANGES, TreeChangedError, "run.sh vanished")


def test_a_folder_that_vanished(root: Path) -> None:
    (root / "src/lib.rs").unlink()
    (root / "src").rmdir()
    refused(root, CHANGES, TreeChangedError, "src/lib.rs vanished")


def test_a_file_that_appeared(root: Path) -> None:
    (root / "src/new.rs").write_bytes(b"new\n")
    refused(root, CHANGES, TreeChangedError, "src/new.rs stands where")


def test_a_folder_where_a_file_was_to_be(root: Path) -> None:
    (root / "src/new.rs").mkdir()
    refused(root, CHANGES, TreeChangedError, "src/new.rs stands where")


def test_a_file_where_a_folder_was_to_be(root: Path) -> None:
    (root / "src/rocm").write_bytes(b"")
    refused(root, CHANGES, TreeChangedError, "src/rocm", "not a folder")


def test_a_pipe_is_not_opened(root: Path) -> None:
    (root / "run.sh").unlink()
    os.mkfifo(root / "run.sh")
    refused(root, CHANGES, TreeChangedError, "run.sh stands where")


def test_a_name_that_is_too_long(root: Path) -> None:
    refused(
        root,
        [*CHANGES, Change("src/" + "x" * 300, None, b"")],
        TreeChangedError,
        "cannot be examined (File name too long)",
    )


def test_a_root_that_is_missing(root: Path) -> None:
    with pytest.raises(TreeChangedError, match="not a folder"):
        write_plan(root / "no", [Change("a/b", None, b"")])
    assert not (root / "no").exists()


# --- what nobody may write ---------------------------------------------------------------------


def test_a_read_only_file_also_for_root(root: Path) -> None:
    (root / "run.sh").chmod(0o555)
    refused(root, CHANGES, TreeChangedError, "run.sh is read-only", "make it writable")


def test_a_read_only_folder_also_for_root(root: Path) -> None:
    (root / "src").chmod(0o555)
    refused(root, CHANGES, TreeChangedError, "src is read-only", "make it writable")
    (root / "src").chmod(0o755)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may look into, unlike pytest's own, for tests as another user."""
    if not IS_ROOT:
        pytest.skip("only root may give files away and become another user")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def as_nobody(root: Path, *words: str) -> None:
    """Write the plan as a user who owns nothing; expect an error of the words, nothing changed."""

    def attempt() -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        with pytest.raises(PortkitError) as caught:
            write_plan(root, CHANGES)
        for word in words:
            assert word in str(caught.value)

    before = picture(root)
    assert in_child(attempt) == 0
    assert picture(root) == before
    assert leftovers(root) == []


def give(*places: Path) -> None:
    for place in places:
        os.chown(place, 65534, 65534)


def test_a_folder_of_somebody_else(public: Path) -> None:
    root = make_tree(public / "tree")
    give(root / ".git")
    as_nobody(root, "src is read-only")


def test_a_file_of_somebody_else(public: Path) -> None:
    root = make_tree(public / "tree")
    give(root, root / ".git", root / "src")
    as_nobody(root, "src/lib.rs is read-only")


def test_a_file_that_may_not_be_read(public: Path) -> None:
    root = make_tree(public / "tree")
    (root / "src/lib.rs").chmod(0o602)
    give(root, root / ".git", root / "src")
    as_nobody(root, "src/lib.rs cannot be examined (Permission denied)")


def test_a_read_only_git_directory(public: Path) -> None:
    root = make_tree(public / "tree")
    give(root, root / "src", root / "src/lib.rs", root / "run.sh")
    as_nobody(root, f"{root / '.git/portkit'} (Permission denied)", "nothing was changed")


def test_a_read_only_state_folder(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(public))
    root = make_tree(public / "tree", git=False)
    give(root, root / "src", root / "src/lib.rs", root / "run.sh")
    as_nobody(root, f"{public / 'portkit'} (Permission denied)", "nothing was changed")


def test_a_file_of_a_user_is_not_lost_when_links_to_it_are_forbidden(public: Path) -> None:
    """A file that one may write but does not own: the kernel may forbid to link it."""
    root = make_tree(public / "tree")
    before = picture(root)
    (root / "src/lib.rs").chmod(0o666)
    give(root, root / ".git", root / "src", root / "run.sh")

    def attempt() -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        write_plan(root, CHANGES)

    assert in_child(attempt) == 0
    after = expected(before)
    after["src/lib.rs"] = (0o666, after["src/lib.rs"][1])
    assert picture(root) == after
    assert leftovers(root) == []


def test_no_place_for_a_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_STATE_HOME", "relative/paths/are/ignored")
    monkeypatch.setattr(Path, "home", homeless)
    root = make_tree(tmp_path / "tree", git=False)
    refused(root, CHANGES, DiskError, "no place for the journal", "XDG_STATE_HOME")
    assert recover_run(root) is None


# --- paths -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("../out", "'..' part"),
        ("src/../../out", "'..' part"),
        ("src/./x", "'.' or"),
        ("", "empty"),
        ("src//x", "empty"),
        ("src/", "empty"),
        ("/etc/x", "absolute"),
        ("C:/x", "colon"),
        ("c:x", "colon"),
        ("src/lib.rs:stream", "colon"),
        ("src\\x", "backslash"),
        ("..\\out", "backslash"),
        ("src/\0x", "control character"),
        ("src/x\ny", "control character"),
        ("src/\udcff", "not Unicode"),
        (".git/hooks/pre-commit", "git directory"),
        ("sub/.git/config", "git directory"),
        (".GIT/config", "git directory"),
        (".git", "git directory"),
        (".git./config", "git directory"),
        (".git /config", "git directory"),
        ("git~1/config", "git directory"),
        (".g\u200cit/config", "git directory"),
        ("src/aux.rs", "reserves"),
        ("NUL", "reserves"),
        ("com1/x.rs", "reserves"),
        ("src/lpt9.tar.gz", "reserves"),
    ],
)
def test_a_path_that_leads_out(root: Path, path: str, word: str) -> None:
    error = refused(root, [*CHANGES, Change(path, None, b"x")], OutsideTreeError, word)
    assert str(error).isprintable()
    # An edit of what stands there is no better, but for a name that is only Windows' business.
    if word != "reserves":
        refused(root, [*CHANGES, Change(path, b"", b"x")], OutsideTreeError, word)


@pytest.mark.parametrize(
    "path", ["..rs", "a..b", ".gitignore", ".github/x.yml", "auxiliary.rs", "com10", "é/ü.rs", "~x"]
)
def test_a_path_that_only_looks_odd(root: Path, path: str) -> None:
    write_plan(root, [Change(path, None, b"x")])
    assert (root / path).read_bytes() == b"x"


def test_a_file_named_as_a_device_may_be_edited(root: Path) -> None:
    (root / "src/aux.rs").write_bytes(b"old")
    write_plan(root, [Change("src/aux.rs", b"old", b"new")])
    assert (root / "src/aux.rs").read_bytes() == b"new"


@pytest.mark.parametrize("where", ["inside", "outside", "dangling"])
@pytest.mark.parametrize("before", [None, b"old lib\n"])
def test_a_link_to_a_file(root: Path, where: str, before: bytes | None) -> None:
    outside = root.parent / "outside.rs"
    outside.write_bytes(b"old lib\n")
    target = {"inside": root / "src/lib.rs", "outside": outside, "dangling": Path("nowhere")}[where]
    (root / "src/link.rs").symlink_to(target)
    change = Change("src/link.rs", before, b"x")
    refused(root, [*CHANGES, change], OutsideTreeError, "symbolic link src/link.rs")
    assert (root / "src/link.rs").is_symlink()
    assert outside.read_bytes() == b"old lib\n"


@pytest.mark.parametrize("path", ["link/new.rs", "link/deep/new.rs", "link/old.rs"])
def test_a_link_to_a_folder(root: Path, path: str) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "old.rs").write_bytes(b"")
    (root / "link").symlink_to(outside)
    change = Change(path, b"" if path.endswith("old.rs") else None, b"x")
    refused(root, [*CHANGES, change], OutsideTreeError, path, "symbolic link link")
    assert [place.name for place in outside.iterdir()] == ["old.rs"]


def test_a_loop_of_links(root: Path) -> None:
    (root / "link").symlink_to("link")
    refused(root, [Change("link/a", None, b"")], OutsideTreeError, "symbolic link")


def test_a_path_twice(root: Path) -> None:
    refused(root, [*CHANGES, CHANGES[0]], PlanError, "src/lib.rs twice")


def test_a_path_that_is_file_and_folder(root: Path) -> None:
    changes = [Change("a/b/c", None, b""), Change("a/b", None, b"x")]
    refused(root, changes, PlanError, "a/b both")


def test_what_recovery_says() -> None:
    assert str(Recovery(True, ("a",))).endswith("was finished now: it wrote 1 file")
    assert "taken back: 2 files are as before" in str(Recovery(False, ("a", "b")))


def test_two_runs_at_once(root: Path) -> None:
    """Of processes that write the same plan at the same time, one does it, the others say why."""
    before = picture(root)

    def attempt() -> None:
        try:
            write_plan(root, CHANGES)
        except TreeChangedError:
            os._exit(14)
        except PortkitError as error:
            os._exit(error.exit_code)

    for _ in range(20):
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                attempt()
                os._exit(0)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert codes.count(0) == 1
        assert set(codes) <= {0, 14, 22}
        assert picture(root) == expected(before)
        for path, content in BEFORE.items():
            (root / path).write_bytes(content)
        for change in CHANGES[2:]:
            (root / change.path).unlink()
        assert recover_run(root) is None


def test_importing_needs_nothing_of_unix() -> None:
    """Windows has no fcntl; the modules ask for it only when they lock."""
    import sys

    def attempt() -> None:
        for name in [name for name in sys.modules if name.startswith("portkit")]:
            del sys.modules[name]
        sys.modules["fcntl"] = None  # type: ignore[assignment]
        import portkit.transaction.transaction as anew

        assert anew.Change is not Change

    assert in_child(partial(attempt)) == 0
