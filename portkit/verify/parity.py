"""The step that asks whether ROCm has what CUDA has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.engine.parity import find_missing_counterparts
from portkit.verify.step_runner import Step, fail_step, pass_step

if TYPE_CHECKING:
    from portkit.engine.parity import MissingCounterpart
    from portkit.engine.scan import Scan
    from portkit.verify.ported_tree import PortedTree
    from portkit.verify.step_runner import Outcome


def check_parity(tree: PortedTree) -> Outcome:
    """Compare names in the tree as it stands; the rules have no say."""
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
