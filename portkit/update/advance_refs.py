"""Moving the two branches: the one place where an update changes the user's repository and tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.errors import HistoryError, TreeChangedError
from portkit.workspace.git import list_paths
from portkit.workspace.git_runner import find_silenced_filters, run_git

if TYPE_CHECKING:
    from portkit.update.preconditions import MovableBranch


def advance_branches(ready: MovableBranch, port: str, into: str) -> None:
    """Move the branch of pure ports, and the user's with its index and work tree."""
    _check_filters(ready, into)
    git, reference = ready.git, f"refs/heads/{ready.vendor}"
    reason = ("-m", "portkit update", "--create-reflog")
    none = "0" * len(port)
    if port != ready.tip:
        git.run("update-ref", *reason, reference, port, ready.tip or none)
    if into == ready.head:
        return
    options = ("--ff-only", "--no-stat", "--quiet", "--no-autostash", "--no-verify-signatures")
    done = run_git(
        git.top, *("merge", *options, "--no-overwrite-ignore", into), variables=git.identity()
    )
    if done.returncode == 0:
        return
    if port != ready.tip:
        back = ("-d", reference, port) if not ready.tip else (reference, ready.tip, port)
        git.run("update-ref", *back)
    said = [line.strip() for line in done.stderr.decode(errors="backslashreplace").splitlines()]
    files = [line for line in said[1:] if line and not line.endswith((":", ".", "Aborting"))]
    raise TreeChangedError(
        f"git would not move {ready.branch} ({' '.join(said[:1])} {list_paths(files)}): move"
        " away what"
        " is in the way and run portkit again; nothing was changed"
    )


def _check_filters(ready: MovableBranch, into: str) -> None:
    """Refuse to check out a file whose filter is not run, as it would not be what git expects."""
    silenced = find_silenced_filters(ready.git.top)
    if not silenced:
        return
    changed = ready.git.run("diff-tree", "-r", "-z", "--name-only", ready.head, into)
    # Path, attribute and value, each ended by NUL (git-check-attr(1)).
    said = ready.git.run("check-attr", "-z", "--stdin", "filter", given=changed).split(b"\0")
    for path, value in zip(said[::3], said[2::3], strict=False):
        if value.decode(errors="replace") in silenced:
            raise HistoryError(
                f"{path.decode(errors='backslashreplace')} would be checked out by the filter"
                f" {value.decode()}, which only the configuration of {ready.git.top} names, and"
                " portkit runs nothing that a repository names: configure it for yourself with `git"
                " config --global`; nothing was changed"
            )
