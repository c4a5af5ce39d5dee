"""The branch of pure ports, and its merge into the user's branch.

Everything is made before anything is moved: commits and files that are not reachable are harmless,
and git collects them. Then the branch of pure ports is moved, and the user's by a fast-forward,
which git refuses rather than overwrite a file; what was moved before is moved back then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit import __version__
from portkit.copying.additions import mark
from portkit.errors import HistoryError, VerificationError
from portkit.lang.value import Value
from portkit.profile import looked
from portkit.profile.proven import unproven
from portkit.profile.settings import NAME, is_own_change
from portkit.scan.session import VENDOR, scan_tree
from portkit.tree.vendor_branch import PurePort, last_pure_port, pure_port, trailers
from portkit.update.explain import conflicts
from portkit.update.merge import merge
from portkit.update.move import move
from portkit.update.pure import Wanted, made
from portkit.verify.baseline import default_revision

if TYPE_CHECKING:
    from portkit.codebases.directory import Directory
    from portkit.update.explain import Conflict
    from portkit.update.pure import Made
    from portkit.update.ready import Ready
    from portkit.update.repository import Git

BRANCH: Final = f"portkit/{VENDOR}"
"""The branch of pure ports."""

_FETCHED: Final = b"\nauthor portkit <portkit@localhost> "
"""What says of a commit without parents that ``portkit fetch`` has made it."""


class Asked(Value, frozen=True):
    """What the user asks for.

    Attributes:
        to: the commit of upstream to follow to; empty to begin the branch alone.
        of: the commit of upstream that the port is of, where the history does not tell.
        pure: the commit whose files are the pure port, where it is not to be made again.
        unrelated: whether the new commit of upstream need not descend from the one before.
        check: whether nothing is to be moved.
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


class Outcome(Value, frozen=True):
    """What was done, or with ``check`` would be.

    Attributes:
        title: what is ported: a codebase and its version.
        port: the hash of the pure port.
        is_new: whether that was committed now.
        begun: whether the branch of pure ports was begun.
        edited: the files of the port that the user's branch has changed, where it was begun.
        merged: the hash that the user's branch has now; empty where it was not moved.
        conflicts: what keeps it from being merged.
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
        port: the last pure port.
        current: the commit to merge into; the user's, or one that joins the pure port to it.
        edited: see ``Outcome``.
        begun: whether the pure port is new to the repository.
    """

    port: PurePort
    current: str
    edited: tuple[str, ...] = ()
    begun: bool = False


def begin(ready: Ready, asked: Asked) -> Outcome:
    """Begin the branch of pure ports, and join it to the user's branch.

    Raises:
        HistoryError: it stands already, or the history does not tell what the port is of.
        PortkitError: upstream's commit cannot be ported, or git failed.
    """
    standing = _standing(ready)
    if standing is not None:
        raise HistoryError(
            f"the port of {ready.root} has a branch of pure ports already ({standing.commit[:12]}"
            f" is its last): `portkit update` follows upstream from there; to begin again, delete"
            f" {ready.vendor} with `git branch --delete --force`, and pass --of"
        )
    with made(ready.git, _first(ready, asked), _wanted(ready, asked)) as port:
        start = _begun(ready, asked, port)
        return _finished(ready, asked, start, start.port.commit, port)


def update(ready: Ready, asked: Asked) -> Outcome:
    """Commit the pure port of a newer commit of upstream, and merge it into the user's branch.

    Raises:
        HistoryError: the history does not tell what the port is of, or upstream was rewritten.
        PortkitError: upstream's commit cannot be ported, or git failed.
    """
    git = ready.git
    new = git.named(asked.to, "--to")
    standing = _standing(ready)
    if standing is None:
        first = _first(ready, asked, new)
        _check_descent(ready, asked, first, new)
        with made(git, first, _wanted(ready, asked)) as port:
            start = _begun(ready, asked, port)
    else:
        start = _gone_on(ready, asked, standing)
        _check_descent(ready, asked, start.port.upstream, new)
    last = start.port
    with made(git, new, _wanted(ready, asked, last)) as port:
        is_new = (new, port.tree) != (last.upstream, last.tree)
        commit = _committed(ready, port, port.tree, [last.commit, new]) if is_new else last.commit
        return _finished(ready, asked, start, commit, port)


