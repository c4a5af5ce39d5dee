"""Type-check a port before ``portkit apply`` writes it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from portkit.cli.output import print_progress
from portkit.errors import ToolError, VerificationError
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from portkit.engine.plan import Plan
    from portkit.engine.scan import Scan
    from portkit.report.model import ReportedSite
    from portkit.verify.revert_failures import TypeCheckedPort


class TypeCheck(Value, frozen=True):
    """Whether a port was type-checked.

    Attributes:
        checking: what type-checks; None if nothing was compiled.
        sentence: what the user reads about it; empty if there is nothing to say.
    """

    checking: TypeCheckedPort | None
    sentence: str

    @staticmethod
    def skipped(sentence: str) -> TypeCheck:
        """Return a check that did not run."""
        return TypeCheck(None, sentence)


def check_types(
    whole: Scan,
    chosen: Scan,
    planned: Callable[[Scan], Plan],
    *,
    verify: bool | None,
    consent: Callable[[Path], object],
    sandbox: bool,
    all_or_nothing: bool,
) -> TypeCheck:
    """Type-check a port before it is written."""
    from portkit.verify.options import Options
    from portkit.verify.revert_failures import STEP, check_port
    from portkit.verify.verified_tree import VerifiedTree

    if verify is False:
        return TypeCheck.skipped("Not type-checked: you passed --no-verify.")
    if verify is None and not is_checked_by_default(whole.job.workspace.root):
        return TypeCheck.skipped(
            "Not type-checked: that would run the tree's build scripts and macros. Pass --verify to"
            " allow it, or --verify --sandbox to run them in a sandbox."
        )

    def say(line: str) -> None:
        if line.startswith(("$ ", STEP)):  # rustc's own words come with the findings
            print_progress(line)

    began = time.monotonic()
    try:
        checking = check_port(
            VerifiedTree(whole, Options(gating=whole.job.gating.value, sandbox=sandbox), say),
            chosen,
            planned,
            consent=consent,
            all_or_nothing=all_or_nothing,
        )
    except (ToolError, VerificationError) as error:
        if verify:
            raise
        return TypeCheck.skipped(f"Not type-checked: {error}.")
    seconds = time.monotonic() - began
    return TypeCheck(checking, f"Type-checked in {seconds:.0f} s, {checking.features}.")


def is_checked_by_default(root: Path) -> bool:
    """Return whether a port is type-checked if the user does not say: the tree is trusted."""
    from portkit.workspace.trust import find_trust_reason

    return bool(find_trust_reason(root))


def list_reverted(checking: TypeCheckedPort | None) -> tuple[ReportedSite, ...]:
    """Return the findings that were dropped because they do not type-check, sorted."""
    from portkit.report.model import locate_finding
    from portkit.workspace.finding import identify_findings

    if checking is None:
        return ()
    sources = checking.chosen.job.workspace.sources
    found = (
        locate_finding(finding, sources.get(finding.path), identity)
        for identity, finding in identify_findings(checking.chosen.findings)
        if finding.place in checking.taken
    )
    return tuple(sorted(found, key=lambda site: (site.path, site.line, site.column, site.code)))
