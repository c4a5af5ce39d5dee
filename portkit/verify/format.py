"""The step that asks whether rustfmt would leave the ported tree as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import ToolError
from portkit.verify.ladder import Step, failed, passed, skipped

if TYPE_CHECKING:
    from portkit.verify.ladder import Outcome
    from portkit.verify.tree import Tree


def take(tree: Tree) -> Outcome:
    """Run ``cargo fmt --check``; what the baseline had unformatted already does not count."""
    if tree.lacks("fmt"):
        return skipped("rustfmt is not installed: rustup component add rustfmt")
    unformatted = _unformatted(tree, tree.root)
    if not unformatted:
        return passed("`cargo fmt --all --check` is clean")
    new = sorted(unformatted - _unformatted(tree, tree.baseline))
    if new:
        return failed(f"rustfmt would change {len(new)} files", *new)
    return passed(f"rustfmt would change {len(unformatted)} files, all as before the port")


def _unformatted(tree: Tree, folder: Path) -> set[str]:
    """Return the files that rustfmt would change, relative to the folder."""
    done = tree.cargo("fmt", "--all", "--", "--check", "--files-with-diff", folder=folder)
    root = folder.resolve()
    # With --files-with-diff (-l) rustfmt prints the absolute path of each, one a line.
    paths = [Path(line) for line in done.lines if line.endswith(".rs")]
    found = {p.relative_to(root).as_posix() for p in paths if p.is_relative_to(root)}
    if done.status != 0 and not found:
        said = next((line for line in done.lines if line.startswith("error")), "no message")
        raise ToolError(f"`cargo fmt` failed in {folder} ({said}): mend that and verify again")
    return found


def _inputs(tree: Tree) -> tuple[str, ...]:
    return (tree.version("rustfmt", "--version"), tree.baseline_tree)


FORMAT: Final = Step("format", "rustfmt leaves the tree as it is", 40, take, inputs=_inputs)
