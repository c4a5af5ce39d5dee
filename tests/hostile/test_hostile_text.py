"""Names and lines that would act on a terminal: shown, not obeyed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from portkit.report.patch import render_patch
from portkit.report.terminal import Terminal, align_columns, align_locations, escape_controls
from portkit.transaction.transaction import Change

if TYPE_CHECKING:
    from pathlib import Path

ACTING = [chr(c) for c in (*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x2028)]


@pytest.mark.parametrize("char", ACTING, ids=lambda char: f"U+{ord(char):04X}")
def test_what_acts_is_shown(char: str) -> None:
    assert escape_controls(f"a{char}b").isprintable()
    assert f"{ord(char):02x}" in escape_controls(f"a{char}b")


def test_what_does_not_act_stays() -> None:
    text = "fn naïve() {\n\tlet λ = '→'; // 日本\n}\n"
    assert escape_controls(text) == text


def test_styles_of_ours_stay() -> None:
    bold = Terminal(coloured=True).bold("x")
    assert escape_controls(bold, styled=True) == bold
    assert escape_controls("\x1b]0;title\x07\x1b[2J", styled=True) == "\\x1b]0;title\\x07\\x1b[2J"


def test_a_cell_is_one_line() -> None:
    lines = [
        *align_columns([["a\nb", "c"]], width=80),
        *align_locations([("d\ne:1", "f")], width=80, indent=""),
    ]
    assert lines == ["a\\nb  c", "d\\ne:1  f"]


def test_a_patch_names_files_as_git_does(tmp_path: Path) -> None:
    names = ['quo"te.rs', "back\\slash.rs", "tab\t.rs", "new\nline.rs", "esc\x1b[31m.rs", "é.rs"]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name in names:
        (tmp_path / name).write_text("old\n")
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    made = render_patch([Change(name, b"old\n", b"new\n") for name in names])
    subprocess.run(["git", "apply"], cwd=tmp_path, input=made.encode(), check=True)
    assert {name: (tmp_path / name).read_text() for name in names} == dict.fromkeys(names, "new\n")
    # git's own patch has the same names.
    said = subprocess.run(["git", "diff"], cwd=tmp_path, check=True, capture_output=True).stdout
    heads = [line for line in said.decode().split("\n") if line.startswith("diff --git")]
    assert sorted(heads) == sorted(
        line for line in made.split("\n") if line.startswith("diff --git")
    )


def test_no_command_obeys_a_tree(tmp_path: Path) -> None:
    """Each command that prints names or lines of a tree, on one with escapes in both."""
    (tmp_path / "Cargo.toml").write_text("[package]\nname = 'a'\n[features]\ncuda = []\n")
    (tmp_path / "src").mkdir()
    odd = 'fn f() { let x = "cuda \x1b]0;owned\x07\u202e"; if d.is_cuda() {} }\n'
    for name in ("lib.rs", "a\x1b[2Jb.rs", "new\nline.rs", "\u202egnp.rs"):
        (tmp_path / "src" / name).write_text(odd)
    (tmp_path / "src" / "\x1b[31mk.cu").write_text('__global__ void k() { asm("bar\x1b[2J"); }\n')
    for command in (["scan"], ["scan", "--check"], ["hipify", "src"], ["apply", "--diff"]):
        done = subprocess.run(
            [sys.executable, "-m", "portkit", *command],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        printed = (done.stdout + done.stderr).decode()
        assert "Traceback" not in printed
        assert done.returncode != 70, printed
        assert not any(char in printed for char in ACTING), (command, printed)
