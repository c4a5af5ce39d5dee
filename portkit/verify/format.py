"""The step that asks whether rustfmt would leave the ported tree as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import ToolError
from portkit.verify.step_runner import Step, fail_step, pass_step, skip_step

if TYPE_CHECKING:
    from portkit.verify.ported_tree import PortedTree
    from portkit.verify.step_runner import Outcome


def check_format(tree: PortedTree) -> Outcome:
    """Run ``cargo fmt --check``; what the baseline had unformatted already does not count."""
    if tree.lacks("fmt"):
        return skip_step("rustfmt is not installed: rustup component add rustfmt")
    unformatted = _list_unformatted(tree, tree.root)
    if not unformatted:
        return pass_step("`cargo fmt --all --check` is clean")
    new = sorted(unformatted - _list_unformatted(tree, tree.baseline))
    if new:
        return fail_step(f"rustfmt would change {len(new)} files", *new)
    return pass_step(f"rustfmt would change {len(unformatted)} files, all as before the port")


def _list_unformatted(tree: PortedTree, folder: Path) -> set[str]:
    done = tree.cargo("fmt", "--all", "--", "--check", "--files-with-diff", folder=folder)
    root = folder.resolve()
    # With --files-with-diff (-l) rustfmt prints the absolute path of each, one a line.
    paths = [Path(line) for line in done.lines if line.endswith(".rs")]
    found = {p.relative_to(root).as_posix() for p in paths if p.is_relative_to(root)}
    if done.status != 0 and not found:
        said = next((line for line in done.lines if line.startswith("error")), "no message")
        raise ToolError(f"`cargo fmt` failed in {folder} ({said}): mend that and verify again")
    return found


def _list_inputs(tree: PortedTree) -> tuple[str, ...]:
    return (tree.version("rustfmt", "--version"), tree.baseline_tree)


FORMAT: Final = Step(
    "format", "rustfmt leaves the tree as it is", 40, check_format, inputs=_list_inputs
)
