"""The few operations that change the disk, so that a test can fail or kill a run at each of them.

Each is atomic but for ``write``, which may leave part of a file, or has no effect that outlives a
crash until ``sync``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path
from typing import Final

# <fcntl.h> and <linux/fs.h>
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2


class Disk:
    """The file system. Every method raises OSError as the operating system does."""

    def make_folder(self, path: Path) -> None:
        """Make one folder; one that exists is left alone."""
        path.mkdir(exist_ok=True)

    def write(self, path: Path, data: bytes, like: os.stat_result | None = None) -> None:
        """Write a new file, which must not exist.

        Args:
            path: the file.
            data: its content.
            like: the file that it will replace: permissions and, where allowed, the owner are
                taken from it. Extended attributes and access-control lists are not.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, flags, 0o666), "wb") as file:  # noqa: PTH123 (a descriptor)
            file.write(data)
        if like is None:
            return
        owner = path.stat()
        if hasattr(os, "chown") and (owner.st_uid, owner.st_gid) != (like.st_uid, like.st_gid):
            # Only root may give files away; the content matters more than the owner.
            with contextlib.suppress(PermissionError):
                os.chown(path, like.st_uid, like.st_gid)
        path.chmod(stat.S_IMODE(like.st_mode))

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name."""
        target.hardlink_to(source)

    def rename(self, source: Path, target: Path) -> None:
        """Move a file over another, atomically."""
        source.replace(target)

    def exchange(self, one: Path, other: Path) -> None:
        """Exchange two files, atomically.

        Source: rename(2), ``renameat2`` with ``RENAME_EXCHANGE``, which Linux and some of its file
        systems have. Elsewhere this raises with ``ENOSYS`` or ``EINVAL`` and changes nothing.
        """
        import ctypes

        system = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
        renameat2 = getattr(system, "renameat2", None)
        if renameat2 is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(one), None, str(other))
        names = os.fsencode(one), os.fsencode(other)
        if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(one), None, str(other))

    def remove(self, path: Path) -> None:
        """Remove a file; a missing one is left alone."""
        path.unlink(missing_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        path.rmdir()

    def sync(self, path: Path) -> None:
        """Make a file's content, or the names in a folder, survive a crash of the machine.

        Windows cannot do it for folders; there it is left to the file system's own journal.
        """
        if os.name == "nt" and path.is_dir():
            return
        descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
