"""The step that checks that clippy finds nothing new."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from portkit.errors import VerificationError
from portkit.verify.blame import attribute_diagnostics
from portkit.verify.step_runner import Step, fail_step, pass_step, skip_step
from portkit.verify.type_check import check, find_missing_tool, list_complaints

if TYPE_CHECKING:
    from collections.abc import Iterable

    from portkit.verify.diagnostics import Diagnostic
    from portkit.verify.step_runner import Outcome
    from portkit.verify.type_check import CheckRun
    from portkit.verify.verified_tree import VerifiedTree

# A lint that is denied would end its crate, and the crates that need it would not be looked at.
_ALL: Final = ("--cap-lints=warn",)


def check_lints(tree: VerifiedTree) -> Outcome:
    """Run clippy without any feature and with the port's, and on the baseline.

    A lint is new where it occurs more often than before the port, wherever it stands: a copy of the
    CUDA side has a path of its own.
    """
    if tree.lacks("clippy"):
        return skip_step("clippy is not installed: rustup component add clippy")
    wanted = {"no feature": (), tree.feature: (tree.feature,)}
    left_out = [
        f"{t}: {why}"
        for t, features in wanted.items()
        if (why := find_missing_tool(tree, features))
    ]
    found = {
        title: _run_clippy(check(tree, "clippy", features, *_ALL), title)
        for title, features in wanted.items()
        if not find_missing_tool(tree, features)
    }
    known: tuple[Diagnostic, ...] = ()
    if any(found.values()):
        known = _run_clippy(check(tree, "clippy", (), *_ALL, folder=tree.baseline), "the baseline")
    new = {d: title for title, all_ in reversed(found.items()) for d in find_new_lints(all_, known)}
    figures = {f"lints: {title}": len(all_) for title, all_ in found.items()}
    figures["lints: baseline"] = len(known)
    if new:
        diagnostics = attribute_diagnostics(tree, new)
        return fail_step(
            f"{len(diagnostics)} lints are new",
            *list_complaints(diagnostics, ()),
            left_out=left_out,
            figures=figures,
            diagnostics=diagnostics,
        )
    total = sum(map(len, found.values()))
    counts = ", ".join(f"{len(all_)} with {title}" for title, all_ in found.items())
    unchanged = f"{counts}: none that the tree before the port lacks, which has {len(known)}"
    said = unchanged if total else "clippy is clean"
    return pass_step(said, left_out=left_out, figures=figures)


def find_new_lints(now: Iterable[Diagnostic], before: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the lints that occur more often than before, the last ones of a kind."""
    allowed = Counter(diagnostic.text_without_position for diagnostic in before)
    new = []
    for diagnostic in now:
        if allowed[diagnostic.text_without_position] > 0:
            allowed[diagnostic.text_without_position] -= 1
        else:
            new.append(diagnostic)
    return new


def _run_clippy(found: CheckRun, title: str) -> tuple[Diagnostic, ...]:
    if not found.good and not found.found:
        said = "; ".join(found.said[:3]) or "no message"
        raise VerificationError(f"clippy failed with {title} ({said}): mend that and verify again")
    return tuple(found.found)


LINT: Final = Step(
    "lint",
    "clippy finds nothing new",
    44,
    check_lints,
    inputs=lambda tree: (
        tree.read_version("cargo", "clippy", "--version"),
        tree.baseline_tree,
        *tree.compiled,
    ),
)
