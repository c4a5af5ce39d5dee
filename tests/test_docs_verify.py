"""What docs/verify.md says is so: its commands run, its tables are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli_support import add_file, invoke
from verify_support import artifact, binary, install_cargo, make_ported, stand_in

from portkit.verify import STEPS, Verdict
from portkit.verify.options import TEST_SECONDS

PAGE = (Path(__file__).parents[1] / "docs" / "verify.md").read_text()
COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture
def candle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a ported tree whose cargo finds everything in order."""
    cargo = install_cargo(tmp_path, monkeypatch)
    candle = make_ported(tmp_path)
    program = binary(tmp_path / "tests", {"one": "ok", "two": "ok"})
    add_file(tmp_path, "message", artifact(candle, program).encode())
    stand_in(cargo, f'case "$*" in "test --no-run"*) cat {tmp_path}/message;; esac')
    monkeypatch.chdir(candle)
    return candle


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 12
    assert all(command.startswith("portkit verify") for command in COMMANDS)


@pytest.mark.real
def test_the_commands_run(candle: Path) -> None:
    said = {}
    for number, command in enumerate(COMMANDS):
        _, *words = shlex.split(command)
        done = invoke(*words)
        assert done.code == 0, f"{command}: {done.out}{done.err}"
        said[number, command] = done.out
    checks = [out for (_, command), out in said.items() if "--only check" in command]
    assert ["nothing has changed since" in out for out in checks] == [True, True, False]


def test_the_table_of_steps_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| (\w+) \| .* \| (\d+) \|$", PAGE, re.MULTILINE)
    known = [(step.name, str(step.code)) for step in STEPS]
    assert [row for row in rows if row in known] == known
    sections = re.findall(r"^### (\w+)$", PAGE, re.MULTILINE)
    names = [step.name for step in STEPS]
    assert [name for name in sections if name in names] == names


def test_each_step_says_what_it_does_not_show() -> None:
    for step in STEPS:
        section = PAGE.split(f"\n### {step.name}\n")[1].split("\n## ")[0].split("\n### ")[0]
        last = section.split("```")[0].strip().split("\n\n")[-1]
        assert re.search(r"\b(not|no)\b", last), step.name


def test_the_verdicts_are_those_of_the_code() -> None:
    section = PAGE.split("| verdict | means |")[1].split("\n\n")[0]
    words = re.findall(r"^\| ([\w ]+) \|", section, re.MULTILINE)
    assert [word.lower() for word in words] == [verdict.value for verdict in Verdict]


def test_the_limit_is_that_of_the_code() -> None:
    assert f" {TEST_SECONDS:.0f} seconds by default" in " ".join(PAGE.split())
