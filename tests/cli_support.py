"""What the tests of the commands share: a small candle to work on, and a way to run portkit.

The places of the small candle, counted by hand (``fixtures/cli/workspace``):

- ``Cargo.toml``: the list of members, since the port adds a crate (PK203);
- ``candle-core/Cargo.toml``: the feature (PK201);
- ``lib.rs``: the variant (PK505), ``is_cuda`` (PK503), the arm of ``Device::name`` (PK301);
- ``matmul.rs``: a condition on the device that no profile decides about (PK401, review).

With them come the files that a port adds to any tree (PK103).
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from apply_support import git
from typer.testing import CliRunner

from portkit.cli import load_program

PROGRAM = (sys.executable, "-m", "portkit")

WORKSPACE = Path(__file__).parent / "fixtures" / "cli" / "workspace"
EDITED = ("PK201", "PK203", "PK301", "PK401", "PK503", "PK505")
LIB = "candle-core/src/lib.rs"
MATMUL = "candle-core/src/matmul.rs"


@dataclass(frozen=True)
class Done:
    """A run of portkit."""

    code: int
    out: str
    err: str


def invoke(*arguments: object) -> Done:
    """Run portkit in this process."""
    words = [str(argument) for argument in arguments]
    done = CliRunner().invoke(load_program(*words[:1]), words)
    return Done(done.exit_code, done.stdout, done.stderr)


def environment() -> dict[str, str]:
    """Return the variables for a process of its own, also where portkit is not installed."""
    return os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}


def make_candle(root: Path, *, version: str = "0.11.1", repository: bool = True) -> Path:
    """Make a copy of the small candle, committed to a git repository of its own."""
    shutil.copytree(WORKSPACE, root)
    manifest = root / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("0.11.1", version))
    if repository:
        commit(root)
    return root


def commit(root: Path) -> None:
    """Commit all that is in a folder."""
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "all")


def add_file(root: Path, path: str, content: bytes) -> Path:
    """Write a file into a tree."""
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place
