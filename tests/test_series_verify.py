"""``portkit verify --series``: the ladder on each commit."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NoReturn

import pytest
from apply_support import git
from cli_support import commit, invoke, make_candle
from codebase_support import CANDLE
from series_support import author, make_toy
from test_codebases import make_codebase

from portkit.errors import BusyTreeError
from portkit.verify.options import Options
from portkit.verify.series import STEPS, find_series, walk_series

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _author(monkeypatch: pytest.MonkeyPatch) -> None:
    author(monkeypatch)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A series of a tree that adds no test of candle's, which asks for more than the tree has."""
    root = make_toy(tmp_path / "toy")
    order = (CANDLE.root / "phases.toml").read_text()
    own = make_codebase(tmp_path / "own", phases=order)
    (root / "portkit.toml").write_text(f'profile = "{own.relative_to(tmp_path)}"\n')
    shutil.copytree(own, root / "own")
    commit(root)
    assert invoke("apply", root, "--series").code == 0
    return root


def test_each_commit_is_looked_at(toy: Path) -> None:
    subjects = git(toy, "log", "--reverse", "--format=%h %s", "--grep=^Portkit-Series").splitlines()
    before = git(toy, "status", "--short"), git(toy, "for-each-ref")
    # What somebody has committed since is no part of the series.
    (toy / "notes.txt").write_text("mine\n")
    commit(toy)
    before = git(toy, "status", "--short"), git(toy, "for-each-ref")
    done = invoke("verify", toy, "--series", "--only", "coverage")
    assert done.code == 0, done.err
    headings = [line for line in done.out.splitlines() if f"/{len(subjects)} " in line]
    assert [line.split(None, 2)[2] for line in headings] == [s.split(None, 1)[1] for s in subjects]
    assert done.out.count("still to do") == len(subjects) - 1
    assert (git(toy, "status", "--short"), git(toy, "for-each-ref")) == before


def test_a_commit_that_does_not_pass_is_named(toy: Path) -> None:
    git(toy, "reset", "--quiet", "--hard", "HEAD~1")
    (toy / "candle-core/src/broken.rs").write_text("fn f( { cuda")
    git(toy, "add", "--all")
    git(toy, "commit", "--quiet", "--amend", "--no-edit")
    middle = git(toy, "rev-parse", "HEAD").strip()[:12]
    total = int(git(toy, "log", "-1", "--format=%(trailers:key=Portkit-Series,valueonly)")[2:])
    git(toy, "commit", "--quiet", "--allow-empty", "-m", f"x\n\nPortkit-Series: {total}/{total}")
    done = invoke("verify", toy, "--series", "--only", "coverage")
    assert done.code == 41
    assert f"commit {middle} of" in done.err
    assert "does not pass coverage" in " ".join(done.err.split())
    assert f"{total}/{total} " not in done.out


@pytest.mark.parametrize("sign", [SystemExit(143), KeyboardInterrupt()])
def test_an_interruption_ends_it(
    toy: Path, monkeypatch: pytest.MonkeyPatch, sign: BaseException
) -> None:
    def climb(*_: object) -> NoReturn:
        raise sign

    monkeypatch.setattr("portkit.verify.session.run_steps", climb)
    done = invoke("verify", toy, "--series", "--only", "coverage", "--keep-going")
    assert done.code == (143 if isinstance(sign, SystemExit) else 130)
    assert [line for line in done.out.splitlines() if line.startswith("1/")]
    assert not [line for line in done.out.splitlines() if line.startswith("2/")]


def test_two_at_once_do_not_share_a_folder(toy: Path) -> None:
    found = find_series(toy)
    walked = walk_series(toy, found, Options())
    next(walked)
    done = invoke("verify", toy, "--series", "--only", "coverage")
    assert (done.code, "walks the commits of" in done.err) == (BusyTreeError.exit_code, True)
    assert len([*walked]) == len(found) - 1
    assert invoke("verify", toy, "--series", "--only", "coverage").code == 0


def test_without_a_series_that_is_said(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle")
    done = invoke("verify", root, "--series")
    assert done.code == 20
    assert "has no series of commits" in " ".join(done.err.split())
    assert invoke("verify", root, "--series", "--json", "-").code == 2


def test_what_a_tree_brings_is_not_run_without_a_word(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PORTKIT_TRUST", raising=False)
    done = invoke("verify", toy, "--series")
    assert done.code == 26
    assert "format" not in done.out


@pytest.mark.real
def test_each_commit_formats_and_type_checks_by_itself(toy: Path) -> None:
    done = invoke("verify", toy, "--series", "--trust")
    assert done.code == 0, done.out + done.err
    walked = done.out.count("rocm: type-checks, 0 warnings")
    count = len(git(toy, "log", "--format=%h", "--grep=^Portkit-Series").split())
    assert walked == count > 2
    assert done.out.count("no feature: type-checks, 0 warnings") >= count
    assert all(done.out.count(f"\n{step} ") >= count for step in STEPS)
