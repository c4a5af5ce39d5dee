"""What the tests of writing share: a small tree, a picture of a tree, and disks that fail."""

from __future__ import annotations

import os
import stat
import subprocess
from typing import TYPE_CHECKING, NoReturn

from portkit.transaction.disk import Disk
from portkit.transaction.transaction import Change

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Picture = dict[str, tuple[int, bytes | None]]

# A changed file, a changed program, an untouched one, two new files in new folders, one in an old.
BEFORE = {"src/lib.rs": b"old lib\n", "run.sh": b"old run\n", "Cargo.toml": b"untouched\r\n"}
CHANGES = [
    Change("src/lib.rs", BEFORE["src/lib.rs"], b"new lib\n" * 3),
    Change("run.sh", BEFORE["run.sh"], b""),
    Change("src/rocm/mod.rs", None, b"mod\n"),
    Change("src/rocm/deep/er/x.rs", None, b"x\n"),
    Change("src/new.rs", None, b"new\n"),
]
KILLED = 9


def make_tree(root: Path, *, git: bool = True) -> Path:
    """Make the tree with the contents of ``BEFORE``; the git directory is one by its looks only."""
    for path, content in BEFORE.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (root / "run.sh").chmod(0o750)
    if git:
        (root / ".git").mkdir()
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return root


def picture(root: Path) -> Picture:
    """Return permissions and content of all that is in a tree; folders have no content."""
    found: Picture = {}
    for folder, folders, files in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        for name in folders + files:
            place = os.path.join(folder, name)  # noqa: PTH118 (os.walk, since Path.walk is 3.12)
            status = os.lstat(place)
            content = None
            if stat.S_ISREG(status.st_mode):
                with open(place, "rb") as file:  # noqa: PTH123
                    content = file.read()
            key = os.path.relpath(place, root).replace(os.sep, "/")
            found[key] = (stat.S_IMODE(status.st_mode), content)
    return found


def expected(before: Picture, umask: int = 0o022) -> Picture:
    """Return the picture after ``CHANGES``, worked out by hand rather than by running them."""
    after = dict(before)
    after["src/lib.rs"] = (before["src/lib.rs"][0], b"new lib\nnew lib\nnew lib\n")
    after["run.sh"] = (0o750, b"")
    for folder in ("src/rocm", "src/rocm/deep", "src/rocm/deep/er"):
        after[folder] = (0o777 & ~umask, None)
    after["src/rocm/mod.rs"] = (0o666 & ~umask, b"mod\n")
    after["src/rocm/deep/er/x.rs"] = (0o666 & ~umask, b"x\n")
    after["src/new.rs"] = (0o666 & ~umask, b"new\n")
    return after


def leftovers(root: Path) -> list[str]:
    """Return what runs have left in the git directory and the state folder, but for locks."""
    found = [*root.glob(".git/portkit/**/*"), *root.parent.glob("state/portkit/**/*")]
    return sorted(str(place) for place in found if place.suffix != ".lock")


def git(directory: Path, *arguments: str) -> str:
    """Run git with no configuration but ours, and with nothing that goes on behind it."""
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    command = ["git", "-c", "gc.auto=0", "-c", "maintenance.auto=false", *arguments]
    return subprocess.run(
        command, cwd=directory, env=environment, check=True, capture_output=True, text=True
    ).stdout


def in_child(action: Callable[[], object]) -> int:
    """Run an action in a forked process and return its exit status; it cleans up nothing."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException:  # the exit status says it all, and pytest must not run on here
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class CountingDisk(Disk):
    """Calls ``reached`` before each operation, with its name and its paths.

    It does not really wait for the disk: a killed process loses nothing that the system has.
    """

    def __init__(self) -> None:
        self.count = 0
        self.log: list[tuple[str, tuple[Path, ...]]] = []

    def reached(self, name: str, *paths: Path) -> None:
        self.log.append((name, paths))
        self.count += 1

    def make_folder(self, path: Path) -> None:
        self.reached("make_folder", path)
        super().make_folder(path)

    def write(self, path: Path, data: bytes, like: os.stat_result | None = None) -> None:
        self.reached("write", path)
        super().write(path, data, like)

    def link(self, source: Path, target: Path) -> None:
        self.reached("link", source, target)
        super().link(source, target)

    def rename(self, source: Path, target: Path) -> None:
        self.reached("rename", source, target)
        super().rename(source, target)

    def exchange(self, one: Path, other: Path) -> None:
        self.reached("exchange", one, other)
        super().exchange(one, other)

    def remove(self, path: Path) -> None:
        self.reached("remove", path)
        super().remove(path)

    def remove_folder(self, path: Path) -> None:
        self.reached("remove_folder", path)
        super().remove_folder(path)

    def sync(self, path: Path) -> None:
        self.reached("sync", path)


class KillingDisk(CountingDisk):
    """Ends the process at the n-th operation: before it, or with half of a file written."""

    def __init__(self, at: int, *, torn: bool = False) -> None:
        super().__init__()
        self.at, self.torn = at, torn

    def reached(self, name: str, *paths: Path) -> None:
        if self.count == self.at and not (self.torn and name == "write"):
            self.die()
        super().reached(name, *paths)

    def write(self, path: Path, data: bytes, like: os.stat_result | None = None) -> None:
        if self.count == self.at and self.torn:
            super(CountingDisk, self).write(path, data[: len(data) // 2], like)
            self.die()
        super().write(path, data, like)

    def die(self) -> NoReturn:
        os._exit(KILLED)


class FailingDisk(CountingDisk):
    """Raises an error at the n-th operation, and with ``ever`` at each one after it."""

    def __init__(self, at: int, error: BaseException, *, ever: bool = False) -> None:
        super().__init__()
        self.at, self.error, self.ever = at, error, ever

    def reached(self, name: str, *paths: Path) -> None:
        super().reached(name, *paths)
        number = self.count - 1
        if number == self.at or (self.ever and number > self.at):
            raise self.error


class LinklessDisk(CountingDisk):
    """Has no hard links, and no two files change places, as on FAT or some network file systems."""

    def exchange(self, one: Path, other: Path) -> None:
        self.reached("exchange", one, other)
        raise OSError(22, "Invalid argument", str(one), None, str(other))

    def link(self, source: Path, target: Path) -> None:
        self.reached("link", source, target)
        raise OSError(1, "Operation not permitted", str(source), None, str(target))


class FullDisk(CountingDisk):
    """Has no room for new content or a new name in a folder from the n-th operation on."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def reached(self, name: str, *paths: Path) -> None:
        super().reached(name, *paths)
        if self.count > self.at and name in ("make_folder", "write", "link"):
            raise OSError(28, "No space left on device", str(paths[-1]))
        moved = name == "rename" and paths[0].parent != paths[1].parent
        if self.count > self.at and moved and not paths[1].exists():
            raise OSError(28, "No space left on device", str(paths[0]), None, str(paths[1]))
