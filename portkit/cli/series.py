"""``portkit apply --series`` and ``--patches``, ``verify --series``: the port as commits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from portkit.cli.output import open_screen, print_progress, print_text
from portkit.report.progress import show_waiting
from portkit.syntax.shell import git_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from portkit.engine.scan import Scan
    from portkit.report.run_display import RunReporter
    from portkit.transaction.change import Change
    from portkit.transaction.commits import Checkout, Commit
    from portkit.verify.options import Options


def open_clean_checkout(
    directory: Path, patches: Path | None
) -> tuple[Checkout, Callable[..., None]]:
    """Return the checkout of a tree without uncommitted changes, and the check for these."""
    from portkit.profiles.settings import is_decision_change
    from portkit.transaction.commits import open_checkout
    from portkit.workspace.git import check_clean

    checkout = open_checkout(directory, moves=patches is None)
    clean = partial(
        check_clean, allow_dirty=False, allow_no_vcs=False, own=is_decision_change, options=False
    )
    clean(directory)
    return checkout, clean


def write_commits(
    directory: Path,
    checkout: Checkout,
    commits: Sequence[Commit],
    changes: Sequence[Change],
    patches: Path | None,
    lines: Iterable[str],
    *,
    by: str = "portkit apply --series",
    walk: str = "",
) -> None:
    """Write commits, or patches into a folder, and print how to see them and take them away."""
    from portkit.report.model import count_noun
    from portkit.transaction.commits import commit_series, write_patches

    if patches is not None:
        files = write_patches(checkout, commits, patches)
        print_text("".join(f"{file}\n" for file in files), end="")
        keep = "--keep-cr " if any(b"\r\n" in change.after for change in changes) else ""
        print_progress(f"Next: `git am {keep}{patches}/*.patch` in a clone of {directory}.")
        return
    with show_waiting(f"Committing to {directory}"):
        commit_series(checkout, commits, changes, by=by)
    for line in lines:
        print_text(line)
    git, them = git_command(directory.as_posix()), "it" if len(commits) == 1 else "them"
    before = checkout.head[:12]
    print_progress(
        f"{count_noun(len(commits), 'commit')}: `{git} log --stat {before}..` shows {them}"
        f"{f', `{walk}` walks {them}' if walk else ''}; `{git} reset --hard {before}` takes {them}"
        " away again."
    )


def write_series(
    directory: Path, found: Scan, patches: Path | None, *, rustfmt: bool, asked: str
) -> None:
    """Write the port of a tree as commits on its branch, or as patches into a folder."""
    from portkit.engine.plan import Plan
    from portkit.report.apply_summary import render_apply_summary, render_headline
    from portkit.report.model import make_report
    from portkit.report.series import render_messages, render_subject, split_port
    from portkit.transaction.commits import Commit
    from portkit.transaction.preconditions import check_plan

    checkout, clean = open_clean_checkout(directory, patches)
    with show_waiting(f"Porting {directory}"):
        made = split_port(found, rustfmt=rustfmt)
    check_plan(directory, made.changes, clean, dry=patches is not None)
    summary = make_report(found, directory.as_posix(), asked=asked)
    planned = Plan(made.changes, made.unformatted)
    if not made.parts:
        print_text(render_apply_summary(summary, planned, open_screen()), end="")
        return
    texts = list(render_messages(summary, made.parts))
    commits = [Commit(text, p.changes) for text, p in zip(texts, made.parts, strict=True)]
    subjects = (f"{n:3} {render_subject(summary, p)}" for n, p in enumerate(made.parts, 1))
    lines = (f"{render_headline(summary, planned)}.", *subjects)
    walk = f"portkit verify --series{summary.tree}"
    write_commits(directory, checkout, commits, made.changes, patches, lines, walk=walk)


def verify_series(
    directory: Path,
    options: Options,
    made: Callable[[Options], RunReporter],
    consent: Callable[[Path], object],
) -> int:
    """Take steps on each commit of a series; return the exit code."""
    from portkit.errors import VerificationError
    from portkit.verify import STEPS, verify_tree
    from portkit.verify.series import find_series, walk_series
    from portkit.verify.step_runner import select_steps

    root = directory.resolve()
    found = find_series(root)
    lost: VerificationError | None = None
    agreed = False
    for number, (member, place, asked) in enumerate(walk_series(root, found, options), 1):
        if not agreed and not options.sandbox:
            if not all(step.looks for step in select_steps(STEPS, asked)):
                consent(root)
            agreed = True
        print_text(f"{number}/{len(found)} {member.commit[:12]} {member.subject}")
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
