"""A series of the real candle: its end is the one-shot tree, and each commit stands by itself."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import invoke
from series_support import author

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _author(monkeypatch: pytest.MonkeyPatch) -> None:
    author(monkeypatch)


@pytest.fixture
def in_commits(pristine: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    def get(gating: str) -> Path:
        place = tmp_path / gating
        shutil.copytree(pristine("0.11.1"), place)
        done = invoke("apply", place, "--series", "--gating", gating)
        assert done.code == 0, done.err
        return place

    return get


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
def test_the_end_of_a_series_is_the_one_shot_tree(
    pristine: Callable[[str], Path],
    in_commits: Callable[[str], Path],
    tmp_path: Path,
    gating: str,
) -> None:
    one_shot = tmp_path / "one-shot"
    shutil.copytree(pristine("0.11.1"), one_shot)
    assert invoke("apply", one_shot, "--gating", gating).code == 0
    git(one_shot, "add", "--all", "--force")
    place = in_commits(gating)
    assert git(place, "status", "--short") == ""
    wanted = git(one_shot, "write-tree").strip()
    assert git(place, "rev-parse", "HEAD^{tree}").strip() == wanted
    # Thirteen phases, and none of them has swallowed another.
    assert len(git(place, "log", "--format=%h", "--grep=^Portkit-Series").split()) == 13
    done = invoke("verify", place, "--series", "--only", "coverage", "--gating", gating)
    assert done.code == 0, done.out + done.err


@pytest.mark.slow
@pytest.mark.parametrize("gating", ["dummy", "cfg"])
def test_each_commit_formats_and_type_checks(
    in_commits: Callable[[str], Path], gating: str
) -> None:
    place = in_commits(gating)
    done = invoke("verify", place, "--series", "--trust", "--keep-going", "--gating", gating)
    assert done.code == 0, done.out + done.err
