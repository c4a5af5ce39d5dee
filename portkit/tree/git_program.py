"""Running git on a repository that is not trusted: nothing that the repository names is run.

A repository's own configuration may name programs: ``core.fsmonitor``, ``core.hooksPath`` and
``gpg.program`` (git-config(1)), the filters and merge drivers of gitattributes(5), the transports
of git-remote-ext(1). git starts them while it looks at the work tree, shows a log or merges. Here
the repository's word on them does not count; what the user and the system have configured does, so
that the filters of git-lfs go on working.
"""

from __future__ import annotations

import errno
import os
import subprocess
from typing import TYPE_CHECKING, Final

from portkit.errors import DiskError, ToolError
from portkit.tree.tools import find_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_OFF: Final = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "protocol.allow": "never",
    "gc.auto": "0",  # as maintenance.auto: collecting would go on behind portkit's back
    "maintenance.auto": "false",
    "log.showSignature": "false",  # runs gpg.program
    "submodule.recurse": "false",  # would follow the configuration of another repository
}
"""Settings that keep git from running something, whoever has set them."""

_MERGE: Final = "git merge-file --marker-size=%L %A %O %B"
"""What stands for a merge driver that only the repository names: git's own merge of text."""

_OWN_SCOPES: Final = frozenset({"local", "worktree"})
"""What ``git config --show-scope`` calls the configuration that comes with a repository."""

_FULL: Final = tuple(
    os.strerror(number).encode()
    for number in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
)
"""What git says, in the words of the system, where a disk is full."""

_PATIENCE: Final = 120.0
"""How long git may take, in seconds: a large tree takes a few."""


def run_git(
    directory: Path,
    *arguments: str,
    index: Path | None = None,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a directory, to its end, without letting it run a program or fetch anything.

    The variables that turn git to another repository are not passed on. A command that only looks
    writes nothing, not even to refresh the index.

    Args:
        directory: where it runs.
        arguments: the subcommand and its arguments.
        index: an index file of our own, in place of the repository's.
        given: its standard input.
        variables: more variables of its environment.

    Raises:
        ToolError: git is missing or takes too long; a failing one is for the caller to judge.
        DiskError: the disk is full.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    # Where the user has moved the configuration, it stays there.
    environment |= {k: v for k, v in os.environ.items() if k.startswith("GIT_CONFIG_")}
    environment |= {
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    environment |= variables or {}
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    environment |= variables or {}
    environment = _with_settings(environment, _OFF)
    programs = dict(_programs(directory, environment))
    return _run(directory, _with_settings(environment, programs), arguments, given)


def _programs(directory: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what to set for each program that the repository's own configuration speaks of.

    The value is the user's or the system's where there is one; else a filter does nothing, and a
    merge driver is git's own.
    """
    own, others = _configured(directory, environment)
    programs = (
        key
        for key in own
        if key.startswith("filter.") or (key.startswith("merge.") and key.endswith(".driver"))
    )
    for key in sorted(programs):
        merge = _MERGE if key.startswith("merge.") else ""
        yield key, others.get(key, "false" if key.endswith(".required") else merge)


def silenced_filters(directory: Path) -> frozenset[str]:
    """Return the names of the filters that do nothing here, since only the repository names them.

    Raises:
        ToolError: git is missing or takes too long.
    """
    own, others = _configured(directory, os.environ)
    keys = (key for key in own - others.keys() if key.startswith("filter."))
    return frozenset(key.removeprefix("filter.").rpartition(".")[0] for key in keys)


def _configured(directory: Path, environment: Mapping[str, str]) -> tuple[set[str], dict[str, str]]:
    """Return the keys that the repository's own configuration sets, and what is set elsewhere."""
    listed = _run(directory, environment, ("config", "--list", "--show-scope", "-z"))
    own: set[str] = set()
    others: dict[str, str] = {}
    fields = listed.stdout.decode(errors="surrogateescape").split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if scope in _OWN_SCOPES:
            own.add(key)
        else:
            others[key] = value
    return own, others


def _with_settings(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git has more settings, which count more than any file.

    ``GIT_CONFIG_COUNT`` (git(1)) takes any key, where ``-c`` stops at the first ``=``.
    """
    made = dict(environment)
    given = made.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0
    for number, (key, value) in enumerate(settings.items(), count):
        made[f"GIT_CONFIG_KEY_{number}"] = key
        made[f"GIT_CONFIG_VALUE_{number}"] = value
    made["GIT_CONFIG_COUNT"] = str(count + len(settings))
    return made


def _run(
    directory: Path,
    environment: Mapping[str, str],
    arguments: tuple[str, ...],
    given: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    program = find_program("git")
    try:
        if not program:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        done = subprocess.run(
            [program, *arguments],
            cwd=directory,
            env=environment,
            input=given,
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
        )
    except OSError as error:
        raise ToolError(
            f"git, which tells what {directory} holds, cannot be run ({error.strerror}): install it"
        ) from error
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"`git {arguments[0]}` did not end in {_PATIENCE:.0f} s in {directory}: look at the"
            " repository with git"
        ) from None
    if done.returncode != 0 and (full := next(filter(done.stderr.count, _FULL), b"")):
        raise DiskError(
            f"`git {arguments[0]}` could not write in {directory} ({full.decode()}): free some"
            " space and run portkit again"
        )
    return done
