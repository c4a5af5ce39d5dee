"""The step that checks that the CPU tests give the same results as before the port."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from portkit.errors import VerificationError
from portkit.verify.cargo_features import select_features
from portkit.verify.step_runner import Step, fail_step, pass_step
from portkit.verify.test_binaries import (
    build_binaries,
    count_results,
    pack_results,
    select_bad,
    test_binary,
    test_documentation,
    unpack_results,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.verify.step_runner import Outcome
    from portkit.verify.test_binaries import Results
    from portkit.verify.verified_tree import VerifiedTree

_SHOWN: Final = 10


def compare_cpu_tests(tree: VerifiedTree) -> Outcome:
    """Run the tests of the tree and of the baseline, and compare them one by one."""
    after = _test_tree(tree)
    before = _test_baseline(tree)
    changed = find_regressions(before, after)
    counts = count_results(after) | {"tests before": before.total(), "worse": len(changed)}
    if changed:
        return fail_step(
            f"{len(changed)} of {before.total()} tests do not give the same result",
            *_describe_results(changed, before, after),
            figures=counts,
        )
    more = after.total() - before.total()
    new_tests = f"; {more} new tests pass or are ignored" if more else ""
    unchanged = f"{before.total()} tests give the same results as {tree.commit[:12]}{new_tests}"
    ill = (
        f"failed before as well: {name} ({result})" for name, result in sorted(select_bad(after))
    )
    return pass_step(unchanged, *ill, figures=counts)


def find_regressions(before: Results, after: Results) -> list[str]:
    """Return the names of the tests that pass less often than before, fail more often, or are gone.

    A test that failed before the port may go on failing, in whatever way, or be mended.
    """
    counts = [
        {
            name: (here[name, "ok"], -ill[name], total[name])
            for name in {name for name, _ in (*before, *after)}
        }
        for here in (before, after)
        for ill in [_group_by_name(select_bad(here))]
        for total in [_group_by_name(here)]
    ]
    return sorted(
        name
        for name, then in counts[0].items()
        if any(now < once for now, once in zip(counts[1][name], then, strict=True))
    )


def _group_by_name(found: Results) -> Counter[str]:
    return Counter(name for name, _ in found.elements())


def _describe_results(names: Sequence[str], before: Results, after: Results) -> list[str]:
    lines = []
    for name in names[:_SHOWN]:
        for title, found in (("before", before), ("now", after)):
            results = sorted(result for test, result in found.elements() if test == name)
            lines.append(f"{title}: {name} {', '.join(results) or 'none'}")
    more = len(names) - _SHOWN
    return [*lines, *([f"and {more} more tests"] if more > 0 else [])]


def _test_tree(tree: VerifiedTree) -> Results:
    """Return the results of the tree; those of each binary are kept, for a run that is cut."""
    files = tree.memory.files()
    binaries = build_binaries(tree, *select_features(tree, among=tree.tested), *tree.packages)
    unchanged = files == tree.memory.files()
    key = (tree.memory.key(tree.root, files),) if unchanged else ()
    found: Results = Counter()
    for binary in binaries:
        found += test_binary(tree, binary, key=key)
    found += test_documentation(tree, *select_features(tree, among=tree.tested), *tree.packages)
    if not found:
        raise VerificationError(f"there is no test in {tree.root}: name a tree that has some")
    return found


def _test_baseline(tree: VerifiedTree) -> Results:
    """Return the baseline's results, from the user's cache where it was tested before."""
    options = tree.options
    share = (str(options.shard), str(options.test_seconds))
    key = tree.memory.key(tree.root, tree.baseline_tree, "baseline", *tree.tested, *share)
    kept = tree.memory.load(key, "results")
    if kept is not None:
        tree.say(f"the results of {tree.commit[:12]} are known from an earlier run")
        return unpack_results(kept["results"])
    folder = tree.baseline
    found: Results = Counter()
    for binary in build_binaries(
        tree, *select_features(tree, among=tree.tested), *tree.packages, folder=folder
    ):
        found += test_binary(tree, binary)
    found += test_documentation(
        tree, *select_features(tree, among=tree.tested), *tree.packages, folder=folder
    )
    tree.memory.save(key, {"results": pack_results(found)})
    return found


REGRESS: Final = Step(
    "regress",
    "the CPU tests give the results that they gave before",
    45,
    compare_cpu_tests,
    divisible=True,
    inputs=lambda tree: (tree.baseline_tree, *tree.tested, str(tree.options.test_seconds)),
)
