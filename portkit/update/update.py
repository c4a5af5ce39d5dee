"""The branch of generated ports, and its merge into the user's branch.

Everything is made before anything is moved: commits and files that are not reachable are harmless,
and git collects them. Then the branch of pure ports is moved, and the user's by a fast-forward,
which git refuses rather than overwrite a file; what was moved before is moved back then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit import __version__
from portkit.engine.session import VENDOR, scan_tree
from portkit.errors import HistoryError, VerificationError
from portkit.port.new_files import find_port_mark
from portkit.profiles import accepted_findings
from portkit.profiles.settings import NAME, is_decision_change
from portkit.profiles.tested_versions import warn_if_untested
from portkit.syntax.value import Value
from portkit.update.conflicts import explain_conflicts, merge_commits
from portkit.update.generated_port import PortRequest, generate_port
from portkit.update.repository import advance_branches
from portkit.verify.baseline import find_default_revision
from portkit.workspace.generated_ports import (
    GeneratedPort,
    find_last_generated_port,
    format_trailers,
    read_generated_port,
)

if TYPE_CHECKING:
    from portkit.codebases.directory import Directory
    from portkit.update.conflicts import Conflict
    from portkit.update.generated_port import GeneratedTree
    from portkit.update.repository import GitRepository, MovableBranch

BRANCH: Final = f"portkit/{VENDOR}"
"""The branch of pure ports."""

_FETCHED: Final = b"\nauthor portkit <portkit@localhost> "
"""What says of a commit without parents that ``portkit fetch`` has made it."""


class UpdateRequest(Value, frozen=True):
    """The options of an update.

    Attributes:
        to: the commit of upstream to follow to; empty to begin the branch alone.
        of: the commit of upstream that the port is of, where the history does not tell.
        pure: the commit whose files are the pure port, where it is not to be made again.
        unrelated: whether the new commit of upstream need not descend from the one before.
        gating: ``dummy`` or ``cfg``; empty for what ``portkit.toml`` says, or the port before.
        profile: the codebase's directory, where it is named.
    """

    to: str = ""
    of: str = ""
    pure: str = ""
    unrelated: bool = False
    check: bool = False
    gating: str = ""
    profile: Directory | None = None


class UpdateOutcome(Value, frozen=True):
    """The result of an update; with ``check``, the result that it would have.

    Attributes:
        title: what is ported: a codebase and its version.
        begun: whether the branch of pure ports was begun.
        edited: the files of the port that the user's branch has changed, where it was begun.
        merged: the hash that the user's branch has now; empty where it was not moved.
        unproven: where nobody has tried a port of the version, a sentence that says so.
        gating: what the pure port has without the feature, ``dummy`` or ``cfg``.
    """

    title: str
    port: str
    is_new: bool
    begun: bool = False
    edited: tuple[str, ...] = ()
    merged: str = ""
    conflicts: tuple[Conflict, ...] = ()
    unproven: str = ""
    gating: str = ""


class _Start(Value, frozen=True):
    """Where an update begins.

    Attributes:
        current: the commit to merge into; the user's, or one that joins the pure port to it.
        edited: see ``Outcome``.
        begun: whether the pure port is new to the repository.
    """

    port: GeneratedPort
    current: str
    edited: tuple[str, ...] = ()
    begun: bool = False


def begin_branch(ready: MovableBranch, asked: UpdateRequest) -> UpdateOutcome:
    """Begin the branch of generated ports, and join it to the user's branch."""
    standing = _find_last_port(ready)
    if standing is not None:
        raise HistoryError(
            f"the port of {ready.root} has a branch of pure ports already ({standing.commit[:12]}"
            f" is its last): `portkit update` follows upstream from there; to begin again, delete"
            f" {ready.vendor} with `git branch --delete --force`, and pass --of"
        )
    with generate_port(
        ready.git, _find_first_upstream(ready, asked), _build_request(ready, asked)
    ) as port:
        start = _begin_port(ready, asked, port)
        return _finish_update(ready, asked, start, start.port.commit, port)


def follow_upstream(ready: MovableBranch, asked: UpdateRequest) -> UpdateOutcome:
    """Commit the port of a newer commit of upstream, and merge it into the user's branch."""
    git = ready.git
    new = git.named(asked.to, "--to")
    standing = _find_last_port(ready)
    if standing is None:
        first = _find_first_upstream(ready, asked, new)
        _check_descent(ready, asked, first, new)
        with generate_port(git, first, _build_request(ready, asked)) as port:
            start = _begin_port(ready, asked, port)
    else:
        start = _resume_branch(ready, asked, standing)
        _check_descent(ready, asked, start.port.upstream, new)
    last = start.port
    with generate_port(git, new, _build_request(ready, asked, last)) as port:
        is_new = (new, port.tree) != (last.upstream, last.tree)
        commit = _commit_port(ready, port, port.tree, [last.commit, new]) if is_new else last.commit
        return _finish_update(ready, asked, start, commit, port)


