"""Trees that mean harm: programs that say that they were run, named wherever a tree may."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def trap(place: Path, sprung: Path) -> Path:
    """Return a program that says that it was run, and passes its input on."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\necho run >> '{sprung}'\nexec cat\n")
    place.chmod(0o755)
    return place


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgSign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def with_traps(repository: Path, sprung: Path) -> None:
    """Have the repository's own configuration name a trap wherever git would run something."""
    program = trap(repository.parent / "trap", sprung)
    (repository / ".gitattributes").write_text("*.rs filter=caught\n*.txt filter=a.b=c\n")
    (repository / "b.txt").write_text("text\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "two")
    for key in ("core.fsmonitor", "filter.caught.clean", "filter.caught.smudge"):
        git(repository, "config", key, str(program))
    git(repository, "config", "filter.a.b=c.process", str(program))
    git(repository, "config", "filter.caught.required", "true")
    git(repository, "config", "core.hooksPath", str(program.parent))
    trap(program.parent / "post-index-change", sprung)
    # A file that looks changed is read through its filter.
    os.utime(repository / "a.rs", (1, 1))
    os.utime(repository / "b.txt", (1, 1))
