"""``portkit pull-request``: the text of a pull request with the port of a tree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from portkit.cli.command import make_command
from portkit.cli.options import (
    Directory,
    GatingOption,
    Output,
    Profile,
    find_profile_directory,
    format_options,
    option,
)
from portkit.cli.output import write_report
from portkit.report.progress import show_waiting


@make_command(
    "portkit pull-request candle",
    "portkit pull-request candle --verified verify.json --output pull-request.md",
    name="pull-request",
)
def pull_request(
    directory: Directory = Path(),
    output: Output = None,
    verified: Annotated[
        Path | None,
        option("--verified FILE", "What verify --json has written, as what was proven."),
    ] = None,
    baseline: Annotated[
        str,
        option(
            "--baseline REV",
            "The commit before the port; the one on which apply was run, by default.",
        ),
    ] = "",
    gating: GatingOption = None,
    profile: Profile = "",
) -> None:
    """Write the text of a pull request with a port, in GitHub's Markdown.

    What is new for a user, what a reviewer should look at, what was proven and what was not, limits
    and sizes. It is no longer than GitHub takes.
    """
    from portkit.engine.session import scan_tree
    from portkit.report import pull_request as text
    from portkit.report.model import make_report
    from portkit.report.public_api import find_api_changes
    from portkit.report.stored_reports import read_verification
    from portkit.verify.options import Options
    from portkit.verify.session import check_ported
    from portkit.verify.verified_tree import VerifiedTree
    from portkit.workspace.git_series import count_changed_lines, find_series_members, read_texts_at

    proof = read_verification(verified) if verified is not None else None
    options = Options(revision=baseline)
    with show_waiting(f"Looking at {directory}"):
        found = scan_tree(directory, gating=gating or "", profile=find_profile_directory(profile))
        check_ported(found, directory, format_options(gating, profile))
        tree = VerifiedTree(found, options, lambda line: None)
        series = find_series_members(tree.root)
        base = tree.commit if baseline or not series else series[0].parent
        feature = found.job.feature
        lines = count_changed_lines(tree.root, base)
        sources = found.job.workspace.sources
        after = {path: sources[path].data for path in lines if path in sources}
        facts = text.PullRequestFacts(
            renamed=found.job.rename,
            feature=feature,
            crates=tuple(c.name for c in found.job.workspace.crates if feature in c.features),
            base=base,
            lines=lines,
            api=find_api_changes(read_texts_at(tree.root, base, after), after),
            series=series,
            verified=proof,
        )
    write_report(text.render_pull_request(make_report(found, directory.as_posix()), facts), output)