def ported_from(ready: Ready, asked: Asked) -> tuple[str, str]:
    """Return the commit of upstream that the user's port is of, and the gating, where it is known.

    Raises:
        HistoryError: the history does not tell.
        PortkitError: the tree cannot be scanned, or git failed.
    """
    standing = last_pure_port(ready.git.top, ready.head)
    return (standing.upstream, standing.gating) if standing else (_first(ready, asked), "")


def _wanted(ready: Ready, asked: Asked, last: PurePort | None = None) -> Wanted:
    """Return what a pure port is made by, after another or as the first."""
    since, gating = (last.upstream, last.gating) if last is not None else ("", "")
    return Wanted(ready.head, since, asked.gating, gating, asked.profile)


def _finished(ready: Ready, asked: Asked, start: _Start, theirs: str, port: Made) -> Outcome:
    """Merge a pure port in memory, and move the branches."""
    git = ready.git
    into = start.current
    found: tuple[Conflict, ...] = ()
    if git.is_ancestor(start.current, theirs):
        into = theirs
    elif not git.is_ancestor(theirs, start.current):
        merged = merge(git, start.current, theirs)
        if merged.stages or merged.said:
            found = conflicts(git, merged, port.scan)
        else:
            message = f"Merge branch '{ready.vendor}' into {ready.branch}\n\n{port.title}.\n"
            into = git.commit(merged.tree, [start.current, theirs], message)
    if not asked.check:
        move(ready, theirs, into)
    return Outcome(
        title=port.title,
        port=theirs,
        is_new=start.begun or theirs != start.port.commit,
        begun=start.begun,
        edited=start.edited,
        merged="" if found or into == ready.head else into,
        conflicts=found,
        unproven=unproven(port.scan.job.codebase, port.scan.job.workspace.version),
        gating=port.scan.job.gating.value,
    )


def _standing(ready: Ready) -> PurePort | None:
    """Return the last pure port, by its branch, else by the user's history.

    Raises:
        HistoryError: there is a branch of that name with something else on it.
    """
    if not ready.tip:
        return last_pure_port(ready.git.top, ready.head)
    port = pure_port(ready.git.top, ready.tip)
    if port is None:
        raise HistoryError(
            f"the last commit of {ready.vendor}, {ready.tip[:12]}, is no pure port of portkit's:"
            " move what was committed there to your branch, and set the branch back with `git"
            f" branch --force {ready.vendor} COMMIT`; nothing was changed"
        )
    return port


def _gone_on(ready: Ready, asked: Asked, standing: PurePort) -> _Start:
    """Return where an update begins that has a branch of pure ports.

    Raises:
        HistoryError: the user's branch has none of its commits.
    """
    git = ready.git
    if asked.of:
        raise HistoryError(
            f"{ready.vendor} says what the port is of, {standing.upstream[:12]}: leave out --of"
        )
    held = any(pure_port(git.top, base) for base in git.bases(ready.head, standing.commit))
    if held and asked.pure:
        raise HistoryError(f"the history says which pure port {ready.branch} has: leave out --pure")
    if held:
        return _Start(standing, ready.head)
    known = pure_port(git.top, git.named(asked.pure, "--pure")) if asked.pure else None
    if known is None:
        raise HistoryError(
            f"{ready.branch} has none of the commits of {ready.vendor}, as when it was rewritten or"
            " its merges were squashed: name the one that it was made on with --pure (`git log"
            f" --first-parent {ready.vendor}` lists them); nothing was changed"
        )
    current, edited = _joined(ready, known)
    return _Start(standing, current, edited)


