"""Archives of published crates, downloaded by cargo.

``cargo info NAME@VERSION`` (cargo 1.82 and newer) downloads the archive of this one crate into
the cache of the registry, with the user's own mirrors, proxies and credentials, and none of its
dependencies. The extracted sources beside the archives are not used: an editor may have changed
them, while an archive is what cargo checked against the registry's checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import FetchError, ToolError
from portkit.fetch.programs import run_tool

if TYPE_CHECKING:
    import subprocess


# How cargo's cache of the index names the folder of a crate with at least four letters (The Cargo
# Book, "Index Format").
_INDEX: Final = "registry/index/*/.cache/{0[0]}{0[1]}/{0[2]}{0[3]}/{0}"

# How an entry of that cache begins (cargo's src/cargo/sources/registry/index/cache.rs): the version
# of its form, and in four bytes that of the index; zero bytes end all that follows.
_FORM: Final = 3


def query_versions(name: str) -> tuple[str, ...]:
    """Return the versions of a crate that the registry has and has not withdrawn, unordered.

    ``cargo info`` brings its cache of the index up to date; the versions are read from there, since
    no command of cargo's lists them.
    """
    run = _run_cargo_info(name)
    if run.returncode != 0:
        raise FetchError(
            f"cargo could not ask the registry for {name} ({_read_reason(run.stderr)}): check the"
            " network, or pass --offline for what was fetched before"
        )
    found = read_indexed_versions(name)
    if not found:
        raise FetchError(
            f"{_find_cargo_home()} holds no index with {name}: remove it and try again"
        )
    return found


def read_indexed_versions(name: str) -> tuple[str, ...]:
    """Return what ``published`` would, as cargo last saw it; nobody is asked."""
    found: set[str] = set()
    for entry in sorted(_find_cargo_home().glob(_INDEX.format(name))):
        found |= _parse_versions(entry)
    return tuple(sorted(found))


def _parse_versions(entry: Path) -> set[str]:
    """Return the versions in an entry of cargo's cache of the index."""
    data = entry.read_bytes()
    if data[:1] != bytes([_FORM]):
        raise FetchError(
            f"{entry} is of a form that portkit does not know (cargo has changed it): update"
            " portkit"
        )
    lines = (part for part in data[5:].split(b"\0") if part.startswith(b"{"))
    versions = (json.loads(line) for line in lines)
    return {version["vers"] for version in versions if not version["yanked"]}


def download_archive(name: str, version: str, sha256: str | None = None) -> Path | None:
    """Return the archive of one crate, or None when the registry has no such version.

    ``sha256``: the hash that the archive must have, in hexadecimal, where it is known.
    """
    run = _run_cargo_info(f"{name}@{version}")
    if run.returncode == 0:
        archive = find_downloaded(name, version, sha256)
        if archive is None:
            wanted = f" with the SHA-256 {sha256} that it had before" if sha256 else ""
            raise FetchError(
                f"{_find_cargo_home()} holds no {name}-{version}.crate{wanted}: delete what it"
                " holds"
                " under that name and fetch again"
            )
        return archive
    if "could not find" in run.stderr:
        return None
    raise FetchError(
        f"cargo could not download {name} {version} ({_read_reason(run.stderr)}): check the"
        " network, or"
        " pass --offline if this version was fetched before"
    )


def _run_cargo_info(spec: str) -> subprocess.CompletedProcess[str]:
    """Run ``cargo info``."""
    environment = os.environ | {
        "CARGO_HOME": str(_find_cargo_home()),
        # Offline, cargo says of a crate that it has not seen that there is none.
        "CARGO_NET_OFFLINE": "false",
        "CARGO_TERM_COLOR": "never",
    }
    # In a folder of its own, since cargo would prefer a workspace's crate to the registry's.
    with tempfile.TemporaryDirectory(prefix="portkit-") as empty:
        run = run_tool("cargo", "info", spec, folder=Path(empty), environment=environment)
    if "no such command" in run.stderr:
        raise ToolError("this cargo has no `cargo info`: install cargo 1.82 or newer")
    return run


def find_downloaded(name: str, version: str, sha256: str | None = None) -> Path | None:
    """Return the archive of a crate in cargo's cache, of whichever registry, or None.

    ``sha256``: the archive's hash in hexadecimal, where it is known; others are passed over.
    """
    archives: dict[str, Path] = {}
    for path in sorted(_find_cargo_home().glob(f"registry/cache/*/{name}-{version}.crate")):
        archives.setdefault(compute_sha256(path), path)
    if sha256 is not None:
        return archives.get(sha256)
    if len(archives) > 1:
        places = " and ".join(map(str, archives.values()))
        raise FetchError(f"{places} differ: delete the one that is not of the Rust registry")
    return next(iter(archives.values()), None)


def is_downloaded(name: str, version: str) -> bool:
    """Whether cargo's cache has an archive of this name, be it as it was or not."""
    return any(_find_cargo_home().glob(f"registry/cache/*/{name}-{version}.crate"))


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _find_cargo_home() -> Path:
    """Return cargo's home as cargo itself finds it."""
    home = os.environ.get("CARGO_HOME")
    return Path(home).absolute() if home else Path.home() / ".cargo"


def _read_reason(stderr: str) -> str:
    """Return what cargo says went wrong, with the last cause that it gives, on one line."""
    lines = [line.strip().removeprefix("error: ") for line in stderr.splitlines()]
    lines = [line for line in lines if line not in ("", "Caused by:")] or ["no message"]
    return ": ".join(dict.fromkeys((lines[0], lines[-1])))
