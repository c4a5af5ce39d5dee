"""``portkit trial``: the first run on a machine, into one file that can be sent."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from portkit.cli.command import FOUND, INTERRUPTED, make_command
from portkit.cli.options import (
    EmulatorProgram,
    Gpu,
    Profile,
    Rocm,
    check_emulated,
    option,
    split_words,
)
from portkit.cli.output import open_screen, print_progress, print_text

if TYPE_CHECKING:
    from portkit.selftest.stage_runner import StageEntry
    from portkit.selftest.stages import SelftestOptions

REPORT = Path("portkit-trial.html")


class Device(StrEnum):
    """What the ported tests run on."""

    GPU = "gpu"
    CPU = "cpu"
    EMULATOR = "emulator"


@make_command(
    "portkit trial",
    "portkit trial --device cpu --package candle-core",
    "portkit trial --device emulator --gpu gfx1100 --package candle-core",
    "portkit trial candle --report candle.html",
    "portkit trial --limit tests=7200 --limit crosscheck=600",
    "portkit trial --compare old.html new.html",
)
def trial(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]", help="A tree, ported or not; without it one is fetched."),
    ] = None,
    device: Annotated[
        Device, option("--device", "An AMD GPU, the CPU device, or AMD's emulator of a GPU.")
    ] = Device.GPU,
    gpu: Gpu = "",
    emulator: EmulatorProgram = "",
    rocm: Rocm = "",
    codebase: Annotated[
        str,
        option(
            "--codebase NAME@VERSION",
            "What is fetched; by default the last version that a port is proven on.",
        ),
    ] = "",
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="The file that is written.")
    ] = REPORT,
    package: Annotated[
        list[str] | None, option("--package NAMES", "Test these crates alone.")
    ] = None,
    only: Annotated[list[str] | None, option("--only STAGES", "Take these stages alone.")] = None,
    limit: Annotated[
        list[str] | None, option("--limit STAGE=SECONDS", "How long a stage may take; repeatable.")
    ] = None,
    test_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="After how long a test counts as hung.")
    ] = 120,
    profile: Profile = "",
    offline: Annotated[bool, option("--offline", "Take everything from cargo's cache.")] = False,
    keep_going: Annotated[
        bool, option("--keep-going", "Go on where doctor finds a problem.")
    ] = False,
    trust: Annotated[
        bool,
        option("--trust", "Run what the tree brings: build scripts, macros and tests; this once."),
    ] = False,
    compare: Annotated[
        bool, option("--compare", "Say what differs between two reports, A and B.")
    ] = False,
) -> int:
    """Try a port on this machine, and write one file about it that you can send.

    It looks at the machine as `portkit doctor` does, fetches a codebase, ports it, builds and runs
    its tests, compares every operation with arithmetic of its own and measures some. Each stage has
    a time limit, and one that hangs or crashes ends no other. The file holds no name of a person or
    machine and no source. The exit code is 1 where a stage failed.
    """
    given = places or []
    check_emulated(gpu, emulator, rocm, wanted=device is Device.EMULATOR)
    if compare:
        return _compare_runs(given)
    if len(given) > 1:
        raise typer.BadParameter("one tree at most; two reports are for --compare")
    from portkit.selftest.stages import SelftestOptions, find_newest_spec
    from portkit.selftest.work_folder import prepare_folders

    wanted = SelftestOptions(
        Path(),
        given=bool(given),
        spec=codebase or find_newest_spec(),
        device=device.value,
        emulator=_format_emulator_options(gpu, emulator, rocm),
        packages=split_words(package),
        profile=str(Path(profile).resolve()) if Path(profile).is_dir() and profile else profile,
        only=_list_stages(split_words(only)),
        limits=_list_limits(split_words(limit)),
        test_seconds=test_timeout,
        offline=offline,
        keep_going=keep_going,
    )
    if given:
        from portkit.cli.consent import check_consent
        from portkit.workspace.cargo_workspace import read_root_manifest

        read_root_manifest(given[0])  # before anything is asked about it
        check_consent(given[0].resolve(), given=trust)
    with prepare_folders(wanted, given[0] if given else None) as ready:
        return _run_stages(ready, report)


def _run_stages(wanted: SelftestOptions, report: Path) -> int:
    from datetime import UTC, datetime

    from portkit.selftest.document import build_document, read_program_versions
    from portkit.selftest.page import render_page, write_atomically
    from portkit.selftest.privacy import Scrub
    from portkit.selftest.stage_runner import run_stages
    from portkit.selftest.stages import plan_stages
    from portkit.workspace.process import end_on_signals

    start, day, built_with = (
        time.monotonic(),
        datetime.now(UTC).date().isoformat(),
        read_program_versions(),
    )
    scrub = Scrub.here({wanted.folder: "WORK"})

    def keep(entries: list[StageEntry]) -> dict[str, Any]:
        found = build_document(wanted, entries, time.monotonic() - start, day, built_with)
        clean: dict[str, Any] = scrub.document(found)
        write_atomically(report, render_page(clean))
        return clean

    with end_on_signals():
        entries = run_stages(
            plan_stages(wanted), wanted, keep, lambda line: print_progress(f"  {line}")
        )
        found = keep(entries)
    for step in found["steps"]:
        print_text(f"{step['step']:<10} {step['verdict']:<11} {(step['evidence'] or [''])[0]}")
    print_text(f"\nThe report is {report}: read it, and attach it to an issue.")
    if found["verdict"] == "interrupted":
        return INTERRUPTED
    return FOUND if found["verdict"] == "failed" else 0


def _compare_runs(given: list[Path]) -> int:
    from portkit.selftest.document import read_trial
    from portkit.selftest.run_comparison import render_comparison

    if len(given) != 2:
        raise typer.BadParameter("--compare takes two reports: portkit trial --compare A B")
    one, other = map(read_trial, given)
    print_text(render_comparison(one, other, open_screen()), end="")
    return 0


def _format_emulator_options(gpu: str, program: str, rocm: str) -> tuple[str, ...]:
    """Return what the user says of the emulator as options for another folder."""
    # A program without a folder is looked for on PATH.
    named = str(Path(program).absolute()) if "/" in program else program
    options = {"--gpu": gpu, "--emulator": named, "--rocm": rocm and str(Path(rocm).absolute())}
    return tuple(word for name, value in options.items() if value for word in (name, value))


def _list_stages(names: tuple[str, ...]) -> tuple[str, ...]:
    from portkit.selftest.stages import LIMITS

    for name in names:
        if name not in LIMITS:
            raise typer.BadParameter(f"there is no stage {name!r}; they are {', '.join(LIMITS)}")
    return names


def _list_limits(texts: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for text in texts:
        name, _, seconds = text.partition("=")
        _list_stages((name,))
        try:
            found[name] = float(seconds)
        except ValueError:
            found[name] = 0.0
        if not 0 < found[name] < float("inf"):
            raise typer.BadParameter(f"{text!r} is no limit: write one such as tests=7200")
    return found
