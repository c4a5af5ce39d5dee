"""``portkit fetch``, ``scan`` and ``apply``: from a published tree to a ported one."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from portkit.cli.checked import TypeCheck, taken_back, type_check
from portkit.cli.command import FOUND, command
from portkit.cli.completion import complete_specs
from portkit.cli.consent import made_by_fetch, may_run
from portkit.cli.options import (
    At,
    Directory,
    Gating,
    GatingOption,
    Output,
    Profile,
    Sandbox,
    Select,
    Skip,
    Trust,
    as_asked,
    check_codes,
    codes,
    profile_directory,
)
from portkit.cli.output import (
    deliver,
    errors,
    is_half_written,
    notice,
    plain,
    progress,
    screen,
    show,
)
from portkit.lang.shell import argument, options
from portkit.report.forms import Form
from portkit.report.progress import waiting

if TYPE_CHECKING:
    from portkit.cli.at import Found
    from portkit.scan.scan import Scan


_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://\S*\{path\}\S*")
"""What leads to a place: an address of the web or of an editor, and no script."""


@command(
    "portkit fetch candle",
    "portkit fetch candle@latest candle",
    "portkit fetch candle@0.10.2 candle --offline",
)
def fetch(
    spec: Annotated[
        str,
        typer.Argument(
            metavar="NAME[@VERSION]",
            help="A codebase and its version: candle@0.11.1, candle@latest; without one, the"
            " versions are listed.",
            autocompletion=complete_specs,
        ),
    ],
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A new or empty folder.", show_default=False),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Take everything from cargo's cache.")
    ] = False,
) -> None:
    """Rebuild a published workspace, or list its versions.

    Its crates come from the Rust registry, through cargo; the new folder is a git repository whose
    only commit is the tree as it was published. `latest` is the last release, never a pre-release.
    """
    from portkit.fetch import fetch as fetch_workspace

    if directory is None and "@" not in spec:
        _list_versions(spec, offline=offline)
        return
    if directory is None:
        folder = spec.partition("@")[0]
        raise typer.BadParameter(f"name a new folder too: `portkit fetch {spec} {folder}`")
    with waiting(f"Fetching {spec}"):
        found = fetch_workspace(spec, directory, offline=offline)
    show(f"{found.name} {found.version}: {len(found.crates)} crates in {directory}")
    if found.absent:
        show(f"Not published in this version: {', '.join(found.absent)}")
    made_by_fetch(directory)
    show(f"Next: `portkit scan{argument(directory.as_posix())}`.")


def _list_versions(name: str, *, offline: bool) -> None:
    """Print the versions of a codebase, the newest first.

    Raises:
        PortkitError: there is no such codebase, or the registry cannot be asked.
    """
    from portkit.codebases.known import named
    from portkit.fetch import published_versions
    from portkit.lang.semver import is_release
    from portkit.profile.entries import release
    from portkit.profile.profile import load_codebase
    from portkit.report.terminal import columns

    with waiting(f"Asking for the versions of {name}"):
        found = published_versions(name, offline=offline)
    if not found:
        progress(f"No version of {name} was fetched here before: run without --offline.")
    first = load_codebase(named(name)).first_version
    rows = []
    for each in found:
        said = {
            "latest": each.latest,
            "pre-release": not is_release(each.version),
            "fetched before": each.fetched,
            f"the port begins at {first}": release(each.version) < release(first),
        }
        rows.append((each.version, ", ".join(word for word, holds in said.items() if holds)))
    show("".join(f"{line}\n" for line in columns(rows, width=sys.maxsize)), end="")
    if last := next((each.version for each in found if each.latest), ""):
        progress(f"Next: `portkit fetch {name}@{last} {name}`.")


@command(
    "portkit scan",
    "portkit scan candle --select PK3,PK4 --all",
    "portkit scan candle --check --strict",
    "portkit scan candle --at candle-core/src/storage.rs:57",
    "portkit scan candle --format html --output sites.html",
)
def scan(
    directory: Directory = Path(),
    form: Annotated[Form, typer.Option("--format", help="The report's form.")] = Form.TABLE,
    output: Output = None,
    select: Select = None,
    skip: Skip = None,
    at: At = None,
    profile: Profile = "",
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 while a place is not ported.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="With --check, also while one is for a person to write or look at, or while a"
            " mention of a backend is unaccounted for.",
        ),
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
    link: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="With --format html: where each place leads, with {path} and {line} in it, such as"
            " https://github.com/you/candle/blob/main/{path}#L{line}, or"
            " vscode://file/home/you/candle/{path}:{line}.",
            show_default=False,
        ),
    ] = "",
) -> int:
    """List the places where a backend decision stands.

    Writes nothing. Each place has a state (to do, ported, or nothing to write) and a reason; every
    mention of a backend belongs to a place or is listed as unaccounted for. The crate of kernels
    is one place; with --kernels each place in its sources is listed too.
    """
    from msgspec.structs import replace

    from portkit.errors import PortkitError
    from portkit.report.forms import written
    from portkit.report.github import annotated, in_workflow
    from portkit.report.model import report
    from portkit.scan.exceptions import ASKING
    from portkit.tree.finding import Status
    from portkit.write.disk import Disk
    from portkit.write.journal import unfinished

    proof = None
    if verified is not None:
        from portkit.report.documents import read_verified

        if form is not Form.HTML:
            raise typer.BadParameter("--verified is for --format html")
        proof = read_verified(verified)
    if link and (form is not Form.HTML or not _ADDRESS.fullmatch(link)):
        raise typer.BadParameter("--link is an address with {path} in it, for --format html")
    in_part = directory.is_dir() and unfinished(directory, Disk())
    whole, scanned = _scanned(directory, select, skip, gating, profile, kernels=kernels or bool(at))
    obstacle = ""
    try:
        _check_portable(scanned)
    except PortkitError as error:
        obstacle = str(error)
    found = report(
        scanned,
        directory.as_posix(),
        partial=bool(select or skip),
        obstacle=obstacle,
        asked=as_asked(gating, profile),
    )
    if at:
        # Out of the report rather than the scan: an identity counts places that are alike.
        named = {site.id for site, _ in _named(whole, directory, at)}
        sites = tuple(site for site in found.sites if site.id in named)
        found = replace(found, sites=sites, partial=True)
    shown = plain() if output else screen()
    text = written(
        form,
        found,
        scanned,
        shown,
        everything=everything,
        source=not no_source,
        verified=proof,
        link=link,
    )
    deliver(text, output)
    if in_part:  # below the report, where it is seen
        progress(
            f"{directory} may be written in part, by a portkit that is running or was killed:"
            " `portkit apply` completes what was begun, or takes it back"
        )
    if in_workflow():
        notice(annotated(found))
    unported = found.count(status=Status.TODO)
    asking = any(site.applicability in ASKING for site in found.sites)
    unlooked = strict and (asking or bool(found.unaccounted))
    return FOUND if check and (unported or unlooked) else 0


@command(
    "portkit apply --diff",
    "portkit apply candle --at candle-core/src/storage.rs:39 --diff",
    "portkit apply candle --report port.html",
    "portkit apply candle --select PK5 --gating cfg",
    "portkit apply candle --interactive",
    "portkit apply candle --verify",
    "portkit apply candle --check",
    "portkit apply candle --series",
    "portkit apply candle --patches patches",
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
    at: At = None,
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
    no_pager: Annotated[
        bool, typer.Option("--no-pager", help="With --diff, print to the terminal itself.")
    ] = False,
    verify: Annotated[
        bool | None,
        typer.Option(
            "--verify/--no-verify",
            help="Type-check the result first, without the feature and with it, and take back"
            " what breaks; by default if the tree's build scripts may run.",
            show_default=False,
        ),
    ] = None,
    all_or_nothing: Annotated[
        bool,
        typer.Option(
            "--all-or-nothing", help="With --verify, write nothing where something breaks."
        ),
    ] = False,
    trust: Trust = False,
    sandbox: Sandbox = False,
    no_format: Annotated[
        bool, typer.Option("--no-format", help="Do not run rustfmt on what is written.")
    ] = False,
    series: Annotated[
        bool,
        typer.Option("--series", help="Write a commit for each phase that the codebase has."),
    ] = False,
    patches: Annotated[
        Path | None,
        typer.Option(
            "--patches",
            metavar="DIR",
            help="Write these commits as patches for git am into this new folder; the tree stays"
            " as it is.",
        ),
    ] = None,
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

    If portkit fetched the tree, or you said that its build scripts may run, the result is
    type-checked in a copy before anything is written. Edits that break it are left out, each with
    the compiler's reason, and the exit code is 1 then. --no-verify skips this check.

    At a terminal --diff goes through a pager: PORTKIT_PAGER, else PAGER, else less.
    """
    from msgspec.structs import replace

    from portkit.errors import PlanError
    from portkit.profile.settings import is_own_change
    from portkit.report.applied import applied, headline
    from portkit.report.model import report
    from portkit.scan.manifests import check_manifests, left_out, naming
    from portkit.scan.partial import check_variants, listed, with_errors, without_variant
    from portkit.scan.plan import plan
    from portkit.tree.finding import Status
    from portkit.tree.git import Held, check_clean, held_by_git
    from portkit.write.refusals import refuse
    from portkit.write.transaction import recover, write

    asks_to_verify = all_or_nothing or trust or sandbox
    if verify is False and asks_to_verify:
        raise typer.BadParameter("--all-or-nothing, --trust and --sandbox are for --verify")
    if asks_to_verify:
        verify = True
    if series or patches:
        given = {
            "--diff": diff,
            "--check": check,
            "--select": select,
            "--skip": skip,
            "--at": at,
            "--interactive": interactive,
            "--report": page,
            "--verify": bool(verify),
            "--allow-dirty": allow_dirty,
            "--allow-staged": allow_staged,
            "--allow-no-vcs": allow_no_vcs,
            "--patches": series and patches,
        }
        if others := [name for name, value in given.items() if value]:
            raise typer.BadParameter(
                f"a series is the whole port, in commits: leave {', '.join(others)} away"
            )
    dry = diff or check or patches is not None
    # What a killed run has left must not be read, nor be taken for the user's uncommitted changes.
    if dry and is_half_written(directory):
        return FOUND
    recovery = recover(directory) if directory.is_dir() and not dry else None
    if recovery is not None:
        progress(str(recovery))
    whole, found = _scanned(
        directory, select, skip, gating, profile, regenerate=regenerate, kernels=True
    )
    _check_portable(found)
    _check_declared(whole)
    looking = as_asked(gating, profile)
    if series or patches is not None:
        from portkit.cli.series import write_series

        write_series(directory, whole, patches, rustfmt=not no_format, asked=looking)
        if series and any(f.looked_at for f in whole.findings):
            after, _ = _scanned(directory, None, None, gating, profile, kernels=True)
            _keep_looked_at(directory, whole, after)
        return 0
    clean = partial(
        check_clean,
        allow_dirty=allow_dirty,
        allow_staged=allow_staged,
        allow_no_vcs=allow_no_vcs,
        own=is_own_change,
    )
    named = _named(whole, directory, at)
    if at:
        wanted = {id(finding) for _, finding in named}
        found = replace(found, findings=tuple(f for f in found.findings if id(f) in wanted))
    left = 0
    if interactive:
        if any(f.status is Status.TODO for f in found.findings):
            # Before the first question rather than after the last answer.
            clean(directory)
        asked = _asked(found)
        if nameless := without_variant(whole, asked):
            progress(
                f"Left as well, since a variant is left that they name: {listed(whole, nameless)}"
            )
            asked = replace(asked, findings=tuple(f for f in asked.findings if f not in nameless))
        left = len(found.findings) - len(asked.findings)
        found = asked
    try:
        check_variants(whole, found)
    except PlanError as error:
        if not (at and diff):
            raise
        progress(f"`portkit apply` would refuse to write it alone: {error}")
    chosen, found = found, with_errors(whole, found)
    with waiting(f"Porting {directory}"):
        planned = plan(found, rustfmt=not no_format)
    while interactive and (nameless := naming(chosen, left_out(whole, chosen, planned.changes))):
        progress(f"Left as well, since what they name is left: {listed(whole, nameless)}")
        left += len(nameless)
        chosen = replace(chosen, findings=tuple(f for f in chosen.findings if f not in nameless))
        found = with_errors(whole, chosen)
        planned = plan(found, rustfmt=not no_format)
    try:
        check_manifests(whole, chosen, planned.changes)
    except PlanError as error:
        if not (at and diff):
            raise
        progress(f"`portkit apply` would refuse to write it alone: {error}")
    if denied := refuse(directory, planned.changes, clean, dry=dry):
        progress(f"`portkit apply` would refuse to write it: {denied}")
    proof = TypeCheck.skipped("")
    if planned.changes and not (dry and verify is None):
        proof = type_check(
            whole,
            chosen,
            partial(plan, rustfmt=not no_format),
            verify=verify,
            consent=partial(may_run, given=trust),
            sandbox=sandbox,
            all_or_nothing=all_or_nothing,
        )
    if proof.checking is not None:
        whole, found, planned = proof.checking.whole, proof.checking.chosen, proof.checking.plan
    taken = taken_back(proof.checking)
    held = Held.NOT
    if not dry:
        held = held_by_git(directory) if planned.changes else held
        write(directory, planned.changes)
        if planned.changes and any(f.looked_at for f in whole.findings):
            after, _ = _scanned(directory, None, None, gating, profile, kernels=True)
            _keep_looked_at(directory, whole, after)
    partly = bool(select or skip or at)
    summary = report(found, directory.as_posix(), partial=partly, asked=looking)
    if not planned.changes:
        for site, _ in named:
            progress(f"{site.position} {site.code}, {site.state}: {site.message}")
    if diff:
        from portkit.cli.pager import show_paged
        from portkit.report.diff import patch

        show_paged(patch(planned.changes), wanted=not no_pager)
    else:
        again = {
            "--allow-dirty": allow_dirty,
            "--allow-staged": allow_staged,
            "--allow-no-vcs": allow_no_vcs,
            "--regenerate": regenerate,
        }
        said = applied(
            summary,
            planned,
            screen(),
            held=None if dry else held,
            left=left,
            taken=taken,
            options=options(again),
            type_check=proof.sentence,
        )
        show(said, end="")
    if page is not None:
        from portkit.report.html import html
        from portkit.report.model import as_ported
        from portkit.report.snippets import snippets

        shown = summary if dry else as_ported(summary)
        said = headline(summary, planned) if planned.changes and not dry else ""
        deliver(html(shown, snippets(found), written=said), page)
    return FOUND if taken or (check and planned.changes) else 0


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


