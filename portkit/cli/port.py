"""``portkit fetch``, ``scan`` and ``apply``: from a published tree to a ported one."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from portkit.cli.command import FOUND, command
from portkit.cli.consent import made_by_fetch
from portkit.cli.options import (
    Directory,
    Gating,
    GatingOption,
    Output,
    Profile,
    Select,
    Skip,
    check_codes,
    codes,
    profile_directory,
)
from portkit.cli.output import deliver, errors, notice, plain, progress, screen, show
from portkit.report.forms import Form
from portkit.report.progress import waiting

if TYPE_CHECKING:
    from portkit.scan.scan import Scan


@command(
    "portkit fetch candle@0.11.1 candle",
    "portkit fetch candle@0.10.2 candle --offline",
)
def fetch(
    spec: Annotated[str, typer.Argument(help="A codebase and its version: candle@0.11.1.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    offline: Annotated[
        bool, typer.Option("--offline", help="Take everything from cargo's cache.")
    ] = False,
) -> None:
    """Rebuild a published workspace.

    Its crates come from the Rust registry, through cargo; the new folder is a git repository whose
    only commit is the tree as it was published.
    """
    from portkit.fetch import fetch as fetch_workspace

    with waiting(f"Fetching {spec}"):
        found = fetch_workspace(spec, directory, offline=offline)
    show(f"{found.name} {found.version}: {len(found.crates)} crates in {directory}")
    if found.absent:
        show(f"Not published in this version: {', '.join(found.absent)}")
    made_by_fetch(directory)
    show(f"Next: `portkit scan {directory}`.")


@command(
    "portkit scan",
    "portkit scan candle --select PK3,PK4 --all",
    "portkit scan candle --check --strict",
    "portkit scan candle --format html --output sites.html",
)
def scan(
    directory: Directory = Path(),
    form: Annotated[Form, typer.Option("--format", help="The report's form.")] = Form.TABLE,
    output: Output = None,
    select: Select = None,
    skip: Skip = None,
    profile: Profile = "",
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 while a place is not ported.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="With --check, also while one is left to a person.")
    ] = False,
    no_source: Annotated[
        bool, typer.Option("--no-source", help="Leave out lines of the tree's text.")
    ] = False,
    gating: GatingOption = None,
    kernels: Annotated[
        bool,
        typer.Option("--kernels", help="Look into the sources of kernels too, place by place."),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List every place, those that are kept included.")
    ] = False,
    verified: Annotated[
        Path | None,
        typer.Option(
            "--verified",
            metavar="FILE",
            help="With --format html: what verify --json has written, to be shown as well.",
        ),
    ] = None,
) -> int:
    """List the places where a backend decision stands.

    Writes nothing. Each place has a state (to do, ported, or nothing to write) and a reason; every
    mention of a backend belongs to a place or is listed as unaccounted for. The crate of kernels
    is one place; with --kernels each place in its sources is listed too.
    """
    from portkit.errors import PortkitError
    from portkit.report.forms import written
    from portkit.report.github import annotated, in_workflow
    from portkit.report.model import report
    from portkit.tree.finding import Applicability, Status
    from portkit.write.disk import Disk
    from portkit.write.journal import unfinished

    proof = None
    if verified is not None:
        from portkit.report.documents import read_verified

        if form is not Form.HTML:
            raise typer.BadParameter("--verified is for --format html")
        proof = read_verified(verified)
    if directory.is_dir() and unfinished(directory, Disk()):
        progress(
            f"{directory} may be written in part, by a portkit that is running or was killed:"
            " `portkit apply` completes what was begun, or takes it back"
        )
    scanned = _scanned(directory, select, skip, gating, profile, kernels=kernels)
    obstacle = ""
    try:
        _check_portable(scanned)
    except PortkitError as error:
        obstacle = str(error)
    found = report(scanned, directory.as_posix(), partial=bool(select or skip), obstacle=obstacle)
    shown = plain() if output else screen()
    text = written(
        form,
        found,
        scanned,
        shown,
        everything=everything,
        source=not no_source,
        verified=proof,
    )
    deliver(text, output)
    if in_workflow():
        notice(annotated(found))
    unported = found.count(status=Status.TODO)
    unwritten = found.count(applicability=Applicability.MANUAL) if strict else 0
    return FOUND if check and (unported or unwritten) else 0


@command(
    "portkit apply --diff | less",
    "portkit apply candle --report port.html",
    "portkit apply candle --select PK5 --gating cfg",
    "portkit apply candle --interactive",
    "portkit apply candle --check",
)
def apply(
    directory: Directory = Path(),
    diff: Annotated[
        bool, typer.Option("--diff", help="Print the changes as a patch; write nothing.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a file would change; write nothing.")
    ] = False,
    select: Select = None,
    skip: Skip = None,
    profile: Profile = "",
    gating: GatingOption = None,
    regenerate: Annotated[
        bool, typer.Option("--regenerate", help="Replace files that an earlier run has written.")
    ] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Ask about each place, as git add -p does.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Write an HTML report of what is written to this file."
        ),
    ] = None,
    no_format: Annotated[
        bool, typer.Option("--no-format", help="Do not run rustfmt on what is written.")
    ] = False,
    allow_dirty: Annotated[
        bool, typer.Option("--allow-dirty", help="Write into a tree with uncommitted changes.")
    ] = False,
    allow_staged: Annotated[
        bool, typer.Option("--allow-staged", help="Write into a tree with staged changes.")
    ] = False,
    allow_no_vcs: Annotated[
        bool, typer.Option("--allow-no-vcs", help="Write into a tree without a git repository.")
    ] = False,
) -> int:
    """Write the port into the tree.

    All of it is written, or nothing, also when portkit is killed meanwhile: the next run ends what
    it had begun. A tree that is ported already is left as it is.
    """
    from portkit.report.applied import applied, headline
    from portkit.report.model import report
    from portkit.scan.plan import plan
    from portkit.tree.finding import Status
    from portkit.write.transaction import check_clean, recover, write

    # What a killed run has left must not be read, nor be taken for the user's uncommitted changes.
    recovery = recover(directory) if directory.is_dir() else None
    if recovery is not None:
        progress(str(recovery))
    found = _scanned(directory, select, skip, gating, profile, regenerate=regenerate, kernels=True)
    _check_portable(found)
    dry = diff or check
    refuse = partial(
        check_clean,
        directory,
        allow_dirty=allow_dirty,
        allow_staged=allow_staged,
        allow_no_vcs=allow_no_vcs,
    )
    left = 0
    if interactive:
        if not dry and any(f.status is Status.TODO for f in found.findings):
            refuse()  # before the first question rather than after the last answer
        asked = _asked(found)
        left = len(found.findings) - len(asked.findings)
        found = asked
    with waiting(f"Porting {directory}"):
        planned = plan(found, rustfmt=not no_format)
    if planned.changes and not dry:
        refuse()
        write(directory, planned.changes)
    summary = report(found, directory.as_posix(), partial=bool(select or skip))
    if diff:
        from portkit.report.diff import patch

        show(patch(planned.changes), end="", verbatim=True)
    else:
        show(applied(summary, planned, screen(), written=not dry, left=left), end="")
    if page is not None:
        from portkit.report.html import html
        from portkit.report.model import as_ported
        from portkit.report.snippets import snippets

        shown = summary if dry else as_ported(summary)
        said = headline(summary, planned) if planned.changes and not dry else ""
        deliver(html(shown, snippets(found), written=said), page)
    return FOUND if check and planned.changes else 0


def _check_portable(found: Scan) -> None:
    """Refuse a tree that can be scanned but not ported; say where nobody has tried its version.

    Raises:
        PortkitError: it cannot be ported.
    """
    from portkit.profile.proven import unproven
    from portkit.scan.session import check_portable

    check_portable(found)
    if said := unproven(found.job.codebase, found.job.workspace.version):
        progress(said)


def _asked(found: Scan) -> Scan:
    """Return a scan with the places that the person at the terminal wants written.

    Raises:
        BadParameter: nobody can be asked.
    """
    from portkit.cli.interactive import Session, edited

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise typer.BadParameter("--interactive asks questions and needs a terminal to do so")

    def ask(question: str) -> str:
        notice(question)
        return sys.stdin.readline()

    try:
        chosen = Session(ask, progress, edited, errors()).choose(found)
    except KeyboardInterrupt:
        progress("\nNothing is written.")
        raise
    progress("")
    return chosen


def _scanned(
    directory: Path,
    select: list[str] | None,
    skip: list[str] | None,
    gating: Gating | None,
    profile: str,
    *,
    regenerate: bool = False,
    kernels: bool = False,
) -> Scan:
    """Return the scan of a tree with the chosen codes.

    Raises:
        BadParameter: there are no such codes.
        PortkitError: there is no such profile, or the tree cannot be scanned.
    """
    from portkit.scan.session import chosen, scan_tree

    own = profile_directory(profile)
    wanted = codes(select), codes(skip)
    with waiting(f"Looking at {directory}"):
        found = scan_tree(
            directory, gating=gating or "", regenerate=regenerate, kernels=kernels, profile=own
        )
    check_codes((*wanted[0], *wanted[1]), found.job.codebase.directory)
    return chosen(found, *wanted)
