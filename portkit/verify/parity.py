"""The step that asks whether ROCm has what CUDA has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.parity import unpaired
from portkit.verify.ladder import Step, failed, passed

if TYPE_CHECKING:
    from portkit.verify.ladder import Outcome
    from portkit.verify.tree import Tree


def take(tree: Tree) -> Outcome:
    """Compare names in the tree as it stands; the rules have no say."""
    lost = unpaired(tree.scan)
    if lost:
        return failed(
            f"{len(lost)} names of CUDA's have no counterpart",
            *(f"{u.path}:{u.line}: {u.symbol} without {u.wanted}" for u in lost),
            figures={"unpaired": len(lost)},
        )
    return passed("each name of CUDA's has its counterpart", figures={"unpaired": 0})


PARITY: Final = Step("parity", "ROCm has what CUDA has", 42, take)
