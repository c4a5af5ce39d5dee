"""The step that asks whether ROCm has what CUDA has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.scan.exceptions import is_excepted
from portkit.scan.parity import unpaired
from portkit.verify.ladder import Step, failed, passed

if TYPE_CHECKING:
    from portkit.scan.parity import Unpaired
    from portkit.scan.scan import Scan
    from portkit.verify.ladder import Outcome
    from portkit.verify.tree import Tree


def take(tree: Tree) -> Outcome:
    """Compare names in the tree as it stands; the rules have no say."""
    lost = [name for name in unpaired(tree.scan) if not _is_excepted(tree.scan, name)]
    if lost:
        return failed(
            f"{len(lost)} names of CUDA's have no counterpart",
            *(f"{u.path}:{u.line}: {u.symbol} without {u.wanted}" for u in lost),
            figures={"unpaired": len(lost)},
        )
    return passed("each name of CUDA's has its counterpart", figures={"unpaired": 0})


def _is_excepted(scan: Scan, name: Unpaired) -> bool:
    """Whether a person has decided that a name has no counterpart."""
    source = scan.job.workspace.sources[name.path]
    return any(
        is_excepted(f)
        and source.position(f.span.start)[0] <= name.end
        and name.line <= source.position(f.span.end)[0]
        for f in scan.findings
        if f.path == name.path
    )


PARITY: Final = Step("parity", "ROCm has what CUDA has", 42, take, looks=True)
