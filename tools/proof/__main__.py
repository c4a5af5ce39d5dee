"""``python -m tools.proof``: the cross-check on its own, with its seed and its table.

``portkit verify`` takes it as a step; here a person looks closer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.codebases.directory import Directory
    from portkit.verify.verified_tree import VerifiedTree

app = typer.Typer(add_completion=False, no_args_is_help=True)

_Root = Annotated[Path, typer.Argument(metavar="TREE", help="A ported tree.")]
_Waves = Annotated[str, typer.Option("--wave", help="Wavefronts of the CPU device, such as 32,64.")]
_Checked = Annotated[bool, typer.Option("--check-memory", help="Watch every access of memory.")]


@app.command()
def crosscheck(
    root: _Root,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")] = 1,
    cases: Annotated[int, typer.Option(help="Of each operation and type.")] = 24,
    only: Annotated[str, typer.Option(help="Operations and types with this text.")] = "",
    feature: Annotated[
        list[str] | None, typer.Option(help="Turn this on as well, such as miopen; repeatable.")
    ] = None,
    wave: _Waves = "32",
    check_memory: _Checked = False,
    gpu: Annotated[
        str, typer.Option(metavar="ARCH", help="Run on AMD's emulator of this GPU.")
    ] = "",
    report: Annotated[Path | None, typer.Option(help="Write a page about it.")] = None,
) -> None:
    """Compare a port with arithmetic of our own, on the CPU device or on AMD's emulator."""
    from datetime import date

    from portkit.numerics.known_differences import load_table
    from portkit.verify.crosscheck import compare_on_device, judge_comparisons
    from portkit.verify.device_choice import build_cpu_device, start_emulated_gpu
    from portkit.verify.step_runner import Verdict
    from portkit.workspace.process import end_on_signals
    from tools.proof.report import page

    tree = _tree(root, wave, checked=check_memory, gpu=gpu)
    table = load_table(_directory(tree))
    device = start_emulated_gpu(tree) if gpu else build_cpu_device(tree)
    with end_on_signals():
        runs = compare_on_device(
            tree, device, table, seed=seed, cases=cases, only=only, features=feature or ()
        )
    found = judge_comparisons(device, runs, whole=not only)
    for line in found.evidence:
        typer.echo(line)
    if report is not None:
        text = page(tree.title, date.today().isoformat(), runs, whole=not only)
        report.write_text(text, encoding="utf-8")
    raise typer.Exit(0 if found.verdict is Verdict.PASSED else 1)


@app.command()
def mutations(
    root: Annotated[Path, typer.Argument(metavar="COPY", help="A copy of a port; it is edited.")],
    results: Annotated[Path, typer.Option(help="What was found, kept from run to run.")],
    step: Annotated[
        list[str] | None, typer.Option(help="Take this step alone; repeatable.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Take this mutant alone.")] = None,
    package: Annotated[list[str] | None, typer.Option(help="Test this crate alone.")] = None,
    wave: _Waves = "32,64",
    narrow: Annotated[
        bool, typer.Option(help="Cross-check the operations alone that a mutant names.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="Begin nothing after this time.")] = float("inf"),
    report: Annotated[Path | None, typer.Option(help="Write the page about it.")] = None,
) -> None:
    """Seed defects into a port, one at a time, and see which step of the ladder finds each."""
    from portkit.verify.options import parse_waves
    from tools.proof.mutation import load_mutants
    from tools.proof.mutation_run import LADDER, page, take_steps

    tree = _tree(root, "32", checked=False)
    every = load_mutants(_directory(tree))
    found = take_steps(
        root,
        [mutant for mutant in every if not only or mutant.name in only],
        results,
        steps=step or LADDER,
        waves=parse_waves(wave.split(",")),
        packages=tuple(package or ()),
        seconds=seconds,
        narrow=narrow,
    )
    caught = {each.mutant for each in found if each.caught}
    for each in found:
        if each.caught:
            typer.echo(f"{each.mutant}: {each.step}: {each.said}")
    typer.echo(f"{len(caught)} of {len(every)} mutants are caught")
    if report is not None:
        text = page(f"the port of {tree.title}", every, found)
        report.write_text(text, encoding="utf-8")


@app.command()
def bindings(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="For a copy of the bindings; made anew.")
    ],
    results: Annotated[Path, typer.Option(help="What was found, kept from run to run.")],
    only: Annotated[list[str] | None, typer.Option(help="Take this mutant alone.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write the page about it.")] = None,
) -> None:
    """Seed defects into the HIP bindings, one at a time, and see which test finds each."""
    from tools.proof.bindings import RUNS, load_mutants, take_tests
    from tools.proof.mutation_run import page

    every = load_mutants()
    found = take_tests(folder, [m for m in every if not only or m.name in only], results)
    for each in found:
        if each.caught:
            typer.echo(f"{each.mutant}: {each.step}: {each.said}")
    typer.echo(f"{len({each.mutant for each in found if each.caught})} of {len(every)} are caught")
    if report is not None:
        text = page("the HIP bindings", every, found, tuple(RUNS))
        report.write_text(text, encoding="utf-8")


