"""Commands that take long: what they write, how they end, and that nothing outlives us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import PROGRAM, environment
from verify_support import (
    Process,
    install_cargo,
    make_ported,
    process,
    stand_in,
    valid,
    wait_until,
)

from portkit.errors import ToolError
from portkit.workspace import process as process_module
from portkit.workspace.process import FinishedProcess, run_process


def sh(folder: Path, body: str, **options: float | int | None) -> FinishedProcess:
    command = ["sh", "-c", body]
    return run_process(
        command,
        folder=folder,
        environment=os.environ,
        show=lambda line: None,
        **options,  # type: ignore[arg-type]
    )


def test_output_is_shown_as_it_comes_and_kept(tmp_path: Path) -> None:
    shown: list[str] = []
    body = "echo one; sleep 0.1; echo two >&2; sleep 0.1; printf three; exit 7"
    done = run_process(
        ["sh", "-c", body], folder=tmp_path, environment=os.environ, show=shown.append
    )
    assert done == FinishedProcess(7, ("one", "two", "three"), ("one", "three"))
    assert shown == ["one", "two", "three"]


def test_a_long_line_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    done = sh(tmp_path, r"printf '%0300000d\n' 7; printf '\377\n'")
    assert [len(line) for line in done.lines] == [300_000, 1]


def test_a_missing_program_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"no-such-program is not on PATH: install it"):
        run_process(["no-such-program"], folder=tmp_path, environment=os.environ, show=print)


@pytest.mark.parametrize("body", ["echo one; sleep 60", "exec >&- 2>&-; sleep 60"])
def test_a_silent_program_is_ended(tmp_path: Path, body: str) -> None:
    done = sh(tmp_path, body, patience=0.5)
    assert (done.silent, done.status) == (True, -signal.SIGTERM)


@pytest.mark.parametrize(
    "body", ["while :; do echo one; sleep 0.1; done", "exec >&- 2>&-; while :; do sleep 0.1; done"]
)
def test_a_program_that_writes_for_ever_has_a_limit(tmp_path: Path, body: str) -> None:
    done = sh(tmp_path, f"sleep 60 & echo $! >child; {body}", patience=60, limit=0.7)
    assert (done.late, done.silent, done.status) == (True, False, -signal.SIGTERM)
    status = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    wait_until(lambda: not status.exists() or ") Z " in status.read_text())


@pytest.mark.parametrize("body", ["yes", "while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"])
def test_a_program_that_floods_is_ended(tmp_path: Path, body: str) -> None:
    done = sh(tmp_path, body, most=100_000)
    assert done.flooding
    assert done.status != 0
    assert sum(map(len, done.lines)) < 400_000


def test_what_does_not_obey_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process that waits in the kernel for a GPU: no signal ends it."""
    monkeypatch.setattr(process_module, "_signal", lambda group, number: None)
    monkeypatch.setattr(process_module, "_GRACE", 0.1)
    monkeypatch.setattr(process_module, "_REAPED", 0.1)
    done = sh(tmp_path, "echo $$; exec sleep 5", limit=0.5)
    assert (done.late, done.status) == (True, -signal.SIGKILL)
    assert process(done.lines[0]).alive


def test_a_program_that_writes_is_not_silent(tmp_path: Path) -> None:
    done = sh(tmp_path, "for i in 1 2 3 4 5; do sleep 0.3; echo $i; done", patience=0.9)
    assert (done.silent, done.status, len(done.lines)) == (False, 0, 5)


def test_what_a_program_leaves_in_the_background_is_ended(tmp_path: Path) -> None:
    left: list[Process] = []
    body = "sleep 60 & echo $!; sleep 1; exit 3"
    done = run_process(
        ["sh", "-c", body],
        folder=tmp_path,
        environment=os.environ,
        show=lambda line: left.append(process(line)),
    )
    assert (done.status, len(left)) == (3, 1)
    wait_until(lambda: not left[0].alive)


def test_memory_is_limited(tmp_path: Path) -> None:
    takes = [sys.executable, "-c", "bytearray(400 << 20)"]
    done = run_process(
        takes, folder=tmp_path, environment=os.environ, show=lambda line: None, memory=200 << 20
    )
    assert done.lines[-1] == "MemoryError"


@pytest.mark.parametrize("stubborn", [False, True])
def test_an_interruption_ends_every_process(
    tmp_path: Path, stubborn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portkit.workspace.process._GRACE", 0.2)
    trap = "trap '' TERM;" if stubborn else ""
    body = f"{trap} sh -c '{trap} sleep 60 & echo $!; wait' & echo $!; echo ready; wait"
    processes: list[Process] = []

    def show(line: str) -> None:
        if line != "ready":
            processes.append(process(line))
        if len(processes) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_process(["sh", "-c", body], folder=tmp_path, environment=os.environ, show=show)
    wait_until(lambda: not any(each.alive for each in processes))


TREE_OF_PROCESSES = """\
test ! -e {file} || exit 101
sh -c 'sleep 60 & echo $$ $! >> {file}; wait' & echo $$ $! >> {file}; wait"""


def begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[subprocess.Popen[str], list[Process]]:
    """Start `portkit verify` with a cargo that starts others, and wait until they all run."""
    cargo = install_cargo(tmp_path, monkeypatch)
    candle = make_ported(tmp_path)
    file = tmp_path / "processes"
    stand_in(cargo, TREE_OF_PROCESSES.format(file=file))
    running = subprocess.Popen(
        [*PROGRAM, "verify", "--only", "coverage", "--only", "check", "--json", "../verify.json"],
        cwd=candle,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: file.exists() and len(file.read_text().split()) == 4)
    processes = [process(word) for word in sorted(set(file.read_text().split()))]
    assert len(processes) == 3  # the inner shell is named by itself and by its parent
    assert all(each.alive for each in processes)
    return running, processes


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_every_process_and_the_summary_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    running, processes = begun(tmp_path, monkeypatch)
    running.send_signal(number)
    out, said = running.communicate(timeout=60)
    assert running.returncode == code
    assert "Traceback" not in said
    assert "interrupted: 1 passed, 1 interrupted" in out
    document = valid((tmp_path / "verify.json").read_text())
    assert (document["verdict"], document["exit_code"]) == ("interrupted", code)
    assert [step["verdict"] for step in document["steps"]] == ["passed", "interrupted"]
    wait_until(lambda: not any(each.alive for each in processes))


def test_nothing_outlives_a_killed_run_and_its_document_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, processes = begun(tmp_path, monkeypatch)
    running.kill()
    running.communicate(timeout=60)
    wait_until(lambda: not any(each.alive for each in processes))
    document = valid((tmp_path / "verify.json").read_text())
    assert (document["verdict"], document["exit_code"]) == ("interrupted", 137)
    assert [step["verdict"] for step in document["steps"]] == ["passed", "interrupted"]


def test_a_killed_cargo_is_a_failure_of_its_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, processes = begun(tmp_path, monkeypatch)
    for each in processes:
        os.kill(each.number, signal.SIGKILL)
    out, said = running.communicate(timeout=60)
    assert running.returncode == 43
    assert "cargo was ended from outside (Killed)" in out
    assert "FAILED: 1 passed, 1 failed" in out
    assert "does not pass check" in said.splitlines()[-1]
