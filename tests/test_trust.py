"""Whose trees may be run: what `portkit verify` asks, keeps and refuses."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import PROGRAM, commit, environment, invoke
from verify_support import install_cargo, make_ported, only, stand_in

from portkit.errors import DiskError, UntrustedTreeError
from portkit.verify.steps import STEPS
from portkit.workspace.trust import (
    ConfirmedBy,
    describe_origin,
    find_trust_reason,
    require_trust,
    save_confirmation,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")

WORDS = "state/portkit/trusted"


@pytest.fixture(autouse=True)
def _nobody_said_anything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PORTKIT_TRUST", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cargo that leaves a note where it was run."""
    cargo = install_cargo(tmp_path, monkeypatch)
    return stand_in(cargo, f"touch '{tmp_path}/ran'; exit 0")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_text("a\n")
    commit(tree)
    return tree


def test_a_tree_that_nobody_spoke_for_is_refused(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    done = invoke("verify", candle, "--only", "check")
    assert done.code == UntrustedTreeError.exit_code == 26
    assert "pass --trust" in done.err.splitlines()[-1]
    assert "--sandbox" in done.err
    assert not (tmp_path / "ran").exists()


def test_steps_that_only_look_need_no_word(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    looking = [step.name for step in STEPS if step.looks]
    assert looking == ["coverage", "parity", "names"]
    assert invoke("verify", candle, *only(*looking)).code == 0
    # Not even to ask for a version: rustup would run the toolchain that the tree names.
    cargo.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    assert invoke("verify", candle, "--no-cache", *only(*looking)).code == 0
    assert not (tmp_path / "ran").exists()


def test_the_flag_is_a_word_for_one_run(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    done = invoke("verify", candle, "--only", "check", "--trust")
    assert done.code == 0
    assert f"What {candle} brings is run: by --trust." in done.err
    assert (tmp_path / "ran").exists()
    assert invoke("verify", candle, "--only", "check").code == 26


def test_the_environment_names_folders(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for named, good in {
        str(tmp_path): True,
        str(tree): True,
        f"/nowhere{os.pathsep}{tmp_path}": True,
        str(tree)[:-1]: False,
        f"{tree}/below": False,
        ".": False,
        "": False,
    }.items():
        monkeypatch.setenv("PORTKIT_TRUST", named)
        monkeypatch.chdir(tree)
        assert bool(find_trust_reason(tree)) == good, named


def test_a_word_holds_for_the_path_and_the_remote(tree: Path) -> None:
    git(tree, "remote", "add", "origin", "https://me:secret@example.org/a.git")
    place = save_confirmation(tree, ConfirmedBy.ANSWERED)
    assert "https://example.org/a.git" in place.read_text()
    assert "secret" not in place.read_text()
    assert "you have said so on 20" in require_trust(tree)
    other = tree.parent / "other"
    shutil.copytree(tree, other)
    with pytest.raises(UntrustedTreeError):
        require_trust(other)
    git(tree, "remote", "set-url", "origin", "https://example.org/b.git")
    with pytest.raises(UntrustedTreeError):
        require_trust(tree)
    git(tree, "remote", "set-url", "origin", "https://example.org/a.git")
    assert find_trust_reason(tree)
    place.unlink()  # the word is taken back
    assert not find_trust_reason(tree)


def test_a_tree_without_a_remote_is_known_by_its_first_commit(tree: Path) -> None:
    first = git(tree, "rev-parse", "HEAD").strip()
    assert describe_origin(tree) == first
    save_confirmation(tree, ConfirmedBy.FETCHED)
    (tree / "b").write_text("b\n")
    commit(tree)
    assert find_trust_reason(tree)
    shutil.rmtree(tree)
    tree.mkdir()
    (tree / "c").write_text("c\n")
    commit(tree)
    assert describe_origin(tree) != first
    assert not find_trust_reason(tree)


def test_a_tree_without_git_is_known_by_its_path(tmp_path: Path) -> None:
    assert describe_origin(tmp_path) == ""
    save_confirmation(tmp_path, ConfirmedBy.ANSWERED)
    assert find_trust_reason(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"path": 1}', "\0"])
def test_a_damaged_word_is_none(tree: Path, text: str) -> None:
    save_confirmation(tree, ConfirmedBy.ANSWERED).write_text(text)
    assert not find_trust_reason(tree)


def test_a_word_that_cannot_be_kept(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(DiskError, match="cannot be kept in"):
        save_confirmation(tree, ConfirmedBy.ANSWERED)


def test_a_tree_cannot_speak_for_itself(tree: Path, tmp_path: Path) -> None:
    """What it holds under the names that portkit keeps such words in is not looked at."""
    shutil.copy(save_confirmation(tree, ConfirmedBy.ANSWERED), tmp_path / "word")
    shutil.rmtree(tmp_path / "state")
    for folder in (tree, tree / ".git"):
        shutil.copytree(tmp_path, folder / "state", ignore=lambda *_: ["tree"])
        (folder / "portkit" / "trusted").mkdir(parents=True)
    (tree / "portkit.toml").write_text("trust = true\n")
    assert not find_trust_reason(tree)


def test_fetch_speaks_for_what_it_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from portkit.cli.consent import check_consent, trust_fetched_tree

    made = tmp_path / "made"
    made.mkdir()
    commit(made)
    trust_fetched_tree(made)
    assert "`portkit fetch` made it on 20" in find_trust_reason(made)
    check_consent(made, given=False)
    # A folder that cannot be written to does not spoil the fetch.
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    trust_fetched_tree(made)
    with pytest.raises(UntrustedTreeError):
        check_consent(made, given=False)


def answered(candle: Path, answer: str, *options: str) -> tuple[int, str]:
    """Run verify at a terminal, give one answer, and return the exit code and what it showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "verify", str(candle), *options],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(),
        start_new_session=True,
    )
    os.close(theirs)
    shown, asked, end = b"", False, time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            shown += data
        if not asked and b"[y/N]" in shown:
            os.write(ours, f"{answer}\n".encode())
            asked = True
    os.close(ours)
    return process.wait(60), shown.decode(errors="replace")


def test_a_yes_at_the_terminal_is_kept(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    git(candle, "remote", "add", "origin", "https://example.org/\x1b[2Jcandle.git")
    code, shown = answered(candle, "", "--only", "check")
    assert code == 26
    assert "\\x1b[2Jcandle.git" in shown  # the address does not act on the terminal
    assert not (tmp_path / "ran").exists()
    code, shown = answered(candle, "y", "--only", "check")
    assert code == 0, shown
    assert len(list((tmp_path / WORDS).iterdir())) == 1
    code, shown = answered(candle, "n", "--only", "check")
    assert code == 0
    assert "[y/N]" not in shown
    done = invoke("verify", candle, "--only", "check")
    assert done.code == 0
    assert f"What {candle} brings is run: you have said so on 20" in done.err


def test_the_proof_asks_for_a_word_too(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "tools.proof", "crosscheck", str(candle)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 26, done.stderr
    assert not (tmp_path / "ran").exists()
