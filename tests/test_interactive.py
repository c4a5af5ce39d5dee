"""``portkit apply --interactive``, at a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import EDITED, LIB, MATMUL, PROGRAM, environment, invoke, make_candle

from portkit.cli.interactive import ANSWERS, edit_text

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = f"Write this place [{','.join(ANSWERS)}]? "
PATIENCE = 60.0


@dataclass(frozen=True)
class Talk:
    """What was said at a terminal.

    Attributes:
        code: the exit code.
        asked: what stood on the screen before each answer, escape sequences left out.
        rest: what came after the last answer.
    """

    code: int
    asked: list[str]
    rest: str


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


def talk(candle: Path, *answers: str, options: tuple[str, ...] = (), editor: str = "false") -> Talk:
    """Run portkit at a pseudo-terminal, and give an answer to each question; then end the input."""
    command = [
        *PROGRAM,
        "apply",
        str(candle),
        "--interactive",
        "--no-format",
        "--no-verify",
        *options,
    ]
    process, terminal = pty.fork()
    if process == 0:
        env = environment() | {"EDITOR": editor, "VISUAL": "", "TERM": "xterm", "COLUMNS": "100"}
        os.execvpe(command[0], command, env)
    said: list[str] = []
    try:
        for answer in answers:
            text, ended = _until(terminal, QUESTION)
            assert not ended, f"it ended before {answer!r}: {text}"
            said.append(text)
            os.write(terminal, f"{answer}\n".encode() if answer != "\x04" else b"\x04")
        rest, ended = _until(terminal, QUESTION)
        assert ended, f"another question: {rest}"
    finally:
        os.close(terminal)
        _, status = os.waitpid(process, 0)
    return Talk(os.waitstatus_to_exitcode(status), said, rest)


def _until(terminal: int, wanted: str) -> tuple[str, bool]:
    """Read until a text; return what was read, and whether the program has ended instead."""
    data = b""
    until = time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < until
        assert select.select([terminal], [], [], PATIENCE)[0], "no answer"
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:  # Linux's way to say that the other side is gone
            more = b""
        data += more
        text = re.sub(r"\x1b\[[0-9;]*m", "", data.decode()).replace("\r\n", "\n")
        if text.endswith(wanted):
            return text, False
        if not more:
            return text, True


def codes(said: Talk) -> list[str]:
    """Return the code of each place that was asked about, in order, each once."""
    shown = (re.findall(r"^\(\d+/\d+\) (P[KH]\d{3}) ", text, re.MULTILINE) for text in said.asked)
    return [code for found in shown for code in found]


def changed(candle: Path) -> set[str]:
    return set(git(candle, "status", "--porcelain", "--untracked-files=no").split()[1::2])


def test_each_place_is_asked_about(candle: Path) -> None:
    said = talk(candle, *"yyyyyy", options=("--skip", "PK103"))
    assert sorted(codes(said)) == sorted(EDITED)
    assert said.code == 0
    # Without the crate that the member is, cargo would load no manifest.
    left = "Left as well, since what they name is left: Cargo.toml:2 (PK203)"
    assert left in said.rest
    assert "Ported candle 0.11.1 to ROCm: 5 places;" in said.rest
    assert "1 place left as asked" in said.rest
    again = ("--no-format", "--allow-dirty", "--check", "--skip", "PK103,PK203")
    assert invoke("apply", candle, *again).code == 0


def test_a_place_is_shown_before_it_is_asked_about(candle: Path) -> None:
    said = talk(candle, "n", options=("--select", "PK301"))
    (shown,) = said.asked
    assert f"(1/1) PK301 match arm: Device, {LIB}:" in shown
    assert 'Self::Cuda(_) => "cuda",\n+            Self::Rocm(_) => "rocm",\n' in shown
    assert "Nothing is written: 1 place left as asked." in said.rest
    assert changed(candle) == set()


def test_what_is_refused_is_left(candle: Path) -> None:
    said = talk(candle, "y", "n", options=("--select", "PK301,PK505"))
    assert said.code == 0
    assert "1 place left as asked" in said.rest
    left = invoke("scan", candle, "--select", "PK301,PK505", "--format", "json").out
    assert sorted(re.findall(r'"status": "(\w+)"', left)) == ["ported", "todo"]


def test_what_names_a_variant_that_is_left_is_left_as_well(candle: Path) -> None:
    said = talk(candle, "n", "y", options=("--select", "PK301,PK505"))
    assert said.code == 0
    assert f"since a variant is left that they name: {LIB}:25 (PK301)" in said.rest
    assert "Nothing is written: 2 places left as asked." in said.rest
    assert changed(candle) == set()


def test_all_of_a_rule(candle: Path) -> None:
    with (candle / MATMUL).open("a") as file:
        file.write(
            "\npub fn a(d: &Device) -> bool {\n    d.is_cuda()\n}\n"
            "pub fn b(d: &Device) -> bool {\n    d.is_cuda()\n}\n"
        )
    git(candle, "commit", "--quiet", "--all", "--message", "more")
    said = talk(candle, "n", "a", options=("--select", "PK401"))
    assert codes(said) == ["PK401", "PK401"]
    text = (candle / MATMUL).read_text()
    assert text.count("is_rocm()") == 2
    assert "rows <= 64 || device.is_cuda();" in text


def test_all_that_is_mechanical(candle: Path) -> None:
    said = talk(candle, "m", "n", options=("--skip", "PK103,PK203"))
    assert codes(said)[1:] == ["PK401"]
    assert "Ported candle 0.11.1 to ROCm: 4 places;" in said.rest
    assert "1 place left as asked: until they are written too, the tree may not" in said.rest


@pytest.mark.parametrize("answer", ["q", "\x04"])
def test_enough(candle: Path, answer: str) -> None:
    said = talk(candle, "y", answer, options=("--skip", "PK103,PK203"))
    assert said.code == 0
    assert "Ported candle 0.11.1 to ROCm: 1 place;" in said.rest
    assert "4 places left as asked" in said.rest


def test_a_person_may_change_what_is_written(candle: Path, tmp_path: Path) -> None:
    editor = tmp_path / "an editor"
    editor.write_text('#!/bin/sh\nsed -i \'s/"rocm"/"amd"/\' "$1"\n')
    editor.chmod(0o755)
    said = talk(candle, "y", "e", options=("--select", "PK301,PK505"), editor=f"'{editor}'")
    assert said.code == 0
    assert '            Self::Rocm(_) => "amd",\n' in (candle / LIB).read_text()


def test_an_editor_that_gives_up_leaves_the_question_open(candle: Path) -> None:
    said = talk(candle, "y", "e", "y", options=("--select", "PK301,PK505"), editor="false")
    assert said.code == 0
    assert '"rocm"' in (candle / LIB).read_text()


def test_what_does_not_parse_is_not_taken(candle: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho '}}' >> \"$1\"\n")
    editor.chmod(0o755)
    said = talk(candle, "e", "n", options=("--select", "PK301"), editor=str(editor))
    assert f"{LIB} would not parse so: nothing is changed." in said.asked[1]
    assert changed(candle) == set()


def test_an_editor_that_is_missing_does_not_end_the_session(candle: Path) -> None:
    said = talk(candle, "y", "e", "y", options=("--select", "PK301,PK505"), editor="no-such-editor")
    assert "name another with EDITOR" in said.asked[2]
    assert '"rocm"' in (candle / LIB).read_text()


def test_a_new_file_may_be_changed(candle: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho '// mine' >> \"$1\"\n")
    editor.chmod(0o755)
    path = "candle-core/src/cuda_backend/mod.rs"
    (candle / path).parent.mkdir()
    (candle / path).write_text("//! CUDA.\npub struct CudaDevice;\n")
    git(candle, "add", "--all")
    git(candle, "commit", "--quiet", "--message", "more")
    said = talk(candle, "e", options=("--select", "PK101"), editor=str(editor))
    assert said.code == 0
    text = (candle / "candle-core/src/rocm_backend/mod.rs").read_text()
    assert "pub struct RocmDevice;" in text
    assert text.endswith("// mine\n")


def test_a_new_crate_is_not_shown_whole(candle: Path) -> None:
    said = talk(candle, *"nnn", options=("--select", "PK103"))
    shown = next(text for text in said.asked if "PK103 new crate, candle-hip:1" in text)
    assert re.search(r"^candle-hip/src/\S+\.rs \(\d+ lines\)$", shown, re.MULTILINE)
    assert len(shown.splitlines()) < 200


def test_what_the_answers_mean(candle: Path) -> None:
    said = talk(candle, "?", "what", "n", options=("--select", "PK301"))
    for text in said.asked[1:]:
        for key, meaning in ANSWERS.items():
            assert f"{key} - {meaning}" in text


def test_a_dirty_tree_is_refused_before_the_first_question(candle: Path) -> None:
    (candle / LIB).write_text((candle / LIB).read_text() + "// mine\n")
    said = talk(candle)
    assert said.code == 13
    assert "uncommitted" in said.rest


def test_with_diff_nothing_is_written(candle: Path) -> None:
    said = talk(candle, "y", "y", options=("--select", "PK301,PK505", "--diff"))
    assert '+            Self::Rocm(_) => "rocm",' in said.rest
    assert changed(candle) == set()


def test_an_interruption_leaves_the_tree(candle: Path) -> None:
    command = [*PROGRAM, "apply", str(candle), "--interactive", "--no-verify"]
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe(command[0], command, environment())
    _until(terminal, QUESTION)
    os.write(terminal, b"y\n")
    _until(terminal, QUESTION)
    # Python may lose a signal that comes between its last look for one and its read: whoever sees
    # nothing happen presses the keys again.
    os.write(terminal, b"\x03")
    for _ in range(10):
        if select.select([terminal], [], [], PATIENCE / 10)[0]:
            break
        os.write(terminal, b"\x03")
    rest, _ = _until(terminal, QUESTION)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) in (130, -signal.SIGINT)
    assert "Traceback" not in rest
    assert "Nothing is written." in rest
    assert changed(candle) == set()


def test_without_a_terminal_nobody_can_be_asked(candle: Path) -> None:
    done = invoke("apply", candle, "--interactive")
    assert done.code == 2
    assert "needs a terminal" in done.err
    assert changed(candle) == set()


def test_an_editor_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "no-such-editor --wait")
    with pytest.raises(Exception, match="name another with EDITOR"):
        edit_text("text", "x.rs")
