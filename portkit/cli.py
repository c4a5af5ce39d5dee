"""The commands: arguments, exit codes and printing, nothing else.

What a command needs is imported when it runs, since each run pays for what is imported here.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, ParamSpec

import typer

from portkit import __version__
from portkit.errors import PortkitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.report.terminal import Terminal

FOUND: Final = 1
"""The exit code of a ``--check`` that found something."""
DEFECT: Final = 70
"""The exit code of a failure that is portkit's own (EX_SOFTWARE of sysexits.h)."""
INTERRUPTED: Final = 130
"""The exit code after Ctrl-C: 128 and SIGINT's number, as shells have it."""
CLOSED_PIPE: Final = 141
"""The exit code when the reader of the output went away: 128 and SIGPIPE's number."""


class Gating(StrEnum):
    """How a tree without the feature is kept compiling."""

    DUMMY = "dummy"
    CFG = "cfg"


class Format(StrEnum):
    """The forms of a scan's report."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


Directory = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="The directory of the workspace's root manifest.")
]
GatingOption = Annotated[
    Gating,
    typer.Option(
        help="What stands without the feature: a dummy backend, or nothing (all behind cfg)."
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(metavar="CODES", help="Only these codes, or prefixes of codes: PK3,PK501."),
]
Skip = Annotated[
    list[str] | None,
    typer.Option(metavar="CODES", help="All but these codes, or prefixes of codes."),
]

app = typer.Typer(
    name="portkit",
    help="Ports a Rust GPU codebase from CUDA to AMD ROCm.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

P = ParamSpec("P")


def _command(run: Callable[P, int | None]) -> Callable[P, None]:
    """Make a command of a function that returns an exit code, and no traceback of an error."""

    @functools.wraps(run)
    def command(*args: P.args, **kwargs: P.kwargs) -> None:
        raise typer.Exit(_exit_code(lambda: run(*args, **kwargs)))

    app.command()(command)
    return command


def _exit_code(run: Callable[[], int | None]) -> int:
    try:
        return run() or 0
    except (typer.Exit, typer.BadParameter):
        raise
    except PortkitError as error:
        return _failed(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return CLOSED_PIPE
    except Exception as error:
        if os.environ.get("PORTKIT_TRACEBACK"):
            traceback.print_exc()
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return _failed(
            f"this is a defect of portkit, please report it ({said}); with PORTKIT_TRACEBACK=1 in"
            " the environment portkit shows where it happened",
            DEFECT,
        )


def _failed(sentence: str, code: int) -> int:
    from portkit.report.terminal import terminal

    with contextlib.suppress(OSError):
        print(f"{terminal(sys.stderr).loud('error')}: {sentence}", file=sys.stderr)
    return code


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"portkit {__version__}")
        raise typer.Exit


@app.callback()
def _portkit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass


@_command
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

    found = fetch_workspace(spec, directory, offline=offline)
    _print(f"{found.name} {found.version}: {len(found.crates)} crates in {directory}")
    if found.absent:
        _print(f"Not published in this version: {', '.join(found.absent)}")
    _print(f"Next: `portkit scan {directory}`.")


@_command
def scan(
    directory: Directory = Path(),
    form: Annotated[Format, typer.Option("--format", help="The report's form.")] = Format.TABLE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to this file.")
    ] = None,
    select: Select = None,
    skip: Skip = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 while a place is not ported.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="With --check, also while one is left to a person.")
    ] = False,
    no_source: Annotated[
        bool, typer.Option("--no-source", help="Leave out lines of the tree's text.")
    ] = False,
    gating: GatingOption = Gating.DUMMY,
    everything: Annotated[
        bool, typer.Option("--all", help="List every place, those that are kept included.")
    ] = False,
) -> int:
    """List the places where a backend decision stands.

    Writes nothing. Each place has a state (to do, ported, or nothing to write) and a reason; every
    mention of a backend belongs to a place or is listed as unaccounted for.
    """
    from portkit.finding import Applicability, Status
    from portkit.job import chosen, scan_tree
    from portkit.report.model import report

    wanted = _codes(select), _codes(skip)
    found = report(chosen(scan_tree(directory, gating=gating), *wanted), directory.as_posix())
    if form is Format.JSON:
        from portkit.report.scan_json import scan_json

        text = scan_json(found, source=not no_source)
    elif form is Format.MARKDOWN:
        from portkit.report.markdown import markdown

        text = markdown(found, source=not no_source)
    else:
        from portkit.report.table import table

        shown = _plain() if output else _terminal()
        text = table(found, shown, everything=everything, source=not no_source)
    _deliver(text, output)
    unported = found.count(status=Status.TODO)
    unwritten = found.count(applicability=Applicability.MANUAL) if strict else 0
    return FOUND if check and (unported or unwritten) else 0


@_command
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
    gating: GatingOption = Gating.DUMMY,
    regenerate: Annotated[
        bool, typer.Option("--regenerate", help="Replace files that an earlier run has written.")
    ] = False,
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
    from portkit.apply import check_clean, recover, write
    from portkit.job import check_portable, chosen, scan_tree
    from portkit.plan import plan
    from portkit.report.applied import applied
    from portkit.report.model import report

    wanted = _codes(select), _codes(skip)
    # What a killed run has left must not be read, nor be taken for the user's uncommitted changes.
    recovery = recover(directory) if directory.is_dir() else None
    if recovery is not None:
        _progress(str(recovery))
    found = chosen(scan_tree(directory, gating=gating, regenerate=regenerate), *wanted)
    check_portable(found)
    planned = plan(found, rustfmt=not no_format)
    dry = diff or check
    if planned.changes and not dry:
        check_clean(
            directory,
            allow_dirty=allow_dirty,
            allow_staged=allow_staged,
            allow_no_vcs=allow_no_vcs,
        )
        write(directory, planned.changes)
    if diff:
        from portkit.report.diff import patch

        _print(patch(planned.changes), end="")
    else:
        text = applied(report(found, directory.as_posix()), planned, _terminal(), written=not dry)
        _print(text, end="")
    return FOUND if check and planned.changes else 0


@_command
def verify(
    directory: Directory = Path(),
    until: Annotated[
        str, typer.Option(metavar="STEP", help="Stop after this step.", show_default=False)
    ] = "",
    only: Annotated[
        list[str] | None, typer.Option(metavar="STEP", help="Take this step alone; repeatable.")
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Go on after a step that failed.")
    ] = False,
    baseline: Annotated[
        str,
        typer.Option(
            metavar="REV",
            help="The commit to compare with; the one on which apply was run, by default.",
            show_default=False,
        ),
    ] = "",
    gating: GatingOption = Gating.DUMMY,
    json: Annotated[
        bool, typer.Option("--json", help="Print a document instead of lines.")
    ] = False,
) -> None:
    """Prove what a port claims, step by step.

    The steps: format (rustfmt leaves the tree as it is), check (it type-checks, without the feature
    and with it), regress (the CPU tests give the results that they gave before), coverage (every
    mention of a backend is accounted for), parity (ROCm has what CUDA has). What cargo writes goes
    to standard error.
    """
    from portkit.errors import VerificationError
    from portkit.job import scan_tree
    from portkit.report.verified import step_lines, verify_json
    from portkit.verify import STEPS, Tree, Verdict, climb, part_of
    from portkit.verify.process import interruptible

    try:
        steps = part_of(STEPS, only=only or (), until=until)
    except KeyError as error:
        names = ", ".join(step.name for step in STEPS)
        raise typer.BadParameter(f"there is no step {error}; the steps are {names}") from None
    tree = Tree(scan_tree(directory, gating=gating), baseline, _progress)
    results = []
    with interruptible():
        for result in climb(steps, tree, keep_going=keep_going):
            results.append(result)
            if not json:
                _print("\n".join(step_lines(result, _terminal())))
    if json:
        _print(verify_json(directory.as_posix(), baseline, results), end="")
    lost = [result.step for result in results if result.verdict is Verdict.FAILED]
    if lost:
        raise VerificationError(
            f"{directory} does not pass {' and '.join(lost)}: mend what the evidence names and"
            " verify again"
        )


@_command
def explain(
    codes: Annotated[list[str], typer.Argument(metavar="CODE...", help="Such as PK301.")],
) -> None:
    """Print what a code means.

    What the rule finds, why ROCm needs it, and its limits.
    """
    from portkit.explain import pages

    shown = _terminal()
    known = {page.code: page for page in pages()}
    for number, code in enumerate(codes):
        page = known.get(code.upper())
        if page is None:
            raise typer.BadParameter(f"there is no code {code!r}; `portkit rules` lists them")
        text = "\n\n".join(part for part in (page.title, page.text) if part).replace("``", "`")
        heading = shown.bold(f"{page.code} {page.name}")
        _print("\n" * (number > 0) + f"{heading}\n\n{text}")


@_command
def rules() -> None:
    """List the codes that a report can name."""
    from portkit.explain import pages
    from portkit.report.terminal import columns

    rows = [(page.code, page.name, page.title) for page in pages()]
    _print("\n".join(columns(rows, width=_terminal().width)))


def _codes(given: list[str] | None) -> tuple[str, ...]:
    """Return the prefixes of codes in options such as ``PK3,PK501``.

    Raises:
        BadParameter: no code begins so.
    """
    from portkit.explain import pages

    prefixes = [word.strip().upper() for option in given or () for word in option.split(",")]
    for prefix in filter(None, prefixes):
        if not any(page.code.startswith(prefix) for page in pages()):
            raise typer.BadParameter(f"no code begins with {prefix!r}; `portkit rules` lists them")
    return tuple(filter(None, prefixes))


def _deliver(text: str, output: Path | None) -> None:
    if output is None:
        _print(text, end="")
        return
    try:
        output.write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        from portkit.errors import DiskError

        raise DiskError(
            f"the report could not be written to {output} ({error.strerror}): name another file"
        ) from None


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _terminal() -> Terminal:
    from portkit.report.terminal import terminal

    return terminal(sys.stdout)


def _plain() -> Terminal:
    from portkit.report.terminal import Terminal

    return Terminal()


def _print(text: str, end: str = "\n") -> None:
    """Print text with its own line endings, whatever the platform's are.

    Raises:
        BrokenPipeError: the reader went away.
        DiskError: what the output is sent to cannot take it.
    """
    try:
        sys.stdout.buffer.write((text + end).encode(errors="backslashreplace"))
        sys.stdout.flush()
    except OSError as error:
        # Python flushes its streams once more when it ends, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        from portkit.errors import DiskError

        raise DiskError(
            f"the output could not be written ({error.strerror}): send it somewhere else"
        ) from None


def main() -> None:
    """Run the command line."""
    app()
