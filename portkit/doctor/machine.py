"""The view of a machine through which everything is read: a root folder, an environment, a user.

A machine may be this one, or a folder that holds the files of one.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST: Final = 1 << 20
"""Bytes that are read of a file at most."""
_LINKS: Final = 40
"""Links on the way to a file at most, as Linux has it (path_resolution(7))."""


@dataclass(frozen=True)
class Machine:
    """A machine."""

    root: Path = Path("/")  # where its file system begins
    # the variables of the process that would use the GPU
    environment: Mapping[str, str] = field(default_factory=dict)
    user: int = 0  # the number of the user that it runs as
    groups: frozenset[int] = frozenset()  # the numbers of the groups that it has

    @classmethod
    def here(cls) -> Machine:
        """Return this machine, as this process sees it."""
        if os.name != "posix":
            return cls(environment=dict(os.environ))
        groups = frozenset((os.getegid(), *os.getgroups()))
        return cls(Path("/"), dict(os.environ), os.geteuid(), groups)

    def variable(self, name: str) -> str:
        """Return a variable of the environment; empty where it is not set."""
        return self.environment.get(name, "")

    def place(self, path: str) -> Path:
        """Return where a path of the machine, absolute, is found here, links followed."""
        return self.root / self.resolved(path).lstrip("/")

    def resolved(self, path: str) -> str:
        """Return an absolute path of the machine without links, as far as there are files."""
        pending = [part for part in reversed(path.split("/")) if part]
        done: list[str] = []
        links = 0
        while pending:
            part = pending.pop()
            if part in (".", ".."):
                del done[len(done) - (part == "..") :]
                continue
            try:
                link = self.root.joinpath(*done, part)
                target = str(link.readlink()) if links < _LINKS else ""
            except OSError:  # it is no link, or is not there
                target = ""
            if not target:
                done.append(part)
                continue
            links += 1
            if target.startswith("/"):
                done.clear()
            pending += [piece for piece in reversed(target.split("/")) if piece]
        return "/" + "/".join(done)

    def has(self, path: str) -> bool:
        """Return whether there is something at a path."""
        return self.place(path).exists()

    def text(self, path: str) -> str:
        """Return what a file says, without blanks around it; empty where it cannot be read."""
        place = self.place(path)
        try:
            if not place.is_file():  # what is no file may never end
                return ""
            with place.open("rb") as file:
                return file.read(_MOST).decode(errors="replace").strip()
        except OSError:
            return ""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted; none where it cannot be read."""
        try:
            return tuple(sorted(place.name for place in self.place(folder).iterdir()))
        except OSError:
            return ()

    def group_of(self, path: str) -> int | None:
        """Return the number of the group that a file belongs to, if it is there."""
        try:
            return self.place(path).stat().st_gid
        except OSError:
            return None

    def refusal(self, path: str) -> str:
        """Return why a device file cannot be opened to read and write; empty where it can.

        This machine is asked, since a control group or an access list may have a say too; of
        another the bits of the file are read.
        """
        place = self.place(path)
        try:
            if self.root == Path("/"):
                os.close(os.open(place, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
                return ""
            status = place.stat()
        except OSError as error:
            return error.strerror or "it cannot be opened"
        needed = 0o060 if status.st_gid in self.groups else 0o006
        needed = 0o600 if self.user == status.st_uid else needed
        opens = self.user == 0 or status.st_mode & needed == needed
        return "" if opens else os.strerror(errno.EACCES)
