"""The action and the workflows to copy, run step by step, with a portkit that is installed anew.

The packages that portkit needs come from PyPI.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from apply_support import git
from cli_support import commit, make_candle
from verify_support import script
from workflow_support import ROOT, Runner

pytestmark = pytest.mark.real

WORKFLOWS = ROOT / "ci" / "workflows"
TOOLS = "/usr/local/bin:/usr/bin:/bin"


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """What GitHub unpacks an action to, an archive of its commit, and that commit."""
    made = tmp_path_factory.mktemp("action")
    what = output("git", "stash", "create").strip() or output("git", "rev-parse", "HEAD").strip()
    subprocess.run(["git", "archive", "--output", made / "it.tar", what], cwd=ROOT, check=True)
    with tarfile.open(made / "it.tar") as packed:
        # Python has filters from 3.11.4 on ("tarfile", "Supporting older Python versions").
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(made / "it")
    return made / "it", what


@pytest.fixture
def runner(tmp_path: Path, archive: tuple[Path, str]) -> Runner:
    """A job that has checked out a small candle, which no one has ported."""
    pytest.importorskip("ensurepip", reason="GitHub's Python makes virtual environments")
    origin = make_candle(tmp_path / "origin")
    tree = tmp_path / "tree"
    subprocess.run(["git", "clone", "--quiet", origin, tree], check=True)
    return Runner(tmp_path / "runner", tree, archive[0], sys.executable)


def test_a_check_fails_until_it_is_ported(runner: Runner, archive: tuple[Path, str]) -> None:
    assert not runner.job(WORKFLOWS / "portkit.yml", "check")
    assert f"({archive[1]})" in runner.log.splitlines()[0], "the commit that the action is of"
    assert "::warning file=candle-core/src/lib.rs" in runner.log
    assert "| candle-core |" in runner.summary.read_text()
    found = Path(runner.outputs["steps.portkit.outputs.sarif"])
    (run,) = json.loads(found.read_text())["runs"]
    assert run["results"]
    portkit = runner.temp / "portkit/bin/portkit"
    subprocess.run([portkit, "apply", runner.tree], check=True, capture_output=True)
    commit(runner.tree)
    for check in ("scan", "apply"):
        told = (WORKFLOWS / "portkit.yml").read_text().replace("check: scan", f"check: {check}")
        copied = runner.tree / ".git/workflow.yml"
        copied.write_text(told)
        assert runner.job(copied, "check"), runner.log
    assert git(runner.tree, "status", "--porcelain") == "", "nothing was written"


def test_a_new_upstream_is_ported(runner: Runner, tmp_path: Path) -> None:
    """`portkit fetch` asks cargo's registry, so here something else stands for it."""
    newer = make_candle(tmp_path / "newer", version="0.11.2")
    runner.stand_ins.mkdir()
    script(
        runner.stand_ins / "portkit",
        f'[ "$1" = fetch ] || exec {runner.temp}/portkit/bin/portkit "$@"\n'
        f'echo "fetched $2"; cp -a {newer} "$3"',
    )
    (runner.tree / "portkit.toml").write_text("")
    passed = runner.job(
        WORKFLOWS / "upstream.yml", "port", UNTIL="coverage", PORTKIT_TRUST=str(runner.temp)
    )
    assert passed, runner.log
    assert "fetched candle@latest" in runner.log
    reports = runner.temp / "reports"
    made = {path.name for path in reports.iterdir()}
    assert made == {"changes.md", "new.json", "old.json", "port.html", "port.patch", "verify.json"}
    assert "rocm" in (reports / "port.patch").read_text()
    assert runner.summary.read_text() == (reports / "changes.md").read_text()
