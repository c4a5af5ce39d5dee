"""``portkit apply --series`` and ``--patches``, ``verify --series``: the port as commits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from portkit.cli.output import progress, screen, show
from portkit.lang.shell import in_git
from portkit.report.progress import waiting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from portkit.report.watching import Reporter
    from portkit.scan.scan import Scan
    from portkit.verify.options import Options


def write_series(
    directory: Path, found: Scan, patches: Path | None, *, rustfmt: bool, asked: str
) -> None:
    """Write the port of a tree as commits on its branch, or as patches into a folder.

    Args:
        directory: the workspace root.
        found: its scan.
        patches: where patches go, in place of commits.
        rustfmt: whether to format what is written.
        asked: how the tree was to be looked at, in options as they are typed.

    Raises:
        PortkitError: it cannot be done; nothing was changed.
    """
    from portkit.profile.settings import is_own_change
    from portkit.report.applied import applied, headline
    from portkit.report.commit_message import messages, subject
    from portkit.report.model import counted_noun, report
    from portkit.report.series import series
    from portkit.scan.plan import Plan
    from portkit.tree.git import check_clean
    from portkit.write.commits import Commit, commit_series, write_patches
    from portkit.write.refusals import refuse
    from portkit.write.repository import ground

    ground_ = ground(directory, moves=patches is None)
    clean = partial(
        check_clean, allow_dirty=False, allow_no_vcs=False, own=is_own_change, options=False
    )
    clean(directory)
    with waiting(f"Porting {directory}"):
        made = series(found, rustfmt=rustfmt)
    refuse(directory, made.changes, clean, dry=patches is not None)
    summary = report(found, directory.as_posix(), asked=asked)
    planned = Plan(made.changes, made.unformatted)
    if not made.parts:
        show(applied(summary, planned, screen()), end="")
        return
    texts = list(messages(summary, made.parts))
    commits = [Commit(text, p.changes) for text, p in zip(texts, made.parts, strict=True)]
    if patches is not None:
        files = write_patches(ground_, commits, patches)
        show("".join(f"{file}\n" for file in files), end="")
        keep = "--keep-cr " if any(b"\r\n" in c.after for c in made.changes) else ""
        progress(f"Next: `git am {keep}{patches}/*.patch` in a clone of {directory}.")
        return
    commit_series(ground_, commits, made.changes)
    show(f"{headline(summary, planned)}.")
    for number, part in enumerate(made.parts, 1):
        show(f"{number:3} {subject(summary, part)}")
    git, them = in_git(summary.root), "it" if len(commits) == 1 else "them"
    progress(
        f"{counted_noun(len(commits), 'commit')}: `{git} log --stat {ground_.head[:12]}..` shows"
        f" {them}, `portkit verify --series{summary.tree}` walks {them};"
        f" `{git} reset --hard {ground_.head[:12]}` takes {them} away again."
    )


def verify_series(
    directory: Path,
    options: Options,
    made: Callable[[Options], Reporter],
    consent: Callable[[Path], object],
) -> int:
    """Take steps on each commit of a series; return the exit code.

    Args:
        directory: the workspace root.
        options: what the user asks for.
        made: makes what tells how a commit goes.
        consent: as of ``verify_tree``; it is asked about the tree, once.

    Raises:
        PortkitError: there is no series, or a commit does not pass; with the commit.
    """
    from portkit.errors import VerificationError
    from portkit.verify import STEPS, verify_tree
    from portkit.verify.ladder import part_of
    from portkit.verify.series import series_of, walk

    root = directory.resolve()
    found = series_of(root)
    lost: VerificationError | None = None
    agreed = False
    for number, (member, place, asked) in enumerate(walk(root, found, options), 1):
        if not agreed and not options.sandbox:
            if not all(step.looks for step in part_of(STEPS, asked)):
                consent(root)
            agreed = True
        show(f"{number}/{len(found)} {member.commit[:12]} {member.subject}")
        reporter = made(asked)
        summary = verify_tree(place, asked, reporter, consent=lambda _: None)
        code = reporter.sum_up(summary)
        if sentence := summary.sentence(f"commit {member.commit[:12]} of {directory}"):
            error = VerificationError(sentence)
            error.exit_code = code
            if summary.interrupted:
                raise error
            lost = lost or error
            if not options.keep_going:
                break
    if lost is not None:
        raise lost
    return 0