def _check_declared(whole: Scan) -> None:
    """Refuse to write while an exclusion, a decision or a comment does nothing.

    What it was meant to leave out, or to decide, would be written as if nobody had said a word.
    Pages may speak of such comments.

    Raises:
        ConfigError: one does nothing; the message names each.
    """
    from portkit.errors import ConfigError
    from portkit.profile.settings import NAME
    from portkit.rules.unused_exception import RULE

    sources = whole.job.workspace.sources
    idle = [f"{NAME}:{f.line}: {f.message} ({f.code})" for f in whole.findings if f.path == NAME]
    idle += [
        f"{f.path}:{sources[f.path].position(f.span.start)[0]}: {f.message} ({f.code})"
        for f in whole.findings
        if f.code == RULE.code and f.path != NAME and not f.path.endswith(".md")
    ]
    if idle:
        raise ConfigError(f"{'; '.join(idle)}; nothing was written")


def _keep_looked_at(directory: Path, before: Scan, after: Scan) -> None:
    """Let what was looked at before it was written be looked at where it stands."""
    from portkit.profile.looked import NAME, read, text
    from portkit.scan.looked import carried
    from portkit.write.transaction import Change, write

    data, looked = read(directory)
    write(directory, [Change(NAME, data, text(carried(before, after, looked)).encode())])


def _named(whole: Scan, directory: Path, at: list[str] | None) -> Found:
    """Return the places that ``--at`` names; none where it is not given.

    Raises:
        BadParameter: there are none in a line that it names.
    """
    if not at:
        return ()
    from portkit.cli.at import named_places

    return named_places(whole, directory, at)


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
) -> tuple[Scan, Scan]:
    """Return the scan of a tree, and the same with the chosen codes.

    Raises:
        BadParameter: there are no such codes.
        PortkitError: there is no such profile, or the tree cannot be scanned.
    """
    from portkit.scan.session import chosen, scan_tree

    own = profile_directory(profile)
    wanted = codes(select), codes(skip)
    with waiting(f"Looking at {directory}"):
        found = scan_tree(
            directory,
            gating=gating or "",
            regenerate=regenerate,
            kernels=kernels,
            profile=own,
            skip=wanted[1],
        )
    check_codes((*wanted[0], *wanted[1]), found.job.codebase.directory)
    return found, chosen(found, *wanted)
