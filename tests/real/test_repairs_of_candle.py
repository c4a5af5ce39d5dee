"""candle's defects mended in its own code: which there are, that they compile, and their tests."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import invoke
from port_of_candle import PRODUCTS, VERSIONS
from series_support import author
from test_upstream import PAGES
from turns import by_turn

from portkit.engine.session import scan_tree
from portkit.repairs.commit_message import format_message
from portkit.repairs.defect_repairs import RepairState, build_repairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.repairs.defect_repairs import Repair

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
CUDA = ROOT / "ci" / "stand-ins" / "cuda"
WITHOUT = {"cudnn-handles", "quantized-exact-sum"}
EACH = [
    "0.11.1",
    *(pytest.param(v, marks=pytest.mark.slow) for v in VERSIONS if v != "0.11.1"),
]


@pytest.fixture
def mended(
    pristine: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """Give a tree of a version with all repairs, as commits."""

    def get(version: str) -> Path:
        author(monkeypatch)
        git(tmp_path, "clone", "--quiet", str(pristine(version)), version)
        assert invoke("repairs", tmp_path / version).code == 0
        return tmp_path / version

    return get


def due(root: Path) -> list[Repair]:
    return [each for each in build_repairs(scan_tree(root)) if each.state is RepairState.TO_WRITE]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_page_says_is_wrong_is_mended_and_nothing_else(
    pristine: Callable[[str], Path], version: str
) -> None:
    made = build_repairs(scan_tree(pristine(version)))
    assert sorted(each.name for each in made) == [page.name for page in PAGES]
    written = {each.name for each in made if each.state is RepairState.TO_WRITE}
    assert written == {page.name for page in PAGES if version in page.wrong} - WITHOUT
    assert {each.state for each in made} <= {
        RepairState.TO_WRITE,
        RepairState.ABSENT,
        RepairState.WITHOUT,
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_each_can_be_sent_alone(pristine: Callable[[str], Path], version: str) -> None:
    scan = scan_tree(pristine(version))
    for repair in build_repairs(scan):
        (alone,) = build_repairs(scan, [repair.name])
        assert (alone.state, alone.test) == (repair.state, repair.test), repair.name
        assert [c.path for c in alone.changes] == [c.path for c in repair.changes]


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_that_is_sent_speaks_of_rocm(pristine: Callable[[str], Path], version: str) -> None:
    speaks = re.compile(r"rocm|\bhip|portkit|\bAMD\b|the port\b", re.IGNORECASE)
    for repair in due(pristine(version)):
        assert not speaks.search(format_message(repair)), repair.name
        for change in repair.changes:
            before = set((change.before or b"").decode(errors="replace").splitlines())
            after = change.after.decode(errors="replace").splitlines()
            assert [line for line in after if line not in before and speaks.search(line)] == []


@pytest.mark.xdist_group(PRODUCTS)
@pytest.mark.parametrize("version", EACH)
def test_the_repaired_tree_type_checks_with_cuda(
    mended: Callable[[str], Path], version: str
) -> None:
    root = mended(version)
    path = f"{CUDA / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # candle 0.9.2's build asks for CUDA_PATH, the others' for CUDA_HOME.
    folders = {"CUDA_HOME": str(CUDA), "CUDA_PATH": str(CUDA)}
    surroundings = os.environ | folders | {"CUDA_COMPUTE_CAP": "80", "PATH": path}
    crates = ("--package=candle-core", "--package=candle-nn")
    command = ("cargo", "check", *crates, "--features=cuda", "--lib", "--tests")
    done = subprocess.run(command, cwd=root, env=surroundings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-6000:]
    # Of kernels the build says how many it compiles.
    warned = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert [line for line in warned if not line.startswith("warning: candle-kernels@")] == []


@by_turn("defects upstream")
@pytest.mark.xdist_group(PRODUCTS)
@pytest.mark.parametrize("version", EACH)
def test_what_fails_on_the_cpu_passes_after(mended: Callable[[str], Path], version: str) -> None:
    """That they fail before is what `test_upstream` holds."""
    root = mended(version)
    on_cpu = {page.name for page in PAGES if page.table["runs on"] == "the CPU"}
    wrong = {page.name for page in PAGES if version in page.wrong}
    stems = [f"--test={name.replace('-', '_')}_tests" for name in sorted(on_cpu & wrong)]
    command = ("cargo", "test", "--package=candle-core", *stems)
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert len(re.findall(r"^test result: ok", done.stdout, re.MULTILINE)) == len(stems)
