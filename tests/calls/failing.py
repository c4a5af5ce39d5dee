"""Writes a small port again and again, with one call failing each time; for test_apply_calls.py.

Usage: failing.py FOLDER ACTION PLACE ERROR FIRST STEP, with calls.so loaded: every STEP-th call
from FIRST on fails once. Prints one JSON document.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from apply_support import CHANGES, expected, leftovers, make_tree, picture
from calls_support import Failures
from cli_support import invoke, make_candle

from portkit.errors import PortkitError
from portkit.transaction import transaction
from portkit.transaction.transaction import recover_run, write_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from apply_support import Picture


def said(action: Callable[[], object]) -> str:
    """Run an action in a forked process and return what went wrong."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        text = ""
        try:
            action()
        except PortkitError as error:
            text = str(error) or "nothing"
        except BaseException:
            import traceback

            text = "DEFECT " + traceback.format_exc()
        os.write(writing, text.encode()[:60_000])
        os._exit(0)
    os.close(writing)
    pieces = []
    while piece := os.read(reading, 1 << 16):
        pieces.append(piece)
    os.close(reading)
    os.waitpid(child, 0)
    return b"".join(pieces).decode()


def applied(root: Path) -> None:
    """Run the whole command."""
    done = invoke("apply", root, "--no-format", "--allow-dirty")
    if done.code:
        prefix = "DEFECT " if done.code in (1, 70) or "Traceback" in done.err else ""
        raise PortkitError(f"{prefix}{done.code} {done.err}")
    if "PK902" in done.out:  # a file that cannot be read: the rest is ported, and it is named
        raise PortkitError(done.out)


def main() -> None:
    """Have each call fail once."""
    base, action, place = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    code, first, step = map(int, sys.argv[4:])
    root, pristine = base / "tree", base.with_name("pristine")
    failures = Failures(Path(os.environ["CALLS_STATE"]))
    os.environ["XDG_STATE_HOME"] = str(base / "state")
    os.umask(0o022)
    if place == "in tree":
        transaction._is_same_file_system = lambda one, other: False
    run: Callable[[], object]
    again: Callable[[], object]
    ends: tuple[Picture, ...]
    if action == "write":
        make_tree(pristine, git=place == "git")
        before = picture(pristine)
        after = expected(before)
        run, again = partial(write_plan, root, CHANGES), partial(recover_run, root)
        ends = (before, after)
    else:
        make_candle(pristine)
        before = picture(pristine)
        reset(base, pristine)
        run = again = partial(applied, root)
        run()
        after = picture(root)
        ends = (after,)
    counts: Counter[str] = Counter()
    lost = []
    for at in itertools.count(first, step):
        reset(base, pristine)
        failures.arm(base, at, code)
        text = said(run)
        if failures.disarm() <= at:
            break
        counts["calls"] += 1
        own = {path: held for path, held in picture(root).items() if ".portkit-" not in path}
        state = next((n for n, p in (("before", before), ("after", after)) if own == p), "between")
        counts[f"{'refused' if text else 'went on'}, {state}"] += 1
        problem = said(again)
        final = picture(root)
        wrong = {
            "this is no sentence for a user": text.startswith("DEFECT"),
            f"nothing is said, and the tree is {state}": not text and state != "after",
            f"the next run: {problem}": bool(problem),
            f"the next run leaves {differing(final, after)}": final not in ends,
            f"the next run leaves {leftovers(root)}": bool(leftovers(root)),
        }
        lost += [f"call {at}: {what}: {text}" for what, so in wrong.items() if so]
    print(json.dumps({"counts": counts, "lost": lost}))


def differing(one: Picture, other: Picture) -> list[str]:
    """Return the paths in which two pictures differ."""
    return sorted(path for path in {*one, *other} if one.get(path) != other.get(path))


def reset(base: Path, pristine: Path) -> None:
    """Make the tree anew."""
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    shutil.copytree(pristine, base / "tree")


if __name__ == "__main__":
    main()
