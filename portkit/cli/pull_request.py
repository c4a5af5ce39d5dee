"""``portkit pull-request``: the text of a pull request with the port of a tree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from portkit.cli.command import command
from portkit.cli.options import (
    Directory,
    GatingOption,
    Output,
    Profile,
    as_asked,
    profile_directory,
)
from portkit.cli.output import deliver
from portkit.report.progress import waiting


@command(
    "portkit pull-request candle",
    "portkit pull-request candle --verified verify.json --output pull-request.md",
    name="pull-request",
)
def pull_request(
    directory: Directory = Path(),
    output: Output = None,
    verified: Annotated[
        Path | None,
        typer.Option(
            "--verified",
            metavar="FILE",
            help="What verify --json has written, as what was proven.",
        ),
    ] = None,
    baseline: Annotated[
        str,
        typer.Option(
            metavar="REV",
            help="The commit before the port; the one on which apply was run, by default.",
            show_default=False,
        ),
    ] = "",
    gating: GatingOption = None,
    profile: Profile = "",
) -> None:
    """Write the text of a pull request with a port, in GitHub's Markdown.

    What is new for a user, what a reviewer should look at, what was proven and what was not, limits
    and sizes. It is no longer than GitHub takes.
    """
    from portkit.report import pull_request as text
    from portkit.report.api import changed
    from portkit.report.documents import read_verified
    from portkit.report.model import report
    from portkit.scan.session import scan_tree
    from portkit.tree.git_series import lines_changed, members, texts_at
    from portkit.verify.options import Options
    from portkit.verify.session import check_ported
    from portkit.verify.tree import Tree

    proof = read_verified(verified) if verified is not None else None
    options = Options(revision=baseline)
    with waiting(f"Looking at {directory}"):
        found = scan_tree(directory, gating=gating or "", profile=profile_directory(profile))
        check_ported(found, directory, as_asked(gating, profile))
        tree = Tree(found, options, lambda line: None)
        series = members(tree.root)
        base = tree.commit if baseline or not series else series[0].parent
        feature = found.job.feature
        lines = lines_changed(tree.root, base)
        sources = found.job.workspace.sources
        after = {path: sources[path].data for path in lines if path in sources}
        facts = text.Facts(
            renamed=found.job.rename,
            feature=feature,
            crates=tuple(c.name for c in found.job.workspace.crates if feature in c.features),
            base=base,
            lines=lines,
            api=changed(texts_at(tree.root, base, after), after),
            series=series,
            verified=proof,
        )
    deliver(text.pull_request(report(found, directory.as_posix()), facts), output)
