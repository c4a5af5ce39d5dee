"""``portkit fetch``, ``scan`` and ``apply``: from a published tree to a ported one."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from portkit.cli.command import FOUND, make_command
from portkit.cli.completion import complete_specs
from portkit.cli.consent import check_consent, trust_fetched_tree
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
    check_codes,
    find_profile_directory,
    format_options,
    option,
    parse_codes,
)
from portkit.cli.output import (
    ask,
    can_ask,
    is_half_written,
    open_error_terminal,
    open_screen,
    plain_terminal,
    print_notice,
    print_progress,
    print_text,
    write_report,
)
from portkit.cli.type_check import TypeCheck, check_types, list_reverted
from portkit.report.formats import ReportFormat
from portkit.report.progress import show_waiting
from portkit.syntax.shell import quote_options, quote_tree_argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.cli.locations import Found
    from portkit.engine.scan import Scan


_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://\S*\{path\}\S*")
"""What leads to a place: an address of the web or of an editor, and no script."""


@make_command(
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
    offline: Annotated[bool, option("--offline", "Take everything from cargo's cache.")] = False,
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
    with show_waiting(f"Fetching {spec}"):
        found = fetch_workspace(spec, directory, offline=offline)
    print_text(f"{found.name} {found.version}: {len(found.crates)} crates in {directory}")
    if found.absent:
        print_text(f"Not published in this version: {', '.join(found.absent)}")
    trust_fetched_tree(directory)
    print_text(f"Next: `portkit scan{quote_tree_argument(directory.as_posix())}`.")


def _list_versions(name: str, *, offline: bool) -> None:
    from portkit.codebases.registry import find_codebase
    from portkit.fetch import list_published_versions
    from portkit.profiles.entries import parse_release
    from portkit.profiles.profile import load_codebase
    from portkit.report.terminal import align_columns
    from portkit.syntax.semver import is_release

    with show_waiting(f"Asking for the versions of {name}"):
        found = list_published_versions(name, offline=offline)
    if not found:
        print_progress(f"No version of {name} was fetched here before: run without --offline.")
    first = load_codebase(find_codebase(name)).first_version
    rows = []
    for each in found:
        said = {
            "latest": each.latest,
            "pre-release": not is_release(each.version),
            "fetched before": each.fetched,
            f"the port begins at {first}": parse_release(each.version) < parse_release(first),
        }
        rows.append((each.version, ", ".join(word for word, holds in said.items() if holds)))
    print_text("".join(f"{line}\n" for line in align_columns(rows, width=sys.maxsize)), end="")
    if last := next((each.version for each in found if each.latest), ""):
        print_progress(f"Next: `portkit fetch {name}@{last} {name}`.")


@make_command(
    "portkit scan",
    "portkit scan candle --select PK3,PK4 --all",
    "portkit scan candle --check --strict",
    "portkit scan candle --at candle-core/src/storage.rs:57",
    "portkit scan candle --format html --output sites.html",
)
def scan(
    directory: Directory = Path(),
    form: Annotated[ReportFormat, option("--format", "The report's form.")] = ReportFormat.TABLE,
    output: Output = None,
    select: Select = None,
    skip: Skip = None,
    at: At = None,
    profile: Profile = "",
    check: Annotated[bool, option("--check", "Exit with 1 while a place is not ported.")] = False,
    strict: Annotated[
        bool,
        option(
            "--strict",
            "With --check, also while one is for a person to write or look at, or while a"
            " mention of a backend is unaccounted for.",
        ),
    ] = False,
    no_source: Annotated[
        bool, option("--no-source", "Leave out lines of the tree's text.")
    ] = False,
    gating: GatingOption = None,
    kernels: Annotated[
        bool, option("--kernels", "Look into the sources of kernels too, place by place.")
    ] = False,
    everything: Annotated[
        bool, option("--all", "List every place, those that are kept included.")
    ] = False,
    verified: Annotated[
        Path | None,
        option(
            "--verified FILE",
            "With --format html: what verify --json has written, to be shown as well.",
        ),
    ] = None,
    link: Annotated[
        str,
        option(
            "--link URL",
            "With --format html: where each place leads, with {path} and {line} in it, such as"
            " https://github.com/you/candle/blob/main/{path}#L{line}, or"
            " vscode://file/home/you/candle/{path}:{line}.",
        ),
    ] = "",
) -> int:
    """List the findings of a tree: what needs ROCm, and what you must decide.

    Writes nothing. Each finding has a state (manual, review, mechanical, ported, no change) and a
    reason. Every mention of a backend belongs to a finding, or is listed as unaccounted. The crate
    of kernels is one finding; with --kernels each finding in its sources is listed too.
    """
    from msgspec.structs import replace

    from portkit.engine.exclusions import NEEDS_DECISION
    from portkit.errors import PortkitError
    from portkit.report.formats import render_report
    from portkit.report.github_annotations import is_in_workflow, render_annotations
    from portkit.report.model import make_report
    from portkit.transaction.disk import Disk
    from portkit.transaction.journal import is_unfinished
    from portkit.workspace.finding import Status

    proof = None
    if verified is not None:
        from portkit.report.stored_reports import read_verification

        if form is not ReportFormat.HTML:
            raise typer.BadParameter("--verified is for --format html")
        proof = read_verification(verified)
    if link and (form is not ReportFormat.HTML or not _ADDRESS.fullmatch(link)):
        raise typer.BadParameter("--link is an address with {path} in it, for --format html")
    in_part = directory.is_dir() and is_unfinished(directory, Disk())
    whole, scanned = _scan_tree(
        directory, select, skip, gating, profile, kernels=kernels or bool(at)
    )
    obstacle = ""
    try:
        _check_portable(scanned)
    except PortkitError as error:
        obstacle = str(error)
    found = make_report(
        scanned,
        directory.as_posix(),
        partial=bool(select or skip),
        obstacle=obstacle,
        asked=format_options(gating, profile),
    )
    if at:
        # Out of the report rather than the scan: an identity counts places that are alike.
        named = {site.id for site, _ in _find_named_sites(whole, directory, at)}
        sites = tuple(site for site in found.sites if site.id in named)
        found = replace(found, sites=sites, partial=True)
    shown = plain_terminal() if output else open_screen()
    text = render_report(
        form,
        found,
        scanned,
        shown,
        everything=everything,
        source=not no_source,
        verified=proof,
        link=link,
    )
    write_report(text, output)
    if in_part:  # below the report, where it is seen
        print_progress(
            f"{directory} may be written in part, by a portkit that is running or was killed:"
            " `portkit apply` completes what was begun, or takes it back"
        )
    if is_in_workflow():
        print_notice(render_annotations(found))
    unported = found.count(status=Status.TODO)
    asking = any(site.applicability in NEEDS_DECISION for site in found.sites)
    unlooked = strict and (asking or bool(found.unaccounted))
    return FOUND if check and (unported or unlooked) else 0


@make_command(
    "portkit apply --diff",
    "portkit apply candle --diff --stat",
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
    diff: Annotated[bool, option("--diff", "Print the changes as a patch; write nothing.")] = False,
    stat: Annotated[
        bool,
        option("--stat", "With --diff, print only the number of lines, by crate and by rule."),
    ] = False,
    check: Annotated[
        bool, option("--check", "Exit with 1 if a file would change; write nothing.")
    ] = False,
    select: Select = None,
    skip: Skip = None,
    at: At = None,
    profile: Profile = "",
    gating: GatingOption = None,
    regenerate: Annotated[
        bool, option("--regenerate", "Replace files that an earlier run has written.")
    ] = False,
    interactive: Annotated[
        bool, option("--interactive -i", "Ask about each place, as git add -p does.")
    ] = False,
    page: Annotated[
        Path | None,
        option("--report FILE", "Write an HTML report of what is written to this file."),
    ] = None,
    no_pager: Annotated[
        bool, option("--no-pager", "With --diff, print to the terminal itself.")
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
        bool, option("--all-or-nothing", "With --verify, write nothing where something breaks.")
    ] = False,
    trust: Trust = False,
    sandbox: Sandbox = False,
    no_format: Annotated[
        bool, option("--no-format", "Do not run rustfmt on what is written.")
    ] = False,
    series: Annotated[
        bool, option("--series", "Write a commit for each phase that the codebase has.")
    ] = False,
    patches: Annotated[
        Path | None,
        option(
            "--patches DIR",
            "Write these commits as patches for git am into this new folder; the tree stays"
            " as it is.",
        ),
    ] = None,
    allow_dirty: Annotated[
        bool, option("--allow-dirty", "Write into a tree with uncommitted changes.")
    ] = False,
    allow_staged: Annotated[
        bool, option("--allow-staged", "Write into a tree with staged changes.")
    ] = False,
    allow_no_vcs: Annotated[
        bool, option("--allow-no-vcs", "Write into a tree without a git repository.")
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

    from portkit.engine.partial_ports import (
        check_manifests,
        check_variants,
        find_left_out,
        find_missing_variants,
        find_naming,
        list_places,
        restore_required_arms,
    )
    from portkit.engine.plan import build_plan
    from portkit.profiles.settings import is_decision_change
    from portkit.report.apply_summary import render_apply_summary, render_headline
    from portkit.report.model import make_report
    from portkit.transaction.preconditions import check_plan
    from portkit.transaction.transaction import recover_run, write_plan
    from portkit.workspace.finding import Status
    from portkit.workspace.git import GitState, check_clean, read_git_state

    asks_to_verify = all_or_nothing or trust or sandbox
    if stat and not diff:
        raise typer.BadParameter("--stat is for --diff: write --diff --stat")
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
    recovery = recover_run(directory) if directory.is_dir() and not dry else None
    if recovery is not None:
        print_progress(str(recovery))
    whole, found = _scan_tree(
        directory, select, skip, gating, profile, regenerate=regenerate, kernels=True
    )
    _check_portable(found)
    _check_declared(whole)
    looking = format_options(gating, profile)
    if series or patches is not None:
        from portkit.cli.series import write_series

        write_series(directory, whole, patches, rustfmt=not no_format, asked=looking)
        if series:
            _keep_accepted(directory, whole, gating, profile)
        return 0
    clean = partial(
        check_clean,
        allow_dirty=allow_dirty,
        allow_staged=allow_staged,
        allow_no_vcs=allow_no_vcs,
        own=is_decision_change,
    )
    named = _find_named_sites(whole, directory, at)
    if at:
        wanted = {id(finding) for _, finding in named}
        found = replace(found, findings=tuple(f for f in found.findings if id(f) in wanted))
    left = 0
    if any(f.status is Status.TODO for f in found.findings):
        clean(directory)  # before the first question, and before the plan, which takes longer
    if interactive:
        asked = _choose_interactively(found)
        if nameless := find_missing_variants(whole, asked):
            print_progress(
                "Left as well, since a variant is left that they name:"
                f" {list_places(whole, nameless)}"
            )
            asked = replace(asked, findings=tuple(f for f in asked.findings if f not in nameless))
        left = len(found.findings) - len(asked.findings)
        found = asked
    _check_partial_plan(partial(check_variants, whole, found), warns=bool(at and diff))
    chosen, found = found, restore_required_arms(whole, found)
    with show_waiting(f"Porting {directory}"):
        planned = build_plan(found, rustfmt=not no_format)
    while interactive and (
        nameless := find_naming(chosen, find_left_out(whole, chosen, planned.changes))
    ):
        print_progress(
            f"Left as well, since what they name is left: {list_places(whole, nameless)}"
        )
        left += len(nameless)
        chosen = replace(chosen, findings=tuple(f for f in chosen.findings if f not in nameless))
        found = restore_required_arms(whole, chosen)
        planned = build_plan(found, rustfmt=not no_format)
    _check_partial_plan(
        partial(check_manifests, whole, chosen, planned.changes), warns=bool(at and diff)
    )
    if denied := check_plan(directory, planned.changes, clean, dry=dry):
        print_progress(f"`portkit apply` would refuse to write it: {denied}")
    proof = TypeCheck.skipped("")
    if planned.changes and not (dry and verify is None):
        proof = check_types(
            whole,
            chosen,
            partial(build_plan, rustfmt=not no_format),
            verify=verify,
            consent=partial(check_consent, given=trust),
            sandbox=sandbox,
            all_or_nothing=all_or_nothing,
        )
    if proof.checking is not None:
        whole, found, planned = proof.checking.whole, proof.checking.chosen, proof.checking.plan
    taken = list_reverted(proof.checking)
    held = GitState.NOT
    if not dry:
        held = read_git_state(directory) if planned.changes else held
        write_plan(directory, planned.changes)
        if planned.changes:
            _keep_accepted(directory, whole, gating, profile)
    partly = bool(select or skip or at)
    summary = make_report(found, directory.as_posix(), partial=partly, asked=looking)
    if not planned.changes:
        for site, _ in named:
            print_progress(f"{site.position} {site.code}, {site.state}: {site.message}")
    if stat:
        from portkit.report.diff_stat import render_stat

        print_text(render_stat(summary, found, planned, open_screen()), end="")
    elif diff:
        from portkit.cli.pager import show_paged
        from portkit.report.patch import render_patch

        show_paged(render_patch(planned.changes), wanted=not no_pager)
    else:
        again = {
            "--allow-dirty": allow_dirty,
            "--allow-staged": allow_staged,
            "--allow-no-vcs": allow_no_vcs,
            "--regenerate": regenerate,
        }
        said = render_apply_summary(
            summary,
            planned,
            open_screen(),
            held=None if dry else held,
            left=left,
            taken=taken,
            options=quote_options(again),
            type_check=proof.sentence,
        )
        print_text(said, end="")
    if page is not None:
        from portkit.report.decisions import find_branches
        from portkit.report.html import render_page
        from portkit.report.model import mark_ported
        from portkit.report.snippets import build_snippets

        shown = summary if dry else mark_ported(summary)
        said = render_headline(summary, planned) if planned.changes and not dry else ""
        branches = find_branches(found)
        write_report(
            render_page(shown, build_snippets(found), written=said, branches=branches), page
        )
    return FOUND if taken or (check and planned.changes) else 0


def _check_portable(found: Scan) -> None:
    """Refuse a tree that can be scanned but not ported; say where nobody has tried its version."""
    from portkit.engine.session import check_portable
    from portkit.profiles.tested_versions import warn_if_untested

    check_portable(found)
    if said := warn_if_untested(found.job.codebase, found.job.workspace.version):
        print_progress(said)


def _check_declared(whole: Scan) -> None:
    """Refuse to write while an exclusion, a decision or a comment does nothing.

    What it was meant to leave out, or to decide, would be written as if nobody had said a word.
    Pages may speak of such comments.
    """
    from portkit.errors import ConfigError
    from portkit.profiles.settings import NAME
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


def _check_partial_plan(check: Callable[[], None], *, warns: bool) -> None:
    """Check what is to be written; with ``warns``, print why it would be refused."""
    from portkit.errors import PlanError

    try:
        check()
    except PlanError as error:
        if not warns:
            raise
        print_progress(f"`portkit apply` would refuse to write it alone: {error}")


def _keep_accepted(directory: Path, before: Scan, gating: Gating | None, profile: str) -> None:
    """Keep accepted findings accepted after they are written."""
    if not any(finding.looked_at for finding in before.findings):
        return
    from portkit.engine.acceptance import carry_acceptances
    from portkit.profiles.accepted_findings import NAME, format_acceptances, read_acceptances
    from portkit.transaction.transaction import Change, write_plan

    after, _ = _scan_tree(directory, None, None, gating, profile, kernels=True)
    data, looked = read_acceptances(directory)
    write_plan(
        directory,
        [Change(NAME, data, format_acceptances(carry_acceptances(before, after, looked)).encode())],
    )


def _find_named_sites(whole: Scan, directory: Path, at: list[str] | None) -> Found:
    if not at:
        return ()
    from portkit.cli.locations import find_named_sites

    return find_named_sites(whole, directory, at)


def _choose_interactively(found: Scan) -> Scan:
    from portkit.cli.interactive import InteractiveSession, edit_text

    if not can_ask():
        raise typer.BadParameter("--interactive asks questions and needs a terminal to do so")

    try:
        chosen = InteractiveSession(ask, print_progress, edit_text, open_error_terminal()).choose(
            found
        )
    except KeyboardInterrupt:
        print_progress("\nNothing is written.")
        raise
    print_progress("")
    return chosen


def _scan_tree(
    directory: Path,
    select: list[str] | None,
    skip: list[str] | None,
    gating: Gating | None,
    profile: str,
    *,
    regenerate: bool = False,
    kernels: bool = False,
) -> tuple[Scan, Scan]:
    from portkit.engine.session import scan_tree, select_codes

    own = find_profile_directory(profile)
    wanted = parse_codes(select), parse_codes(skip)
    with show_waiting(f"Looking at {directory}"):
        found = scan_tree(
            directory,
            gating=gating or "",
            regenerate=regenerate,
            kernels=kernels,
            profile=own,
            skip=wanted[1],
        )
    check_codes((*wanted[0], *wanted[1]), found.job.codebase.directory)
    return found, select_codes(found, *wanted)
