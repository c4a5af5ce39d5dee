"""``portkit apply --series`` and ``--patches``, ``verify --series``: the port as commits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from portkit.cli.output import open_screen, print_progress, print_text
from portkit.report.progress import show_waiting
from portkit.syntax.shell import git_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from portkit.engine.scan import Scan
    from portkit.report.run_display import RunReporter
    from portkit.verify.options import Options


def write_series(
    directory: Path, found: Scan, patches: Path | None, *, rustfmt: bool, asked: str
) -> None:
    """Write the port of a tree as commits on its branch, or as patches into a folder."""
    from portkit.engine.plan import Plan
    from portkit.profiles.settings import is_decision_change
    from portkit.report.apply_summary import render_apply_summary, render_headline
    from portkit.report.model import count_noun, make_report
    from portkit.report.series import render_messages, render_subject, split_port
    from portkit.transaction.commits import Commit, commit_series, open_checkout, write_patches
    from portkit.transaction.preconditions import check_plan
    from portkit.workspace.git import check_clean

    ground_ = open_checkout(directory, moves=patches is None)
    clean = partial(
        check_clean, allow_dirty=False, allow_no_vcs=False, own=is_decision_change, options=False
    )
    clean(directory)
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
    if patches is not None:
        files = write_patches(ground_, commits, patches)
        print_text("".join(f"{file}\n" for file in files), end="")
        keep = "--keep-cr " if any(b"\r\n" in c.after for c in made.changes) else ""
        print_progress(f"Next: `git am {keep}{patches}/*.patch` in a clone of {directory}.")
        return
    commit_series(ground_, commits, made.changes)
    print_text(f"{render_headline(summary, planned)}.")
    for number, part in enumerate(made.parts, 1):
        print_text(f"{number:3} {render_subject(summary, part)}")
    git, them = git_command(summary.root), "it" if len(commits) == 1 else "them"
    print_progress(
        f"{count_noun(len(commits), 'commit')}: `{git} log --stat {ground_.head[:12]}..` shows"
        f" {them}, `portkit verify --series{summary.tree}` walks {them};"
        f" `{git} reset --hard {ground_.head[:12]}` takes {them} away again."
    )


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
