"""Runs that are killed, disturbed by edits, or meet a disk that fails; and what was lost.

Tests take a few rounds, `ci/edits` takes all and writes the page about them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from apply_support import CHANGES, leftovers, make_tree, picture
from calls_support import Failures, library

from portkit.errors import PortkitError
from portkit.transaction.transaction import Change, recover_run, write_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from apply_support import Picture

EDIT = b"an edit made while portkit was writing\n"
_DRIVER = Path(__file__).parent / "calls" / "failing.py"


@dataclass
class Tried:
    """What came of many runs.

    Attributes:
        counts: how often what happened.
        lost: what should not have been, one line each.
    """

    counts: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def count(self, what: str) -> None:
        """Note that something happened."""
        self.counts[what] = self.counts.get(what, 0) + 1


class _Many:
    """A tree and a plan with so many files that there are moments to be killed at."""

    def __init__(self, base: Path) -> None:
        self.base, self.root = base, base / "tree"
        self.changes = self.fill()
        self.before = picture(self.root)
        begun = time.perf_counter()
        write_plan(self.root, self.changes)
        self.seconds = time.perf_counter() - begun
        self.after = picture(self.root)

    def fill(self) -> list[Change]:
        """Make the tree anew, and return the plan."""
        shutil.rmtree(self.root, ignore_errors=True)
        make_tree(self.root)
        changes = []
        for n in range(60):
            old = b"%d\n" % n * 500
            (self.root / f"src/{n}.rs").write_bytes(old)
            changes.append(Change(f"src/{n}.rs", old, old * 2))
            changes.append(Change(f"new{n % 7}/{n}.rs", None, old))
        return changes

    def judge(self, tried: Tried, what: str) -> None:
        """Look at the tree after the last recovery."""
        now: Picture = picture(self.root)
        if now not in (self.before, self.after):
            tried.lost.append(f"{what}: neither as before nor as after")
        elif leftovers(self.root):
            tried.lost.append(f"{what}: {leftovers(self.root)} is left")
        tried.count("as before" if now == self.before else "as after")


def killed(base: Path, times: int, seed: int = 1) -> Tried:
    """Kill a writing process at random moments; the next run finishes or takes back."""
    many, tried, chance = _Many(base), Tried(), random.Random(seed)
    while tried.counts.get("kills", 0) < times:
        many.fill()
        if _killed_after(
            lambda: write_plan(many.root, many.changes), chance.uniform(0, many.seconds)
        ):
            tried.count("kills")
            if (recovery := recover_run(many.root)) is not None:
                tried.count("finished" if recovery.finished else "taken back")
            many.judge(tried, f"kill {tried.counts['kills']}")
    return tried


def killed_recovering(base: Path, times: int, seed: int = 2) -> Tried:
    """Kill a writing process, and then the one that finishes or takes back what it has left."""
    many, tried, chance = _Many(base), Tried(), random.Random(seed)
    longest = many.seconds / 10
    while tried.counts.get("kills while recovering", 0) < times:
        many.fill()
        if not _killed_after(
            lambda: write_plan(many.root, many.changes), chance.uniform(0, many.seconds)
        ) or not leftovers(many.root):
            continue
        begun = time.perf_counter()
        hit = _killed_after(lambda: recover_run(many.root), chance.uniform(0, longest))
        if not hit:
            longest = max(longest * 0.9, time.perf_counter() - begun)
            recover_run(many.root)
            continue
        tried.count("kills while recovering")
        recover_run(many.root)
        many.judge(tried, f"kill {tried.counts['kills while recovering']}")
    return tried


def _killed_after(action: Callable[[], object], seconds: float) -> bool:
    """Run an action in a process that is killed after a while; whether that was in time."""
    child = os.fork()
    if child == 0:
        try:
            action()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def in_place(place: Path) -> None:
    """As ``echo > file``: the file stays the same one."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(EDIT)


def anew(place: Path) -> None:
    """As most editors save: a new file takes the old one's place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    other = place.with_name(f".{place.name}.swp")
    other.write_bytes(EDIT)
    other.replace(place)


def edited(base: Path, times: int) -> Tried:
    """Edit a file from another process at random moments while it is written."""
    root, tried = base / "tree", Tried()
    for number in range(times):
        shutil.rmtree(base)
        base.mkdir()
        make_tree(root)
        change = CHANGES[number % 2]
        save = (in_place, anew)[number // 2 % 2]
        child = os.fork()
        if child == 0:
            time.sleep(random.Random(number).uniform(0, 0.01))
            save(root / change.path)
            os._exit(0)
        said = ""
        try:
            write_plan(root, CHANGES)
        except PortkitError as error:
            said = str(error)
        os.waitpid(child, 0)
        kept = [p for p in map(Path, leftovers(root)) if p.is_file() and p.read_bytes() == EDIT]
        tried.count("edits")
        if (root / change.path).read_bytes() == EDIT:
            tried.count("refused, the edit stands" if said else "written, the edit stands")
        elif any(str(place) in said for place in kept):
            tried.count("the edit is kept where the error says")
        else:
            tried.lost.append(f"edit {number} ({save.__name__} {change.path}): {said}")
    return tried


def failing(
    folder: Path, action: str, place: str, code: int, *, first: int = 0, step: int = 1
) -> Tried:
    """Have each call that touches a small tree fail once; the next run finishes or takes back.

    Args:
        folder: an empty one.
        action: ``write``, the writing alone, or ``apply``, the whole command.
        place: where the journal lies: ``git``, ``state``, or ``in tree``.
        code: the error.
        first: the number of the first call that fails, from 0.
        step: how many of them to go on by.
    """
    failures = Failures(folder / "calls")
    failures.prepare()
    variables = {
        "CALLS_STATE": str(failures.file),
        "LD_PRELOAD": str(library(folder)),
        "PYTHONPATH": os.pathsep.join(map(str, (_DRIVER.parents[1], _DRIVER.parents[2]))),
    }
    words = (f"{folder}/base", action, place, code, first, step)
    done = subprocess.run(
        [sys.executable, _DRIVER, *map(str, words)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return Tried({}, [f"the driver failed: {done.stderr}"])
    found = json.loads(done.stdout)
    return Tried(found["counts"], found["lost"])
