"""The workflow that verifies a port, run job by job on a codebase that brings its own profile."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_support import commit, invoke
from container_support import PYTHON, make_container, make_wheel
from turns import turn
from verify_support import script
from workflow_support import ROOT, Runner, read_workflow, unpack_action

from portkit.cache import cache_folder
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import find_hipcc

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.real

A_TURN = 2
WORKFLOW = ROOT / "ci" / "workflows" / "verify.yml"
TARN = Path(__file__).parents[1] / "fixtures" / "codebases" / "tarn"


def without_gpu() -> list[tuple[str, dict[str, str]]]:
    """Return the jobs that need no GPU, each with every row of its matrix."""
    return [
        (name, {key: str(value) for key, value in zip(matrix, row, strict=True)})
        for name, job in read_workflow(WORKFLOW)["jobs"].items()
        if "if" not in job
        for matrix in [job.get("strategy", {}).get("matrix", {})]
        for row in itertools.product(*matrix.values())
    ]


@pytest.fixture(scope="module")
def ported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that carries a port, committed as a person would."""
    root = tmp_path_factory.mktemp("workflow") / "tarn"
    shutil.copytree(TARN / "tree", root)
    shutil.copytree(TARN / "profile", root / "port")
    (root / "portkit.toml").write_text('profile = "port/"\n')
    commit(root)
    done = invoke("apply", root)
    assert done.code == 0, done.err
    commit(root)
    return root


@pytest.fixture(scope="module")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ensurepip", reason="GitHub's Python makes virtual environments")
    return unpack_action(tmp_path_factory.mktemp("action"))[0]


@pytest.fixture
def passes(ported: Path, action: Path, tmp_path: Path) -> Callable[[str, dict[str, str]], None]:
    """Give what runs a job on a machine of its own, and looks at what it says of each step."""
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))

    def passed(name: str, matrix: dict[str, str]) -> None:
        scratch = tmp_path / "-".join([name, *matrix.values()])
        runner = Runner(scratch, ported, action, sys.executable)
        runner.environment["XDG_CACHE_HOME"] = str(cache_folder().parent)
        runner.stand_ins.mkdir()
        script(runner.stand_ins / "apt-get", "exit 0")
        with contextlib.suppress(HipToolError):
            script(runner.stand_ins / "hipcc", f'exec {find_hipcc()} "$@"')
        runner.outputs |= {f"matrix.{key}": value for key, value in matrix.items()}
        run_job(runner, name)

    return passed


def run_job(runner: Runner, name: str) -> None:
    """Run a job, and look at what it says of each step."""
    assert runner.job(WORKFLOW, name), runner.log
    (found,) = runner.tree.glob("verify.json")
    steps = json.loads(found.read_text())["steps"]
    found.unlink()
    assert steps
    assert {step["verdict"] for step in steps} <= {"passed", "skipped"}, runner.log


@pytest.mark.slow
def test_the_ladder_passes_in_a_container(
    ported: Path, action: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """From a wheel, where nothing is but what the action brings and Rust; the caches are empty."""
    container = make_container(tmp_path, tmp_path_factory.getbasetemp())
    wheel = make_wheel(tmp_path)
    runner = Runner(tmp_path / "ladder", ported, action, PYTHON, container, wheel)
    run_job(runner, "ladder")


def test_those_whose_turn_it_is_pass(passes: Callable[[str, dict[str, str]], None]) -> None:
    for name, matrix in turn(without_gpu(), A_TURN):
        passes(name, matrix)


@pytest.mark.slow
@pytest.mark.parametrize("case", without_gpu(), ids=str)
def test_a_job_passes(
    case: tuple[str, dict[str, str]], passes: Callable[[str, dict[str, str]], None]
) -> None:
    passes(*case)
