"""Digest the inputs of a step: trees with the same digest give the same results."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from portkit.errors import ToolError
from portkit.workspace.cargo_workspace import SKIPPED_DIRECTORIES
from portkit.workspace.git_runner import run_git

LOCK: Final = "Cargo.lock"

# Where cargo and rustup look for settings, from the working directory upwards
# (The Cargo Book, "Hierarchical structure"; the rustup book, "The toolchain file").
_SETTINGS: Final = (".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")


def digest_texts(parts: Iterable[str | bytes]) -> str:
    """Return 32 hexadecimal digits that identify a sequence of texts."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()[:32]


def digest_files(root: Path, without: Path | None = None) -> str:
    """Return the digest of the files of a tree and of the settings that cargo finds around it.

    In a git work tree these are the files that git tracks or would add; what is ignored, such as
    build products, has no part in it, and ``Cargo.lock`` has none either (``digest_lock``): cargo
    writes it. Symbolic links count by what they say.
    """
    other = without and without.resolve()
    paths = (path for path in _list_files(root) if root / path != other)
    return digest_texts(part for path in paths for part in (path, _digest_entry(root / path)))


def digest_lock(root: Path) -> bytes:
    """Return the digest of the lock file of a tree; nothing where there is none."""
    return _digest_entry(root / LOCK)


def digest_code() -> str:
    """Return the digest of portkit's own files: another portkit may find something else."""
    root = Path(__file__).parents[1]
    paths = sorted(
        path
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    )
    return digest_texts(
        part for path in paths for part in (path.relative_to(root).as_posix(), path.read_bytes())
    )


def _list_files(root: Path) -> list[str]:
    found = _list_git_files(root)
    if found is None:
        found = set(_walk_files(root))
    around = [folder / name for folder in (root, *root.parents) for name in _SETTINGS]
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    around += [home / "config.toml", home / "config"]
    settings = {os.path.relpath(path, root) for path in around if path.is_file()}
    return sorted((found | settings) - {LOCK})


def _list_git_files(root: Path) -> set[str] | None:
    try:
        done = run_git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except ToolError:
        return None
    # A file's name need not be Unicode.
    names = done.stdout.decode(errors="surrogateescape").split("\0")
    return set(filter(None, names)) if done.returncode == 0 else None


def _walk_files(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in SKIPPED_DIRECTORIES]
        for name in names:
            yield (Path(folder) / name).relative_to(root).as_posix()


def _digest_entry(path: Path) -> bytes:
    """Return a file's digest or a link's target, and nothing for anything else."""
    try:
        if path.is_symlink():
            return os.fsencode(path.readlink())
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b""
