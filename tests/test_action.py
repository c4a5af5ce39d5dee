"""The action and the workflows to copy, run step by step, with a portkit that is installed anew.

The packages that portkit needs come from PyPI.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from apply_support import git
from cli_support import commit, make_candle
from container_support import PYTHON, Container, make_container, make_wheel
from update_support import COPY, edit, has_edits, make_upstream, replace
from verify_support import script
from workflow_support import ROOT, Runner, unpack_action

pytestmark = pytest.mark.real

WORKFLOWS = ROOT / "ci" / "workflows"
TOOLS = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    return unpack_action(tmp_path_factory.mktemp("action"))


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Container:
    return make_container(tmp_path_factory.mktemp("container"), tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(params=["machine", pytest.param("container", marks=pytest.mark.slow)])
def runner(tmp_path: Path, archive: tuple[Path, str], request: pytest.FixtureRequest) -> Runner:
    """A job that has checked out a small candle, which no one has ported.

    On this machine the action installs the repository that it stands in, in a container a wheel.
    """
    pytest.importorskip("ensurepip", reason="GitHub's Python makes virtual environments")
    origin = make_candle(tmp_path / "origin")
    tree = tmp_path / "tree"
    subprocess.run(["git", "clone", "--quiet", origin, tree], check=True)
    if request.param == "machine":
        return Runner(tmp_path / "runner", tree, archive[0], sys.executable)
    inside = request.getfixturevalue("container")
    built = request.getfixturevalue("wheel")
    return Runner(tmp_path / "runner", tree, archive[0], PYTHON, inside, built)


def test_a_check_fails_until_it_is_ported(runner: Runner, archive: tuple[Path, str]) -> None:
    assert not runner.job(WORKFLOWS / "portkit.yml", "check")
    what = archive[1] if runner.wheel is None else git(ROOT, "rev-parse", "HEAD").strip()
    assert f"({what}" in runner.log.splitlines()[0], "the commit that is installed"
    assert "::warning file=candle-core/src/lib.rs" in runner.log
    assert "| candle-core |" in runner.summary.read_text()
    found = Path(runner.outputs["steps.portkit.outputs.sarif"])
    (run,) = json.loads(found.read_text())["runs"]
    assert run["results"]
    runner.portkit("apply", runner.tree)
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


GH = """\
printf '%s\\n' "$@" >> "$LOG"
[ "$1 $2" = 'pr list' ] && cat "$OPEN"
true
"""


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """A repository with a port that has edits by hand; upstream has a second version."""
    origin = make_upstream(tmp_path / "fork")
    run_portkit("branch", origin)
    edit(origin)
    return origin


def run_portkit(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "portkit", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def on_github(runner: Runner, fork: Path) -> None:
    """Let the jobs push to a repository, and ask for pull requests."""
    git(fork, "switch", "--quiet", "--detach")  # so that every branch may be pushed
    address = "https://x-access-token:secret@github.com/somebody/candle"
    home = Path(runner.environment["HOME"])
    git(home, "config", "--file", ".gitconfig", f"url.file://{fork}.insteadOf", address)
    runner.stand_ins.mkdir()
    script(runner.stand_ins / "gh", GH)
    log, open_ones = runner.temp / "log", runner.temp / "open"
    open_ones.touch()
    runner.environment |= {
        "GITHUB_REPOSITORY": "somebody/candle",
        "LOG": str(log),
        "OPEN": str(open_ones),
    }
    runner.outputs |= {"github.token": "secret", "github.ref_name": "main"}


def follow(runner: Runner, job: str, fork: Path) -> None:
    shutil.rmtree(runner.tree)
    subprocess.run(["git", "clone", "--quiet", "--branch", "main", fork, runner.tree], check=True)
    asked = {"UPSTREAM": str(fork), "BRANCH": "upstream", "UNTIL": "coverage"}
    assert runner.job(WORKFLOWS / "follow.yml", job, **asked), runner.log


def asked_of_github(runner: Runner) -> list[str]:
    return (runner.temp / "log").read_text().split()


def test_a_pull_request_follows_upstream(runner: Runner, fork: Path) -> None:
    on_github(runner, fork)
    before = git(fork, "rev-parse", "main")
    follow(runner, "port", fork)
    text = (runner.temp / "reports/text.md").read_text()
    assert text.startswith("```text\nThe pure port of candle 0.11.1 is on portkit/rocm"), text
    follow(runner, "propose", fork)
    asked = asked_of_github(runner)
    head = ["--head", "portkit/follow", "--base", "main"]
    assert asked[asked.index("create") + 1 :][:4] == head
    assert git(fork, "rev-parse", "main") == before
    git(fork, "checkout", "--quiet", "portkit/follow")
    assert has_edits(fork)
    assert 'version = "0.11.1"' in (fork / "Cargo.toml").read_text()


def test_one_that_is_open_gets_another_text(runner: Runner, fork: Path) -> None:
    on_github(runner, fork)
    (runner.temp / "open").write_text("17\n")
    follow(runner, "port", fork)
    follow(runner, "propose", fork)
    asked = asked_of_github(runner)
    assert asked[asked.index("edit") + 1] == "17"
    assert "create" not in asked


def test_a_conflict_is_a_pull_request_of_the_pure_port(runner: Runner, fork: Path) -> None:
    replace(fork, COPY, "    1\n", "    1 + 0\n")  # where upstream's second version differs too
    commit(fork)
    on_github(runner, fork)
    follow(runner, "port", fork)
    assert "1 conflict" in (runner.temp / "reports/text.md").read_text()
    follow(runner, "propose", fork)
    assert asked_of_github(runner)[asked_of_github(runner).index("create") + 2] == "portkit/rocm"
    assert git(fork, "show", f"portkit/rocm:{COPY}").count("let one = 1;") == 1


def test_where_there_is_nothing_new_there_is_none(runner: Runner, fork: Path) -> None:
    run_portkit("update", fork, "--to", "upstream")
    on_github(runner, fork)
    follow(runner, "port", fork)
    assert "Nothing new" in runner.log
    assert not runner.outputs.get("steps.update.outputs.head")
    assert not (runner.temp / "reports/port.bundle").exists()
