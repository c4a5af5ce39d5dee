"""The step that asks whether the CPU tests give the results that they gave before the port."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Final

from portkit.cache import read_cached, write_cached
from portkit.errors import VerificationError
from portkit.verify.check import errors
from portkit.verify.ladder import Step, failed, passed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from portkit.verify.ladder import Outcome
    from portkit.verify.tree import Tree

Results = Counter[str]
"""How often each line ``binary test result`` occurs."""

# What cargo and libtest write; cargo names the binary in parentheses, with a hash of its own.
_BINARY: Final = re.compile(r"\s*Running (.+) \(.*?([^/\\]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)$")
_DOCUMENTATION: Final = re.compile(r"\s*Doc-tests (\S+)$")
_TEST: Final = re.compile(r"test (.+) \.\.\. (ok|FAILED|ignored)\b")
# A test in the documentation is named by its line, which the port may shift.
_LINE: Final = re.compile(r" \(line \d+\)")
_SHOWN: Final = 10


def take(tree: Tree) -> Outcome:
    """Run the tests of the tree and of the baseline, and compare them one by one."""
    after = _tested(tree, tree.root)
    before = _baseline(tree)
    lost, new = before - after, after - before
    broken = [line for line in new if line.endswith(" FAILED")]
    if lost or broken:
        return failed(
            f"{lost.total()} of {before.total()} tests do not give the same result",
            *[f"before: {line}" for line in sorted(lost)][:_SHOWN],
            *[f"now: {line}" for line in sorted(new)][:_SHOWN],
        )
    more = f"; {new.total()} new tests pass or are ignored" if new else ""
    unchanged = f"{before.total()} tests give the same results as {tree.commit[:12]}{more}"
    return passed(unchanged, *(f"failed before as well: {name}" for name in _failing(before)))


def results(lines: Iterable[str]) -> Results:
    """Return the results in what ``cargo test`` has written."""
    found: Results = Counter()
    binary = ""
    for line in lines:
        if match := _BINARY.match(line):
            binary = f"{match[2]} {match[1]}"
        elif match := _DOCUMENTATION.match(line):
            binary = f"{match[1]} documentation"
        elif match := _TEST.match(line):
            found[f"{binary} {_LINE.sub('', match[1])} {match[2]}"] += 1
    return found


def _failing(found: Results) -> list[str]:
    return sorted(line.removesuffix(" FAILED") for line in found if line.endswith(" FAILED"))


def _baseline(tree: Tree) -> Results:
    """Return the baseline's results, from the user's cache where it was tested before."""
    lock = tree.root / "Cargo.lock"
    if lock.is_file():
        # The same versions of what both depend on; entries of the port's own crates do not matter.
        shutil.copyfile(lock, tree.baseline / "Cargo.lock")
    parts = [
        tree.baseline_tree,
        *tree.tested,
        *(f"{k}={v}" for k, v in sorted(tree.settings.environment.items())),
        os.environ.get("RUSTFLAGS", ""),
        "\n".join(tree.cargo("--version", "--verbose").lines),
        lock.read_text(encoding="utf-8") if lock.is_file() else "",
    ]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32] + ".json"
    kept = read_cached("tested", key)
    if kept is not None:
        tree.say(f"the results of {tree.commit[:12]} are known from an earlier run")
        return Counter(json.loads(kept))
    found = _tested(tree, tree.baseline)
    write_cached("tested", key, json.dumps(found, indent=1, sort_keys=True))
    return found


def _tested(tree: Tree, folder: Path) -> Results:
    crates = [word for crate in tree.tested for word in ("--package", crate)]
    done = tree.cargo("test", "--no-fail-fast", *(crates or ["--workspace"]), folder=folder)
    found = results(done.lines)
    if not found:
        said = "; ".join(errors(done.lines)[:3]) or "there is no test"
        raise VerificationError(f"the tests of {folder} cannot be run ({said}): mend that first")
    return found


REGRESS: Final = Step("regress", "the CPU tests give the results that they gave before", take)
