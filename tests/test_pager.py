"""What is long goes through a pager, at a terminal alone; none that the tree brings."""

from __future__ import annotations

import json
import os
import pty
from typing import TYPE_CHECKING

import pytest
from cli_support import LIB, MATMUL, PROGRAM, environment, invoke, make_candle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DIFF = ("--diff", "--no-format", "--select", "PK301,PK505")
WRITTEN = '+            Self::Rocm(_) => "rocm",'


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """Return what makes a program that notes that it was run, where, and what it was given."""

    def make(text: str) -> Path:
        place = tmp_path / "pager"
        place.write_text(f"#!/bin/sh\n{text}\n")
        place.chmod(0o755)
        return place

    return make


def at_a_terminal(
    candle: Path, *options: str, variables: dict[str, str], folder: Path | None = None
) -> tuple[int, str]:
    """Run `portkit apply` at a pseudo-terminal; return its exit code and what the screen shows."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder or candle.parent)
        env = environment() | {"TERM": "xterm"} | variables
        os.execvpe(PROGRAM[0], [*PROGRAM, "apply", str(candle), *options], env)
    data = b""
    try:
        while read := os.read(terminal, 65536):
            data += read
    except OSError:  # Linux's answer where the other side is closed
        pass
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), data.decode().replace("\r\n", "\n")


def test_a_diff_goes_through_the_pager_that_is_named(
    candle: Path, tmp_path: Path, script: Callable[[str], Path]
) -> None:
    pager = script(f'{{ pwd; echo "$LESS,$1"; cat; }} > {tmp_path}/paged; echo seen')
    code, screen = at_a_terminal(
        candle, *DIFF, variables={"PORTKIT_PAGER": f"{pager} 'a b'", "PAGER": "false"}
    )
    assert (code, "seen" in screen, WRITTEN in screen) == (0, True, False)
    # A pager may read settings in its folder: it is not run in the tree, nor beside it.
    folder, said, *patch = (tmp_path / "paged").read_text().split("\n")
    assert (folder, said) == ("/", "FRX,a b")
    assert "\n".join(patch) == invoke("apply", candle, *DIFF).out
    (tmp_path / "paged").unlink()
    at_a_terminal(candle, *DIFF, variables={"PAGER": str(pager), "LESS": "R"})
    assert (tmp_path / "paged").read_text().split("\n")[1] == "R,"


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        (("--no-pager",), {}),
        ((), {"PORTKIT_PAGER": ""}),
        ((), {"PORTKIT_PAGER": "no-such-pager --quick"}),
        ((), {"PORTKIT_PAGER": "'"}),
        ((), {"PORTKIT_PAGER": "/"}),
    ],
)
def test_without_a_pager_it_is_printed(
    candle: Path,
    script: Callable[[str], Path],
    options: tuple[str, ...],
    variables: dict[str, str],
) -> None:
    named = {"PAGER": str(script("echo paged"))} | variables
    code, screen = at_a_terminal(candle, *DIFF, *options, variables=named)
    assert (code, WRITTEN in screen, "paged" in screen) == (0, True, False)


@pytest.mark.parametrize("said", ["./pages", "bin/../pages", "pages"])
def test_no_program_of_the_tree_is_the_pager(candle: Path, said: str) -> None:
    # No name of a program of the system's: Debian has a `pager`.
    for place in (candle / "pages", candle / "less"):
        place.write_text("#!/bin/sh\necho paged\n")
        place.chmod(0o755)
    (candle / "bin").mkdir()
    search = f".:{os.environ['PATH']}"
    options = (*DIFF, "--allow-dirty")
    code, screen = at_a_terminal(
        candle, *options, folder=candle, variables={"PAGER": said, "PATH": search}
    )
    assert (code, WRITTEN in screen, "paged" in screen) == (0, True, False)


def test_who_leaves_the_pager_early_has_seen_enough(
    candle: Path, script: Callable[[str], Path]
) -> None:
    pager = str(script("exec true"))
    large = ("--diff", "--no-format", "--check")  # more than a pipe holds
    assert at_a_terminal(candle, *large, variables={"PORTKIT_PAGER": pager}) == (1, "")


def test_a_pipe_has_no_pager(
    candle: Path, monkeypatch: pytest.MonkeyPatch, script: Callable[[str], Path]
) -> None:
    monkeypatch.setenv("PORTKIT_PAGER", str(script("echo paged")))
    done = invoke("apply", candle, *DIFF)
    assert WRITTEN in done.out
    assert "paged" not in done.out


# --- one place ---------------------------------------------------------------------------------


def line_of(candle: Path, path: str, text: str) -> int:
    lines = (candle / path).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def test_a_preview_is_of_one_place(candle: Path) -> None:
    arm = f"{candle / LIB}:{line_of(candle, LIB, 'Self::Cuda(_) =>')}"
    done = invoke("apply", candle, "--at", arm, "--diff")
    added = [line for line in done.out.splitlines() if line[0] == "+" and line[:3] != "+++"]
    assert (done.code, added) == (0, [WRITTEN])
    # Without the variant nothing would compile: that is said, and apply does not write it.
    assert "would refuse to write it alone: the variant Rocm of Device" in done.err
    for options in ((), ("--check",)):
        alone = invoke("apply", candle, "--at", arm, *options)
        assert (alone.code, alone.out) == (17, "")
    check = line_of(candle, MATMUL, "is_cuda()")
    both = invoke("apply", candle, "--at", f"{MATMUL}:{check}", "--no-format")
    assert both.code == 0, both.err
    assert "1 place; 1 file changed, 0 added" in " ".join(both.out.split())
    assert "Other places are left" in both.out


def test_a_place_at_which_nothing_is_written_says_why(candle: Path) -> None:
    assert invoke("apply", candle, "--no-format").code == 0
    arm = line_of(candle, LIB, "Self::Cuda(_) =>")
    done = invoke("apply", candle, "--at", f"{LIB}:{arm}", "--diff", "--allow-dirty")
    assert (done.code, done.out) == (0, "")
    assert " PK301, ported: " in done.err


def test_a_scan_of_one_place_names_it_as_the_scan_of_all_does(candle: Path) -> None:
    where = f"{LIB}:{line_of(candle, LIB, 'Self::Cuda(_) =>')}"
    every = json.loads(invoke("scan", candle, "--format", "json").out)["sites"]
    found = json.loads(invoke("scan", candle, "--format", "json", "--at", where).out)["sites"]
    assert found == [site for site in every if site["code"] == "PK301"] != []


@pytest.mark.parametrize("command", ["apply", "scan"])
def test_a_line_without_a_place_names_the_nearest(candle: Path, command: str) -> None:
    check = line_of(candle, MATMUL, "is_cuda()")
    done = invoke(command, candle, "--at", f"{MATMUL}:{check + 1}")
    assert done.code == 2
    said = " ".join(done.err.split())
    assert f"no place in line {check + 1} of {MATMUL}: the nearest begin in lines {check}" in said
    assert "write FILE:LINE" in " ".join(invoke(command, candle, "--at", "lib.rs").err.split())
