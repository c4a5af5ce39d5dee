"""The step that asks whether the CPU tests give the results that they gave before the port."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from portkit.errors import VerificationError
from portkit.verify.cargo_features import asking
from portkit.verify.ladder import Step, failed, passed
from portkit.verify.testing import (
    bad,
    built,
    figures,
    packed,
    tested,
    tested_documentation,
    unpacked,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.verify.ladder import Outcome
    from portkit.verify.testing import Results
    from portkit.verify.tree import Tree

_SHOWN: Final = 10


def take(tree: Tree) -> Outcome:
    """Run the tests of the tree and of the baseline, and compare them one by one."""
    after = _after(tree)
    before = _before(tree)
    changed = worse(before, after)
    counts = figures(after) | {"tests before": before.total(), "worse": len(changed)}
    if changed:
        return failed(
            f"{len(changed)} of {before.total()} tests do not give the same result",
            *_lines(changed, before, after),
            figures=counts,
        )
    more = after.total() - before.total()
    new_tests = f"; {more} new tests pass or are ignored" if more else ""
    unchanged = f"{before.total()} tests give the same results as {tree.commit[:12]}{new_tests}"
    ill = (f"failed before as well: {name} ({result})" for name, result in sorted(bad(after)))
    return passed(unchanged, *ill, figures=counts)


def worse(before: Results, after: Results) -> list[str]:
    """Return the names of the tests that pass less often than before, fail more often, or are gone.

    A test that failed before the port may go on failing, in whatever way, or be mended.
    """
    counts = [
        {
            name: (here[name, "ok"], -ill[name], total[name])
            for name in {name for name, _ in (*before, *after)}
        }
        for here in (before, after)
        for ill in [_by_name(bad(here))]
        for total in [_by_name(here)]
    ]
    return sorted(
        name
        for name, then in counts[0].items()
        if any(now < once for now, once in zip(counts[1][name], then, strict=True))
    )


def _by_name(found: Results) -> Counter[str]:
    return Counter(name for name, _ in found.elements())


def _lines(names: Sequence[str], before: Results, after: Results) -> list[str]:
    """Return what the tests gave before and give now, in the order of the names."""
    lines = []
    for name in names[:_SHOWN]:
        for title, found in (("before", before), ("now", after)):
            results = sorted(result for test, result in found.elements() if test == name)
            lines.append(f"{title}: {name} {', '.join(results) or 'none'}")
    more = len(names) - _SHOWN
    return [*lines, *([f"and {more} more tests"] if more > 0 else [])]


def _after(tree: Tree) -> Results:
    """Return the results of the tree; those of each binary are kept, for a run that is cut."""
    files = tree.memory.files()
    binaries = built(tree, *asking(tree, among=tree.tested), *tree.packages)
    unchanged = files == tree.memory.files()
    key = (tree.memory.key(tree.root, files),) if unchanged else ()
    found: Results = Counter()
    for binary in binaries:
        found += tested(tree, binary, key=key)
    found += tested_documentation(tree, *asking(tree, among=tree.tested), *tree.packages)
    if not found:
        raise VerificationError(f"there is no test in {tree.root}: name a tree that has some")
    return found


def _before(tree: Tree) -> Results:
    """Return the baseline's results, from the user's cache where it was tested before."""
    options = tree.options
    share = (str(options.shard), str(options.test_seconds))
    key = tree.memory.key(tree.root, tree.baseline_tree, "baseline", *tree.tested, *share)
    kept = tree.memory.load(key, "results")
    if kept is not None:
        tree.say(f"the results of {tree.commit[:12]} are known from an earlier run")
        return unpacked(kept["results"])
    folder = tree.baseline
    found: Results = Counter()
    for binary in built(tree, *asking(tree, among=tree.tested), *tree.packages, folder=folder):
        found += tested(tree, binary)
    found += tested_documentation(
        tree, *asking(tree, among=tree.tested), *tree.packages, folder=folder
    )
    tree.memory.save(key, {"results": packed(found)})
    return found


def _inputs(tree: Tree) -> tuple[str, ...]:
    return (tree.baseline_tree, *tree.tested, str(tree.options.test_seconds))


REGRESS: Final = Step(
    "regress",
    "the CPU tests give the results that they gave before",
    45,
    take,
    divisible=True,
    inputs=_inputs,
)