def find_upstream_commit(ready: MovableBranch, asked: UpdateRequest) -> tuple[str, str]:
    """Return upstream's commit that the user's port was made from, and its gating if known."""
    standing = find_last_generated_port(ready.git.top, ready.head)
    return (
        (standing.upstream, standing.gating)
        if standing
        else (_find_first_upstream(ready, asked), "")
    )


def _build_request(
    ready: MovableBranch, asked: UpdateRequest, last: GeneratedPort | None = None
) -> PortRequest:
    since, gating = (last.upstream, last.gating) if last is not None else ("", "")
    return PortRequest(ready.head, since, asked.gating, gating, asked.profile)


def _finish_update(
    ready: MovableBranch, asked: UpdateRequest, start: _Start, theirs: str, port: GeneratedTree
) -> UpdateOutcome:
    git = ready.git
    into = start.current
    found: tuple[Conflict, ...] = ()
    if git.is_ancestor(start.current, theirs):
        into = theirs
    elif not git.is_ancestor(theirs, start.current):
        merged = merge_commits(git, start.current, theirs)
        if merged.stages or merged.said:
            found = explain_conflicts(git, merged, port.scan)
        else:
            message = f"Merge branch '{ready.vendor}' into {ready.branch}\n\n{port.title}.\n"
            into = git.commit(merged.tree, [start.current, theirs], message)
    if not asked.check:
        advance_branches(ready, theirs, into)
    return UpdateOutcome(
        title=port.title,
        port=theirs,
        is_new=start.begun or theirs != start.port.commit,
        begun=start.begun,
        edited=start.edited,
        merged="" if found or into == ready.head else into,
        conflicts=found,
        unproven=warn_if_untested(port.scan.job.codebase, port.scan.job.workspace.version),
        gating=port.scan.job.gating.value,
    )


def _find_last_port(ready: MovableBranch) -> GeneratedPort | None:
    """Return the last generated port, by its branch, or else by the user's history."""
    if not ready.tip:
        return find_last_generated_port(ready.git.top, ready.head)
    port = read_generated_port(ready.git.top, ready.tip)
    if port is None:
        raise HistoryError(
            f"the last commit of {ready.vendor}, {ready.tip[:12]}, is no pure port of portkit's:"
            " move what was committed there to your branch, and set the branch back with `git"
            f" branch --force {ready.vendor} COMMIT`; nothing was changed"
        )
    return port


def _resume_branch(ready: MovableBranch, asked: UpdateRequest, standing: GeneratedPort) -> _Start:
    git = ready.git
    if asked.of:
        raise HistoryError(
            f"{ready.vendor} says what the port is of, {standing.upstream[:12]}: leave out --of"
        )
    held = any(
        read_generated_port(git.top, base) for base in git.bases(ready.head, standing.commit)
    )
    if held and asked.pure:
        raise HistoryError(f"the history says which pure port {ready.branch} has: leave out --pure")
    if held:
        return _Start(standing, ready.head)
    known = read_generated_port(git.top, git.named(asked.pure, "--pure")) if asked.pure else None
    if known is None:
        raise HistoryError(
            f"{ready.branch} has none of the commits of {ready.vendor}, as when it was rewritten or"
            " its merges were squashed: name the one that it was made on with --pure (`git log"
            f" --first-parent {ready.vendor}` lists them); nothing was changed"
        )
    current, edited = _join_histories(ready, known)
    return _Start(standing, current, edited)


