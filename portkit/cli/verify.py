"""``portkit verify``: the ladder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from portkit.cli.command import command
from portkit.cli.options import Directory, GatingOption  # noqa: TC001 (typer reads them)
from portkit.cli.output import progress, screen, show


class _WithSteps(TyperCommand):
    """The help names the steps, which are imported for nothing else."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from portkit.verify import STEPS

        with formatter.section("Steps"):
            formatter.write_dl([(step.name, step.shows) for step in STEPS])
        super().format_epilog(ctx, formatter)


@command(
    "portkit verify",
    "portkit verify candle --until check",
    "portkit verify candle --only coverage --only parity --json",
    kind=_WithSteps,
)
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
    gating: GatingOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print a document instead of lines.")
    ] = False,
) -> None:
    """Prove what a port claims, step by step.

    What cargo writes goes to standard error.
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
    tree = Tree(scan_tree(directory, gating=gating or ""), baseline, progress)
    results = []
    with interruptible():
        for result in climb(steps, tree, keep_going=keep_going):
            results.append(result)
            if not json:
                show("\n".join(step_lines(result, screen())))
    if json:
        show(verify_json(directory.as_posix(), baseline, results), end="")
    lost = [result.step for result in results if result.verdict is Verdict.FAILED]
    if lost:
        raise VerificationError(
            f"{directory} does not pass {' and '.join(lost)}: mend what the evidence names and"
            " verify again"
        )
