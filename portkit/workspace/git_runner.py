"""Running git on a repository that is not trusted: nothing that the repository names is run.

git starts programs that a repository's own configuration names, while it looks at the work tree,
shows a log or merges. So git is shown the repository with the settings that ``git_settings`` allows
and without its hooks. What the user and the system have configured counts, so that the filters of
git-lfs go on working; their hooks are not run either.
"""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from portkit.errors import DiskError, HistoryError, ToolError
from portkit.workspace.git_repository import Repository, find_repository
from portkit.workspace.git_settings import (
    Setting,
    find_repository_filters,
    read_settings,
    switch_off_hooks,
    write_settings,
)
from portkit.workspace.programs import find_program

_OFF: Final = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "protocol.allow": "never",
    "gc.auto": "0",  # as maintenance.auto: collecting would go on behind portkit's back
    "maintenance.auto": "false",
    "log.showSignature": "false",  # runs gpg.program
    "submodule.recurse": "false",  # would follow the configuration of another repository
}
"""Settings of the user's and of the system's that do not count either."""
_HIDDEN: Final = frozenset({"config", "config.worktree", "hooks"})
"""Files of a git directory that git is not shown."""
_LIST: Final = ("config", "--list", "--show-scope", "-z")

_MAY_BEGIN: Final = "packed-refs"  # A file that git may write into a git directory that has none.
_FULL: Final = tuple(
    os.strerror(number).encode()
    for number in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
)
"""What git says, in the words of the system, where a disk is full."""
_PATIENCE: Final = 120.0  # How long git may take, in seconds: a large tree takes a few.


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

    Raises:
        ToolError: git is missing or takes too long; a failing one is for the caller to judge.
        DiskError: the disk is full.
    """
    environment = {**_make_environment(), **(variables or {})}
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    if arguments[0] == "init":  # what is begun has no settings yet
        return _run(directory, _add_settings(environment, _OFF), arguments, given)
    repository = find_repository(directory.resolve())
    settings = _list_settings(directory, repository)
    off = {**_OFF, **switch_off_hooks([each for each in settings if not each.own])}
    with _show_repository(repository, settings) as places:
        # The caller may name another place for new objects.
        whole = {**environment, **places, **(variables or {})}
        return _run(directory, _add_settings(whole, off), arguments, given)


def query_config(directory: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run ``git config`` on all that a repository is configured with; that runs no program."""
    environment = _make_environment() | _name(find_repository(directory.resolve()))
    return _run(directory, environment, ("config", *arguments))


def find_silenced_filters(directory: Path) -> frozenset[str]:
    """Return the names of the filters that only the repository names, so that they do nothing."""
    return find_repository_filters(_list_settings(directory, find_repository(directory.resolve())))


def _list_settings(directory: Path, repository: Repository | None) -> list[Setting]:
    """Return all settings that git finds for a folder; to read them runs no program."""
    return read_settings(_run(directory, _make_environment() | _name(repository), _LIST).stdout)


def _make_environment() -> dict[str, str]:
    """Return the variables for git, without those that turn it to another repository."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    # Where the user has moved the configuration, it stays there.
    environment |= {k: v for k, v in os.environ.items() if k.startswith("GIT_CONFIG_")}
    return environment | {
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _name(repository: Repository | None) -> dict[str, str]:
    """Return the variables that name a repository, so that git does not look for one itself.

    It would take a folder of the tree for one that holds what a bare repository does.
    """
    if repository is None:
        return {"GIT_DIR": os.devnull}
    return {"GIT_DIR": str(repository.git_dir), "GIT_WORK_TREE": str(repository.top)}


@contextmanager
def _show_repository(
    repository: Repository | None, settings: Sequence[Setting]
) -> Iterator[Mapping[str, str]]:
    """Show git the repository with only the allowed settings, and without hooks.

    It is the folder that ``GIT_COMMON_DIR`` names (git(1)): links to all that is in the
    repository's own, and another configuration.

    Yields:
        The variables that lead git there.
    """
    if repository is None:
        yield _name(None)
        return
    common = repository.common.resolve()
    with tempfile.TemporaryDirectory(prefix="portkit-git-", ignore_cleanup_errors=True) as scratch:
        try:
            for entry in {common / _MAY_BEGIN, *common.iterdir()}:
                if entry.name not in _HIDDEN:
                    Path(scratch, entry.name).symlink_to(entry)
            Path(scratch, "config").write_bytes(write_settings(settings))
        except OSError as error:
            raise DiskError(
                f"{error.filename} cannot be read or written ({error.strerror}): mend that and run"
                " portkit again; nothing was changed"
            ) from error
        yield {
            **_name(repository),
            "GIT_COMMON_DIR": scratch,
            "GIT_OBJECT_DIRECTORY": str(common / "objects"),
        }


def _add_settings(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
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


_IDENTITY: Final = tuple(
    f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")
)
"""The variables that say who commits, which count as git's configuration does (git(1))."""


def read_identity(directory: Path) -> dict[str, str]:
    """Return the variables under which git commits in the user's name, and makes up none."""
    variables = {key: os.environ[key] for key in _IDENTITY if key in os.environ}
    read_committer(directory, variables)
    return variables


def read_committer(directory: Path, variables: Mapping[str, str]) -> str:
    """Return the committer, as ``git var GIT_COMMITTER_IDENT`` prints it."""
    arguments = ("-c", "user.useConfigOnly=true", "var")
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        done = run_git(directory, *arguments, who, variables=variables)
        if done.returncode != 0:
            raise HistoryError(
                f"git knows no name and e-mail to commit with in {directory}: set them with `git"
                " config user.name` and `git config user.email`; nothing was changed"
            )
    return done.stdout.decode(errors="replace")