def _find_first_upstream(ready: MovableBranch, asked: UpdateRequest, new: str = "") -> str:
    git = ready.git
    if asked.of:
        named = git.named(asked.of, "--of")
        # A tree that was imported has no history in common, and may be a port of anything.
        if git.is_ancestor(named, ready.head) or not git.bases(named, ready.head):
            return named
        raise HistoryError(
            f"{asked.of} is not in the history of {ready.branch}, which can be no port of it: name"
            " the commit of upstream that it was made from with --of; nothing was changed"
        )
    bases = git.bases(ready.head, new) if new else []
    if len(bases) == 1:
        return bases[0]
    if bases:
        raise HistoryError(
            f"the history of {ready.branch} has {len(bases)} last commits of upstream's"
            f" ({', '.join(base[:12] for base in bases)}): name the one that the port is of with"
            " --of; nothing was changed"
        )
    found = find_port_mark(scan_tree(ready.root, gating=asked.gating, profile=asked.profile).job)
    if found is None:
        raise HistoryError(
            f"the port of {ready.root} has nothing by which the commit before it could be found:"
            " name that commit with --of; nothing was changed"
        )
    try:
        return _find_upstream_below(ready, find_default_revision(ready.root, found))
    except VerificationError:
        raise HistoryError(
            f"the first commit of {ready.branch} holds the port already, so the history does not"
            " tell what it is of: fetch that commit of upstream's and name it with --of; nothing"
            " was changed"
        ) from None


def _find_upstream_below(ready: MovableBranch, commit: str) -> str:
    """Return the commit below those in which the user speaks to portkit, and nothing else."""
    git = ready.git
    while len(parents := git.parents(commit)) == 1:
        changed = git.paths("diff-tree", "-r", "-z", "--name-only", parents[0], commit)
        for path in changed:
            before, after = git.blob(parents[0], path), git.blob(commit, path)
            below = path.removeprefix(git.below) if path.startswith(git.below) else ""
            if after is None or not is_decision_change(below, before or b"", after):
                return commit
        commit = parents[0]
    return commit


def _check_descent(ready: MovableBranch, asked: UpdateRequest, old: str, new: str) -> None:
    """Refuse a commit of upstream that would drop changes of the old one.

    Versions that ``portkit fetch`` has made have no common history, and hold no more than
    upstream's files.
    """
    git = ready.git
    if asked.unrelated or git.is_ancestor(old, new) or all(_is_fetched(git, c) for c in (old, new)):
        return
    raise HistoryError(
        f"{asked.to} does not descend from {old[:12]}, which the port is of, so what only that"
        " commit has would be taken away: where upstream's history was rewritten, or each version"
        " is an import, pass --allow-unrelated; where your own work is in it, name upstream's"
        " commit below it with --of; nothing was changed"
    )


def _is_fetched(git: GitRepository, commit: str) -> bool:
    said = git.run("cat-file", "commit", commit)
    return b"\nparent " not in said.partition(b"\n\n")[0] and _FETCHED in said


def _begin_port(ready: MovableBranch, asked: UpdateRequest, port: GeneratedTree) -> _Start:
    """Commit the first generated port, and join it to the user's branch if that is ported."""
    git = ready.git
    tree = git.tree_of(git.named(asked.pure, "--pure")) if asked.pure else port.tree
    commit = _commit_port(ready, port, tree, [port.upstream])
    known = GeneratedPort(commit, tree, port.upstream, port.scan.job.gating)
    options = ("-r", "-z", "--name-only", "--diff-filter=A")
    added = git.paths("diff-tree", *options, port.upstream, tree)
    listing = ("ls-tree", "-r", "-z", "--name-only", "--full-tree")
    if set(added).isdisjoint(git.paths(*listing, ready.head)):
        return _Start(known, ready.head, begun=True)
    current, edited = _join_histories(ready, known)
    return _Start(known, current, edited, begun=True)


def _join_histories(ready: MovableBranch, port: GeneratedPort) -> tuple[str, tuple[str, ...]]:
    """Return a commit of the user's files that descends from a port, and the differing paths."""
    git = ready.git
    message = (
        f"Join {ready.vendor} to {ready.branch}\n\nThe files are those of {ready.branch}. What"
        " differs from the pure port\nis a change of our own, and is kept as one.\n"
    )
    mine = git.tree_of(ready.head)
    commit = git.commit(mine, [ready.head, port.commit], message)
    differing = git.paths("diff-tree", "-r", "-z", "--name-only", port.tree, mine)
    # What a user says to portkit is no change of the port.
    own = {f"{git.below}{name}" for name in (NAME, accepted_findings.NAME)}
    return commit, tuple(path for path in differing if path not in own)


def _commit_port(ready: MovableBranch, port: GeneratedTree, tree: str, parents: list[str]) -> str:
    said = ready.git.line("log", "--max-count=1", "--format=%s", port.upstream)
    message = (
        f"{port.title} for {VENDOR}, as portkit writes it\n\nUpstream: {port.upstream[:12]} {said}"
        f"\n\n{format_trailers(port.upstream, __version__, port.scan.job.gating)}"
    )
    return ready.git.commit(tree, parents, message, pure=True)