@app.command()
def operations(
    root: Annotated[Path, typer.Argument(metavar="COPY", help="A copy of a port; it is edited.")],
    programs: Annotated[Path, typer.Option(help="Tests in Rust that run the operations.")],
    folder: Annotated[Path, typer.Option(help="For what is built of them.")],
    results: Annotated[Path, typer.Option(help="What was found, kept from run to run.")],
    only: Annotated[list[str] | None, typer.Option(help="Take this mutant alone.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write the page about it.")] = None,
) -> None:
    """Seed defects into attention and experts, one at a time, and see which program finds each."""
    from tools.proof.mutation_run import page
    from tools.proof.operations import RUNS, load_mutants, take_programs

    tree = _tree(root, "32", checked=False)
    every = load_mutants(_directory(tree))
    wanted = [mutant for mutant in every if not only or mutant.name in only]
    found = take_programs(root, programs, folder.absolute(), wanted, results, tree.settings)
    caught = [each for each in found if each.caught]
    for each in caught:
        typer.echo(f"{each.mutant}: {each.step}: {each.said}")
    typer.echo(f"{len({each.mutant for each in caught})} of {len(every)} mutants are caught")
    if report is not None:
        report.write_text(page("attention and experts", every, found, tuple(RUNS)), "utf-8")


@app.command()
def chaos(
    root: _Root,
    folder: Annotated[Path, typer.Option(help="For what is built of the bindings.")],
    results: Annotated[Path, typer.Option(help="What was found, kept from run to run.")],
    seed: Annotated[str, typer.Option(help="Seeds, such as 1-20.")] = "1-20",
    part: Annotated[
        list[str] | None, typer.Option(help="Take bindings, tests or crosscheck alone; repeatable.")
    ] = None,
    package: Annotated[list[str] | None, typer.Option(help="Test this crate alone.")] = None,
    wave: _Waves = "32,64",
    seconds: Annotated[float, typer.Option(help="Begin nothing after this time.")] = float("inf"),
    report: Annotated[Path | None, typer.Option(help="Write the page about it.")] = None,
) -> None:
    """Run what the CPU device can run, whatever it does that HIP leaves open."""
    from dataclasses import replace

    from tools.proof.chaos import PARTS, page, parse_seeds, take_seeds

    tree = _tree(root, wave, checked=False)
    tree = replace(tree, options=replace(tree.options, packages=tuple(package or ())))
    seeds = parse_seeds(seed)
    parts = [name for name in PARTS if not part or name in part]
    found = take_seeds(tree, folder.absolute(), results, seeds=seeds, parts=parts, seconds=seconds)
    failed = [each for each in found if each.lost]
    for each in failed:
        typer.echo(f"{each.part}, wave {each.wave}, seed {each.seed}: {'; '.join(each.lost)}")
    typer.echo(f"{len(failed)} of {len(found)} runs fail")
    if report is not None:
        report.write_text(page(tree, found, seeds), encoding="utf-8")
    raise typer.Exit(1 if failed else 0)


@app.command()
def ranks(
    folder: Annotated[Path, typer.Option(help="For what is built of the bindings.")],
    wave: _Waves = "32,64",
    report: Annotated[Path | None, typer.Option(help="Write the page about it.")] = None,
) -> None:
    """Compare what ranks of RCCL compute with arithmetic, two to eight on the CPU device."""
    from portkit.verify.options import parse_waves
    from tools.proof.ranks import page, take

    runs = take(folder.absolute(), parse_waves(wave.split(",")))
    told = [(f"wave {run.wave}", len(run.cases), run.lost) for run in runs]
    _compared(told, page(runs, _today()), report)


@app.command()
def convolutions(
    folder: Annotated[Path, typer.Option(help="For what is built of the bindings.")],
    wave: _Waves = "32,64",
    report: Annotated[Path | None, typer.Option(help="Write the page about it.")] = None,
) -> None:
    """Compare what MIOpen's convolutions give with arithmetic, on the CPU device."""
    from portkit.verify.options import parse_waves
    from tools.proof.convolutions import page, take

    runs = take(folder.absolute(), parse_waves(wave.split(",")))
    told = [(f"wave {run.wave}, {run.choice}", len(run.cases), run.lost) for run in runs]
    _compared(told, page(runs, _today()), report)


def _compared(runs: Sequence[tuple[str, int, str]], text: str, report: Path | None) -> NoReturn:
    """Say of each run how many cases it had and what it lost, write the page, and end."""
    for title, count, lost in runs:
        typer.echo(f"{title}: {count} cases: {lost or 'none is off by more than its type allows'}")
    if report is not None:
        report.write_text(text, encoding="utf-8")
    raise typer.Exit(1 if any(lost for _, _, lost in runs) else 0)


def _today() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).date().isoformat()


def _tree(root: Path, waves: str, *, checked: bool, gpu: str = "") -> VerifiedTree:
    """Return a tree whose code will be run.

    Raises:
        PortkitError: it may not be run, or cannot be scanned.
    """
    from portkit.engine.session import scan_tree
    from portkit.verify.options import EMULATED, EMULATOR, Options, parse_waves
    from portkit.verify.verified_tree import VerifiedTree
    from portkit.workspace.trust import require_trust

    require_trust(root)
    options = Options(
        waves=parse_waves(waves.split(",")),
        checked=checked,
        device=EMULATOR if gpu else "cpu",
        gpu=gpu or EMULATED,
    )
    return VerifiedTree(scan_tree(root), options, lambda line: typer.echo(line, err=True))


def _directory(tree: VerifiedTree) -> Directory:
    """Return the directory of a tree's codebase.

    Raises:
        ProfileError: it has none.
    """
    from portkit.errors import ProfileError

    found = tree.scan.job.codebase.directory
    if found is None:
        raise ProfileError(f"portkit has no profile for {tree.root}: name it in its portkit.toml")
    return found


def main() -> int:
    """Run a command, and say in one sentence what is wrong where something is."""
    from portkit.errors import PortkitError

    try:
        app()
    except PortkitError as error:
        typer.echo(f"error: {error}", err=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
