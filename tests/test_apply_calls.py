"""Every call of the C library that touches the tree or the journal fails once: nothing is lost.

Beside tests/test_apply_faults.py, which fails the operations that portkit knows of: here also those
fail that nobody thought of, such as looking at a file, listing a folder, or closing.
"""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from calls_support import needs_compiler
from edits_support import Tried, failing, killed, killed_recovering

if TYPE_CHECKING:
    from collections.abc import Iterator

CODES = pytest.mark.parametrize(
    "code", [errno.EACCES, errno.ENOSPC, errno.EIO], ids=errno.errorcode.get
)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in memory where the system has one: the tree is made anew for each call."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        monkeypatch.setenv("XDG_STATE_HOME", f"{folder}/state")
        (Path(folder) / "base").mkdir()
        yield Path(folder) / "base"


def counts(tried: Tried) -> dict[str, int]:
    """Return how it went, where nothing was lost."""
    assert not tried.lost, "\n".join(tried.lost[:10])
    return tried.counts


@needs_compiler
def test_some_calls_fail_once(base: Path) -> None:
    # Of 347 where this was written: opening, reading, writing, naming, listing, looking, closing.
    found = counts(failing(base, "write", "git", errno.EIO, step=5))
    assert found["calls"] > 50
    assert found["refused, before"] > 30
    assert found["refused, after"] > 2  # after the commit the run goes forward
    assert found["went on, after"] > 2  # what a run can do without, such as links


@needs_compiler
@pytest.mark.real
@pytest.mark.parametrize("place", ["git", "state", "in tree"])
@CODES
def test_each_call_fails_once(base: Path, code: int, place: str) -> None:
    assert counts(failing(base, "write", place, code))["calls"] > 250


@needs_compiler
@pytest.mark.slow
@CODES
def test_each_call_of_the_whole_command_fails_once(base: Path, code: int) -> None:
    """Reading the tree, git's own calls on it, and writing."""
    assert counts(failing(base, "apply", "git", code))["calls"] > 1000


@pytest.mark.slow
def test_a_thousand_kills(base: Path) -> None:
    found = counts(killed(base, 1000))
    assert min(found["as before"], found["as after"]) > 50
    assert found["finished"] > 50


@pytest.mark.slow
def test_two_hundred_kills_of_the_recovery(base: Path) -> None:
    assert counts(killed_recovering(base, 200))["as after"] > 10


def test_some_kills_of_the_recovery(base: Path) -> None:
    counts(killed_recovering(base, 5))
