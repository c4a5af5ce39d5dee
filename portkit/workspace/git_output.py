"""Reading the output of git, with one error for a git that fails."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from portkit.errors import ToolError
from portkit.workspace.git_runner import run_git

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def read_git(
    folder: Path,
    *arguments: str,
    index: Path | None = None,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
) -> bytes:
    """Return what git prints; ``run_git`` explains the arguments.

    Raises:
        ToolError: git is missing, or its exit code is not one of ``accept``.
    """
    done = run_git(folder, *arguments, index=index, given=given, variables=variables)
    if done.returncode not in accept:
        name = arguments[2 if arguments[0] == "-c" else 0]
        lines = done.stderr.decode(errors="backslashreplace").strip().splitlines()
        raise ToolError(
            f"`git {name}` failed in {folder} ({(lines or ['no message'])[0]}): mend the"
            " repository and run portkit again"
        )
    return done.stdout


def read_git_line(
    folder: Path,
    *arguments: str,
    index: Path | None = None,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
) -> str:
    """Return what git prints, without the white space around it."""
    printed = read_git(
        folder, *arguments, index=index, given=given, variables=variables, accept=accept
    )
    return printed.decode(errors="surrogateescape").strip()  # a file's name need not be Unicode


def find_commit(folder: Path, revision: str) -> str:
    """Return the hash of the commit that a revision names, or an empty string."""
    options = ("--verify", "--quiet", "--end-of-options")
    commit = f"{revision}^{{commit}}"
    return read_git_line(folder, "rev-parse", *options, commit, accept=(0, 1, 128))


def write_blobs(
    folder: Path,
    contents: Sequence[bytes],
    scratch: Path,
    variables: Mapping[str, str] | None = None,
) -> list[str]:
    """Write objects that hold some bytes as they are; return their hashes.

    Args:
        folder: a folder of the repository.
        contents: what each holds.
        scratch: an existing folder, in which files are left.
        variables: more variables of git's environment.
    """
    for number, content in enumerate(contents):
        (scratch / f"{number}.blob").write_bytes(content)
    names = "".join(f"{scratch}/{number}.blob\n" for number in range(len(contents)))
    options = ("hash-object", "-w", "--no-filters", "--stdin-paths")
    given = os.fsencode(names)
    return read_git(folder, *options, given=given, variables=variables).decode().split()
