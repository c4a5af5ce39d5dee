"""Reading and writing regular files in folders that are not trusted.

A tree may hold a pipe, which never ends, a device, or a link to somewhere else under any name that
portkit reads or writes.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

_READ: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW: Final = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
)


def is_present(path: Path) -> bool:
    """Whether there is anything under a name, a link that leads nowhere included.

    ``os.path.lexists`` takes a disk that fails for a name that is free.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def read_regular(path: Path | str, limit: int, *, follow: bool = True) -> bytes:
    """Return the content of a regular file."""
    flags = _READ if follow else _READ | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        pieces, left = [], limit + 1
        # The system makes room for as much as is asked for, which takes longer than to read it.
        room = status.st_size + 1
        while left > 0 and (piece := os.read(descriptor, min(left, room))):
            pieces.append(piece)
            left -= len(piece)
    finally:
        os.close(descriptor)
    if left == 0:
        size = f"{limit >> 20} MiB" if limit >> 20 else f"{limit >> 10} KiB"
        raise OSError(errno.EFBIG, f"it is larger than {size}", str(path))
    return b"".join(pieces)


def read_if_present(path: Path, limit: int) -> bytes | None:
    """Return the content of a regular file, or None if it is missing."""
    if not is_present(path):
        return None
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link, and links are not followed", str(path))
    return read_regular(path, limit, follow=False)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole: a killed run leaves the old one, and no link is followed."""
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    descriptor = os.open(part, _NEW, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
