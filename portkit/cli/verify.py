"""``portkit verify``: the ladder."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from portkit.cli.command import make_command
from portkit.cli.completion import complete_steps
from portkit.cli.consent import check_consent
from portkit.cli.options import (
    Directory,
    EmulatorProgram,
    GatingOption,
    Gpu,
    Profile,
    Rocm,
    Sandbox,
    Trust,
    check_emulated,
    find_profile_directory,
    format_options,
    option,
    split_words,
)
from portkit.cli.output import open_error_terminal, open_screen, print_text

if TYPE_CHECKING:
    from portkit.verify.options import Options
    from portkit.verify.step_runner import Summary


class Device(StrEnum):
    """What ported tests run on (``portkit.verify.options.DEVICES``)."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"
    EMULATOR = "emulator"


class _WithSteps(TyperCommand):
    """The help names the steps, which are imported for nothing else."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from portkit.verify import STEPS

        with formatter.section("Steps"):
            formatter.write_dl([(step.name, step.shows) for step in STEPS])
        super().format_epilog(ctx, formatter)


@make_command(
    "portkit verify",
    "portkit verify candle --until check",
    "portkit verify candle --kernels --arch gfx1100,gfx90a",
    "portkit verify candle --only coverage --only parity --json verify.json",
    "portkit verify candle --only device --device cpu --wave 32,64",
    "portkit verify candle --only device --device emulator --gpu gfx1100",
    "portkit verify candle --report proof.html",
    "portkit verify candle --sandbox",
    "portkit verify candle --series",
    kind=_WithSteps,
)
def verify(
    directory: Directory = Path(),
    until: Annotated[str, option("--until STEP", "Stop after this step.", complete_steps)] = "",
    only: Annotated[
        list[str] | None, option("--only STEP", "Take this step alone; repeatable.", complete_steps)
    ] = None,
    keep_going: Annotated[bool, option("--keep-going", "Go on after a step that failed.")] = False,
    no_skip: Annotated[
        bool, option("--no-skip", "Fail where something cannot be looked at here.")
    ] = False,
    kernels: Annotated[
        bool, option("--kernels", "Take the step kernels alone, for every architecture.")
    ] = False,
    arch: Annotated[
        list[str] | None,
        option("--arch ARCHS", "Compile kernels for these architectures, such as gfx90a,gfx1100."),
    ] = None,
    baseline: Annotated[
        str,
        option(
            "--baseline REV",
            "The commit to compare with; the one on which apply was run, by default.",
        ),
    ] = "",
    gating: GatingOption = None,
    profile: Profile = "",
    shard: Annotated[
        str,
        option("--shard I/N", "Take this share of the tests and kernels, as one of N machines."),
    ] = "",
    test_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="After how long a test counts as hung.")
    ] = 300,
    no_cache: Annotated[
        bool, option("--no-cache", "Use nothing that an earlier run has found.")
    ] = False,
    package: Annotated[
        list[str] | None,
        option(
            "--package NAMES", "Compile and test these crates alone (check, lint, regress, device)."
        ),
    ] = None,
    device: Annotated[
        Device,
        option(
            "--device",
            "Run the ported tests on an AMD GPU, on AMD's emulator of one, on the CPU device,"
            " or on a GPU if there is one.",
        ),
    ] = Device.AUTO,
    gpu: Gpu = "",
    emulator: EmulatorProgram = "",
    rocm: Rocm = "",
    wave: Annotated[
        list[str] | None,
        option("--wave LANES", "The wavefronts of the CPU device, 32 (the default), 64, or 32,64."),
    ] = None,
    check_memory: Annotated[
        bool,
        option(
            "--check-memory",
            "Have the CPU device watch every access of memory: races, reads of what nobody"
            " wrote, accesses out of bounds.",
        ),
    ] = False,
    chaos: Annotated[
        int,
        typer.Option(
            metavar="SEED",
            min=0,
            help="Have the CPU device do what HIP leaves open in any way, by a number; with 0, as"
            " without this, in one way.",
            show_default=False,
        ),
    ] = 0,
    trust: Trust = False,
    sandbox: Sandbox = False,
    series: Annotated[
        bool,
        option(
            "--series",
            "Take the steps on each commit that apply --series has written: format, coverage"
            " and check, unless --only or --until names others.",
        ),
    ] = False,
    json: Annotated[
        str,
        option(
            "--json FILE",
            "Write the report as JSON as well; with - to standard output, in place of lines.",
        ),
    ] = "",
    page: Annotated[
        Path | None,
        option(
            "--report FILE", "Write an HTML report of the tree and of what is proven to this file."
        ),
    ] = None,
) -> int:
    """Check a port step by step: build, parity, kernels, tests.

    What passed is not looked at again while nothing changes, so a run that was cut goes on where it
    was. What cargo writes goes to standard error.

    To compile a tree is to run what it brings. A tree that portkit has not fetched is asked about
    once; without a terminal --trust says yes.
    """
    from portkit.errors import VerificationError
    from portkit.report.run_display import RunReporter
    from portkit.verify import InvalidOptionError, Options, parse_shard, verify_tree
    from portkit.verify.kernels_step import EVERY
    from portkit.verify.options import EMULATED, parse_archs, parse_waves

    if device in (Device.GPU, Device.EMULATOR) and (wave or check_memory):
        raise typer.BadParameter(
            "--wave and --check-memory are for the CPU device: leave them away, or --device"
            f" {device}"
        )
    check_emulated(gpu, emulator, rocm, wanted=device is Device.EMULATOR)
    if device is Device.EMULATOR and (chaos or sandbox):
        raise typer.BadParameter(
            "--chaos and --sandbox do not work with --device emulator: leave them away"
        )
    try:
        options = Options(
            only=(*split_words(only), *(["kernels"] if kernels else [])),
            until=until,
            keep_going=keep_going,
            no_skip=no_skip,
            revision=baseline,
            gating=gating or "",
            shard=parse_shard(shard),
            cached=not no_cache,
            test_seconds=test_timeout,
            archs=parse_archs(split_words(arch)) or (EVERY if kernels else ()),
            report=Path(json) if json not in ("", "-") else None,
            packages=split_words(package),
            device=device.value,
            gpu=gpu or EMULATED,
            emulator=emulator,
            rocm=rocm,
            waves=parse_waves(split_words(wave)),
            checked=check_memory,
            chaos=chaos,
            profile=find_profile_directory(profile),
            asked=format_options(gating, profile),
            sandbox=sandbox,
        )
        consent = partial(check_consent, given=trust)
        made = partial(
            RunReporter,
            directory.as_posix(),
            show=lambda text: print_text(text, end=""),
            screen=open_screen(),
            errors=sys.stderr,
            error_screen=open_error_terminal(),
            live=sys.stderr.isatty(),
            document=json,
        )
        if series:
            if json or page is not None:
                raise typer.BadParameter("--series writes no document: leave those options away")
            from portkit.cli.series import verify_series

            return verify_series(directory, options, made, consent)
        reporter = made(options)
        summary = verify_tree(directory, options, reporter, consent=consent)
    except InvalidOptionError as error:
        raise typer.BadParameter(str(error)) from None
    code = reporter.sum_up(summary)
    if page is not None:
        _write_html_report(page, directory, options, summary)
    if sentence := summary.sentence(str(directory)):
        lost = VerificationError(sentence)
        lost.exit_code = code
        raise lost
    return code


def _write_html_report(page: Path, directory: Path, options: Options, summary: Summary) -> None:
    import json

    from portkit.cli.output import write_report
    from portkit.engine.session import scan_tree
    from portkit.report.html import render_page
    from portkit.report.model import make_report
    from portkit.report.snippets import build_snippets
    from portkit.report.verify_report import render_verify_json

    scanned = scan_tree(directory, gating=options.gating, profile=options.profile)
    shown = make_report(scanned, directory.as_posix())
    verified = json.loads(render_verify_json(directory.as_posix(), options, summary))
    write_report(render_page(shown, build_snippets(scanned), verified=verified), page)