def _first(ready: Ready, asked: Asked, new: str = "") -> str:
    """Return the commit of upstream that a port without a branch of pure ports is of.

    Raises:
        PortkitError: the history does not tell, or the tree cannot be scanned.
    """
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
    found = mark(scan_tree(ready.root, gating=asked.gating, profile=asked.profile).job)
    if found is None:
        raise HistoryError(
            f"the port of {ready.root} has nothing by which the commit before it could be found:"
            " name that commit with --of; nothing was changed"
        )
    try:
        return _upstream_of(ready, default_revision(ready.root, found))
    except VerificationError:
        raise HistoryError(
            f"the first commit of {ready.branch} holds the port already, so the history does not"
            " tell what it is of: fetch that commit of upstream's and name it with --of; nothing"
            " was changed"
        ) from None


def _upstream_of(ready: Ready, commit: str) -> str:
    """Return the commit below those in which the user speaks to portkit, and nothing else."""
    git = ready.git
    while len(parents := git.parents(commit)) == 1:
        changed = git.paths("diff-tree", "-r", "-z", "--name-only", parents[0], commit)
        for path in changed:
            before, after = git.blob(parents[0], path), git.blob(commit, path)
            below = path.removeprefix(git.below) if path.startswith(git.below) else ""
            if after is None or not is_own_change(below, before or b"", after):
                return commit
        commit = parents[0]
    return commit


def _check_descent(ready: Ready, asked: Asked, old: str, new: str) -> None:
    """Refuse a new commit of upstream that would take away what the old one has.

    Versions that ``portkit fetch`` has made have no common history, and hold no more than
    upstream's files.

    Raises:
        HistoryError: it does not descend from the old one.
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


def _is_fetched(git: Git, commit: str) -> bool:
    said = git.run("cat-file", "commit", commit)
    return b"\nparent " not in said.partition(b"\n\n")[0] and _FETCHED in said


def _begun(ready: Ready, asked: Asked, port: Made) -> _Start:
    """Commit the first pure port, and join it to the user's branch where that is ported already.

    Raises:
        PortkitError: git failed.
    """
    git = ready.git
    tree = git.tree_of(git.named(asked.pure, "--pure")) if asked.pure else port.tree
    commit = _committed(ready, port, tree, [port.upstream])
    known = PurePort(commit, tree, port.upstream, port.scan.job.gating)
    options = ("-r", "-z", "--name-only", "--diff-filter=A")
    added = git.paths("diff-tree", *options, port.upstream, tree)
    listing = ("ls-tree", "-r", "-z", "--name-only", "--full-tree")
    if set(added).isdisjoint(git.paths(*listing, ready.head)):
        return _Start(known, ready.head, begun=True)
    current, edited = _joined(ready, known)
    return _Start(known, current, edited, begun=True)


def _joined(ready: Ready, port: PurePort) -> tuple[str, tuple[str, ...]]:
    """Return a commit of the user's files that has a pure port in its history, and what differs."""
    git = ready.git
    message = (
        f"Join {ready.vendor} to {ready.branch}\n\nThe files are those of {ready.branch}. What"
        " differs from the pure port\nis a change of our own, and is kept as one.\n"
    )
    mine = git.tree_of(ready.head)
    commit = git.commit(mine, [ready.head, port.commit], message)
    differing = git.paths("diff-tree", "-r", "-z", "--name-only", port.tree, mine)
    # What a user says to portkit is no change of the port.
    own = {f"{git.below}{name}" for name in (NAME, looked.NAME)}
    return commit, tuple(path for path in differing if path not in own)


def _committed(ready: Ready, port: Made, tree: str, parents: list[str]) -> str:
    """Commit a pure port, whose files may be those of a commit that the user has named."""
    said = ready.git.line("log", "--max-count=1", "--format=%s", port.upstream)
    message = (
        f"{port.title} for {VENDOR}, as portkit writes it\n\nUpstream: {port.upstream[:12]} {said}"
        f"\n\n{trailers(port.upstream, __version__, port.scan.job.gating)}"
    )
    return ready.git.commit(tree, parents, message, pure=True)
