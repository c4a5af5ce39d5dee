"""A registry on the disk and a cargo that downloads from it, for the tests of ``portkit fetch``.

The crates are those of ``fixtures/fetch/workspace``, with the normalized manifests that cargo
wrote for them (``fixtures/fetch/published``; ``test_fetch_real.py`` has cargo write them again).
What the stand-in prints is what cargo 1.95 prints.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

FIXTURES = Path(__file__).parent / "fixtures" / "fetch"
CRATES = ("candle-core", "candle-examples", "candle-kernels", "candle-nn", "candle-onnx")
VERSION = "0.11.1"
UPSTREAM_COMMIT = "59f8e903ca80a32ea7f8514b39748fc979e69e82"

# Files that git or an editor would change in our own repository.
AWKWARD = {
    "candle-core/README.md": b"# Fixture\r\n\r\nThe line ends are the author's.\r\n",
    "candle-core/.gitattributes": b"* text=auto eol=lf\n*.rs ident\n",
    "candle-core/.gitignore": b"*.generated\n",
    "candle-core/src/table.generated": b"ignored, and published all the same\n",
    "candle-core/src/ident.rs": b"// $Id$\r\n",
}
SCRIPT = "candle-core/stub.sh"

_CARGO = """#!/bin/sh
echo "$*" >> {log}
archive={crates}/$(echo "$2" | tr @ -).crate
if [ ! -f "$archive" ] || [ "$CARGO_NET_OFFLINE" = true ]; then
    echo "error: could not find \\`$2\\` in registry \\`https://example.org/index\\`" >&2
    exit 101
fi
mkdir -p "$CARGO_HOME/registry/cache/example.org-1949cf8c"
cp -n "$archive" "$CARGO_HOME/registry/cache/example.org-1949cf8c/"
"""


class Registry:
    """The stand-in, with homes of its own for cargo and for portkit's cache."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.crates = folder / "crates"
        self.programs = folder / "bin"
        self.cargo_home = folder / "cargo-home"
        self.cache = folder / "cache" / "portkit"
        self._log = folder / "cargo.log"
        self.crates.mkdir(parents=True)
        self.programs.mkdir()
        monkeypatch.setenv("PATH", f"{self.programs}:/usr/bin:/bin")
        monkeypatch.setenv("CARGO_HOME", str(self.cargo_home))
        monkeypatch.setenv("XDG_CACHE_HOME", str(self.cache.parent))
        self.program("git", f'exec {shutil.which("git")} "$@"')
        self.program("cargo", _CARGO.format(log=self._log, crates=self.crates))

    def program(self, name: str, script: str) -> None:
        """Put a shell script on PATH, in place of what had its name."""
        place = self.programs / name
        place.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)

    def archive(self, name: str, index: str = "*") -> Path:
        """Return the place of an archive in cargo's cache, of any registry where it is there."""
        pattern = f"registry/cache/{index}/{name}-{VERSION}.crate"
        return next(self.cargo_home.glob(pattern), self.cargo_home / pattern)

    def asked(self) -> list[str]:
        """Return what cargo was asked since the last call."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return lines

    def publish(
        self, upstream: Path, names: tuple[str, ...] = CRATES, folder: str | None = None
    ) -> None:
        """Publish crates of an upstream workspace, from the folders of their names or another."""
        for name in names:
            files = {
                path.relative_to(upstream / name).as_posix(): path
                for path in sorted((upstream / name).rglob("*"))
                if path.is_file()
            }
            members = [
                member(f"{name}-{VERSION}/{at}", path.read_bytes(), path.stat().st_mode & 0o777)
                for at, path in files.items()
                if at != "Cargo.toml"
            ]
            added = {
                "Cargo.toml.orig": files["Cargo.toml"].read_bytes(),
                "Cargo.toml": (FIXTURES / "published" / f"{name}.toml").read_bytes(),
                "Cargo.lock": b"version = 4\n",
                ".cargo_vcs_info.json": vcs_info(folder or name),
            }
            members += [member(f"{name}-{VERSION}/{at}", data) for at, data in added.items()]
            write_archive(self.crates / f"{name}-{VERSION}.crate", members)


def upstream_workspace(folder: Path) -> Path:
    """Make the workspace that the crates were published from, as upstream would have it."""
    shutil.copytree(FIXTURES / "workspace", folder)
    for at, data in AWKWARD.items():
        (folder / at).write_bytes(data)
    (folder / SCRIPT).write_text("#!/bin/sh\n")
    (folder / SCRIPT).chmod(0o755)
    return folder


def files(root: Path) -> dict[str, tuple[bytes, bool]]:
    """Return each file of a tree, its bytes and whether it may be executed, without git's."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), os.access(path, os.X_OK))
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def vcs_info(folder: str) -> bytes:
    """Return what cargo notes of the repository that a crate comes from."""
    return json.dumps({"git": {"sha1": UPSTREAM_COMMIT}, "path_in_vcs": folder}).encode()


def member(
    name: str, data: bytes = b"", mode: int = 0o644, kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    """Return a member of an archive."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.type, info.linkname = len(data), mode, kind, link
    return info, data


def write_archive(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    """Write an archive as it stands in a registry."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return path
