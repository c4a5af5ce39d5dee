"""The steps that compile nothing: format, coverage and parity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.engine.parity import find_missing_counterparts
from portkit.errors import ToolError
from portkit.verify.step_runner import Step, fail_step, pass_step, skip_step
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from portkit.engine.parity import MissingCounterpart
    from portkit.engine.scan import Scan
    from portkit.verify.step_runner import Outcome
    from portkit.verify.verified_tree import VerifiedTree
    from portkit.workspace.finding import Finding


def check_parity(tree: VerifiedTree) -> Outcome:
    """Compare the names of both backends, independently of the rules."""
    lost = [
        name for name in find_missing_counterparts(tree.scan) if not _is_excluded(tree.scan, name)
    ]
    if lost:
        return fail_step(
            f"{len(lost)} names of CUDA's have no counterpart",
            *(f"{u.path}:{u.line}: {u.symbol} without {u.wanted}" for u in lost),
            figures={"unpaired": len(lost)},
        )
    return pass_step("each name of CUDA's has its counterpart", figures={"unpaired": 0})


def _is_excluded(scan: Scan, name: MissingCounterpart) -> bool:
    """Whether a person has decided that a name has no counterpart."""
    source = scan.job.workspace.sources[name.path]
    return any(
        f.excluded
        and source.position(f.span.start)[0] <= name.end
        and name.line <= source.position(f.span.end)[0]
        for f in scan.findings
        if f.path == name.path
    )


PARITY: Final = Step("parity", "ROCm has what CUDA has", 42, check_parity, looks=True)


def check_format(tree: VerifiedTree) -> Outcome:
    """Run ``cargo fmt --check``, except for files that were unformatted before the port."""
    if tree.lacks("fmt"):
        return skip_step("rustfmt is not installed: rustup component add rustfmt")
    unformatted = _list_unformatted(tree, tree.root)
    if not unformatted:
        return pass_step("`cargo fmt --all --check` is clean")
    new = sorted(unformatted - _list_unformatted(tree, tree.baseline))
    if new:
        return fail_step(f"rustfmt would change {len(new)} files", *new)
    return pass_step(f"rustfmt would change {len(unformatted)} files, all as before the port")


def _list_unformatted(tree: VerifiedTree, folder: Path) -> set[str]:
    done = tree.run_cargo("fmt", "--all", "--", "--check", "--files-with-diff", folder=folder)
    root = folder.resolve()
    # With --files-with-diff (-l) rustfmt prints the absolute path of each, one a line.
    paths = [Path(line) for line in done.lines if line.endswith(".rs")]
    found = {p.relative_to(root).as_posix() for p in paths if p.is_relative_to(root)}
    if done.status != 0 and not found:
        said = next((line for line in done.lines if line.startswith("error")), "no message")
        raise ToolError(f"`cargo fmt` failed in {folder} ({said}): mend that and verify again")
    return found


FORMAT: Final = Step(
    "format",
    "rustfmt leaves the tree as it is",
    40,
    check_format,
    inputs=lambda tree: (tree.read_version("rustfmt", "--version"), tree.baseline_tree),
)


_SHOWN: Final = 10


def check_coverage(tree: VerifiedTree) -> Outcome:
    """Check that no mention is unaccounted for and no finding is still to do."""
    found = tree.scan
    todo = [finding for finding in found.findings if finding.status is Status.TODO]
    figures = {
        "places": len(found.findings),
        "todo": len(todo),
        "unaccounted": len(found.unaccounted),
    }
    evidence: list[str] = []
    if found.unaccounted:
        evidence.append(f"{len(found.unaccounted)} backend mentions are unaccounted for")
        evidence += _list_first([f"{u.path}:{u.line}" for u in found.unaccounted])
    if todo and not tree.options.unfinished:
        evidence.append(f"{len(todo)} places are still to do: `portkit apply` writes them")
        evidence += _list_first([_format_site(tree, finding) for finding in todo])
    if evidence:
        return fail_step(*evidence, figures=figures)
    later = f", {len(todo)} of them still to do" if todo else ""
    return pass_step(
        f"{len(found.findings)} places account for every backend mention{later}", figures=figures
    )


def _list_first(places: list[str]) -> list[str]:
    more = len(places) - _SHOWN
    return [*places[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _format_site(tree: VerifiedTree, finding: Finding) -> str:
    source = tree.scan.job.workspace.sources.get(finding.path)
    line = f":{source.position(finding.span.start)[0]}" if source is not None else ""
    return f"{finding.code} {finding.path}{line} {finding.symbol}".rstrip()


COVERAGE: Final = Step(
    "coverage", "every mention of a backend is accounted for", 41, check_coverage, looks=True
)
