"""Ranks of the CPU device's RCCL: what it refuses, and what it leaves behind.

What the operations compute is compared by the bindings' own tests, ``collectives`` and ``ranks`` in
``crates/hip/tests``.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from device_support import PROGRAMS, toolkit

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

# ncclSystemError, ncclInvalidUsage and ncclRemoteError (rccl.h).
SYSTEM, USAGE, REMOTE = 2, 5, 6


def ranks(case: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = toolkit().environment(arch="gfx1100") | {"PORTKIT_DEVICE_COUNT": "2"}
    environment |= {f"PORTKIT_DEVICE_{name.upper()}": value for name, value in settings.items()}
    return subprocess.run(
        [sys.executable, str(PROGRAMS / "ranks.py"), case],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where ranks meet: a folder of the test's own, since other tests have ranks as well."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def left(folder: Path) -> list[Path]:
    return list(folder.glob("hipcpu-ranks-*"))


def test_two_ranks_on_one_device_are_refused() -> None:
    done = ranks("one device")
    assert done.returncode == 0, done.stderr
    # The second to look sees that the first has failed.
    told = eval(done.stdout)
    assert USAGE in told and set(told) <= {USAGE, REMOTE}
    assert "another rank has the same device" in done.stderr


def test_ranks_that_disagree_on_how_many_they_are_are_refused() -> None:
    done = ranks("how many")
    assert done.returncode == 0, done.stderr
    told = eval(done.stdout)
    assert USAGE in told and set(told) <= {USAGE, REMOTE}


@pytest.mark.parametrize("streams", ["", "lazy"])
def test_each_rank_scales_what_it_gives(folder: Path, streams: str) -> None:
    done = ranks("scaled", streams=streams)
    assert done.returncode == 0, done.stderr
    assert eval(done.stdout) == [[11.0, 32.0], [11.0, 32.0]]
    assert left(folder) == []


def test_one_thread_that_forms_no_group_is_told_in_time(folder: Path) -> None:
    done = ranks("no group", ranks_limit="1")
    assert done.returncode == 0, done.stderr
    # The call, the end of a group that nobody began, and each call from then on.
    assert eval(done.stdout) == [SYSTEM, USAGE, SYSTEM]
    assert (
        "HIP device: RCCL, rank 0 of 2: rank 1 has not come to its all_reduce of 2 float32 (sum) in"
        " 1 s; the operations of several ranks of one thread belong into a group"
    ) in done.stderr
    assert left(folder) == []


def test_who_asks_how_far_a_stream_is_does_not_wait_for_other_ranks() -> None:
    done = ranks("asked", streams="lazy", ranks_limit="5")
    assert done.returncode == 0, done.stderr
    told, values = done.stdout.splitlines()
    assert (told, eval(values)) == ("[600] True", [[2.0, 5.0], [2.0, 5.0]])


@pytest.mark.parametrize("streams", ["", "lazy"])
def test_a_rank_gets_on_while_its_program_calls_nothing(streams: str) -> None:
    """A collective needs no host once each rank has put it in: its kernels are on the devices."""
    done = ranks("beside an idle one", streams=streams, ranks_limit="5")
    assert done.returncode == 0, done.stderr
    assert eval(done.stdout) == [2.0, 4.0]


def test_a_rank_does_its_operations_in_the_order_of_the_calls() -> None:
    done = ranks("in order", streams="lazy", ranks_limit="5")
    assert done.returncode == 0, done.stderr
    assert eval(done.stdout) == [[2.0, 20.0], [100.0, 1000.0]] * 2


def test_a_group_of_several_streams_holds_all_of_them() -> None:
    done = ranks("mixed", streams="lazy", ranks_limit="5")
    assert done.returncode == 0, done.stderr
    assert eval(done.stdout) == [[2.0, 20.0], [200.0, 2000.0]] * 2


DIFFERENT = {
    "count": ("all_reduce of 2 float32 (sum)", "all_reduce of 1 float32 (sum)"),
    "type": ("all_reduce of 2 float32 (sum)", "all_reduce of 2 int32 (sum)"),
    "operation": ("all_reduce of 2 float32 (sum)", "all_reduce of 2 float32 (maximum)"),
    "root": ("broadcast of 2 float32, root 0", "broadcast of 2 float32, root 1"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_ranks_that_do_not_do_the_same_are_told_what_each_does(folder: Path, what: str) -> None:
    done = ranks(f"differ in {what}", streams="lazy")
    assert done.returncode == 0, done.stderr
    # Whoever sees it first says it; the other, that another rank has failed.
    told = eval(done.stdout)
    assert USAGE in told and set(told) <= {USAGE, REMOTE}
    first = told.index(USAGE)
    own, other = DIFFERENT[what][first], DIFFERENT[what][1 - first]
    text = f"rank {first} of 2: its operation 1 is {own}, and that of rank {1 - first} {other}"
    assert text in done.stderr
    assert left(folder) == []
