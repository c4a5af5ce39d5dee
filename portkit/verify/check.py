"""The step that asks whether the ported tree type-checks."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from portkit.verify.ladder import Step, failed, passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.verify.ladder import Outcome
    from portkit.verify.tree import Tree

# "warning: `candle-core` (lib) generated 2 warnings", for each target of each crate.
_WARNINGS: Final = re.compile(r"^warning: `[^`]+` \([^)]*\) generated (\d+) warning")
_SHOWN: Final = 10


def take(tree: Tree) -> Outcome:
    """Run ``cargo check`` on every target, without any feature and with the port's."""
    evidence: list[str] = []
    for feature in ("", tree.feature):
        title = feature or "no feature"
        done = tree.cargo("check", "--workspace", "--all-targets", f"--features={feature}")
        if done.status != 0:
            return failed(f"{title}: does not type-check", *errors(done.lines), *evidence)
        warnings = sum(int(m[1]) for line in done.lines if (m := _WARNINGS.match(line)))
        evidence.append(f"{title}: type-checks, {warnings} warnings")
    return passed(*evidence)


def errors(lines: Sequence[str]) -> list[str]:
    """Return the first errors of cargo and rustc, each with its place if it has one."""
    found: list[str] = []
    for line, following in pairwise((*lines, "")):
        if line.startswith("error"):
            place = following.strip()
            found.append(f"{line} ({place[4:]})" if place.startswith("--> ") else line)
    return found[:_SHOWN]


CHECK: Final = Step("check", "it type-checks, without the feature and with it", take)
