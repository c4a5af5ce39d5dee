"""What cargo says of the ported candle: types, lints, layout, CPU tests.

Every command runs with the kernels left out, so that no compiler of AMD's is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from port_of_candle import TYPES, VERSIONS
from turns import by_turn, turn

from tools.proof.versions.asked import WITHOUT_OPENSSL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(TYPES)]

CORE = ("-p", "candle-core", "-p", "candle-nn")
CORE_ROCM = (*CORE, "--features", "candle-core/rocm,candle-nn/rocm")
OTHERS = (
    ("0.11.1", "cfg"),
    ("0.10.2", "dummy"),
    ("0.10.2", "cfg"),
    ("0.9.2", "dummy"),
    ("0.9.2", "cfg"),
)
"""Ports beside the newest in its default form: whole workspaces in `make test-all`."""
LIBRARIES = "rocm,miopen,rccl,rocm-flash-attn"
"""ROCm with everything that a feature adds to it."""


def started(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run cargo."""
    environment = {
        **os.environ,
        "CANDLE_ROCM_KERNELS": "none",
        "CARGO_TERM_COLOR": "never",
        **WITHOUT_OPENSSL,
    }
    return subprocess.run(
        ["cargo", *arguments],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def cargo(root: Path, *arguments: str) -> str:
    """Run cargo, which succeeds, and return what it wrote."""
    done = started(root, *arguments)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def warnings(output: str) -> Counter[str]:
    """Return how often each warning occurs, wherever it stands."""
    found = re.findall(r"^(?:\S+: )?(warning: .*)$", output, re.MULTILINE)
    return Counter(w for w in found if "generated" not in w)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--workspace",), marks=by_turn("the workspace without rocm")),
        ("--workspace", "--features", "rocm"),
    ],
    ids=["no feature", "rocm"],
)
def test_the_whole_workspace_type_checks(
    ported: Callable[[str], Path], arguments: tuple[str, ...]
) -> None:
    assert not warnings(cargo(ported("0.11.1"), "check", "--all-targets", *arguments))


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_example_of_several_processes_type_checks(
    ported: Callable[[str], Path], version: str
) -> None:
    """With RCCL, in a port in which `rocm_llama_multiprocess` stands beside CUDA's example."""
    asked = ("--example", "rocm_llama_multiprocess", "--features", "rocm,rccl")
    printed = cargo(ported(version), "check", "-p", "candle-examples", *asked)
    assert f"candle-examples v{version}" in printed


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_whole_workspace_type_checks_with_every_library(
    built: Callable[[str], Path], ported: Callable[[str], Path], version: str
) -> None:
    before = warnings(cargo(built(version), "check", "--all-targets", "--workspace"))
    asked = ("--workspace", "--features", LIBRARIES)
    assert warnings(cargo(ported(version), "check", "--all-targets", *asked)) <= before


def test_core_and_nn_of_the_one_whose_turn_it_is_type_check(
    built: Callable[[str], Path], ported: Callable[[str, str], Path]
) -> None:
    asked = [(*other, arguments) for other in OTHERS for arguments in (CORE_ROCM, CORE)]
    for version, gating, arguments in turn(asked, 1):
        before = warnings(cargo(built(version), "check", "--all-targets", *CORE))
        after = warnings(cargo(ported(version, gating), "check", "--all-targets", *arguments))
        assert after <= before, (version, gating)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("--workspace",), ("--workspace", "--features", "rocm")],
    ids=["no feature", "rocm"],
)
@pytest.mark.parametrize(("version", "gating"), OTHERS)
def test_the_whole_workspace_of_the_other_versions_type_checks(
    built: Callable[[str], Path],
    ported: Callable[[str, str], Path],
    version: str,
    gating: str,
    arguments: tuple[str, ...],
) -> None:
    before = warnings(cargo(built(version), "check", "--all-targets", "--workspace"))
    after = warnings(cargo(ported(version, gating), "check", "--all-targets", *arguments))
    assert after <= before


@pytest.mark.parametrize("brought", [True, False])
def test_the_crate_of_kernels_builds_from_its_package(
    ported: Callable[[str, str, str], Path], tmp_path: Path, brought: bool
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ported("0.11.1", "dummy", "shared"), tree)
    kernels = tree / "candle-rocm-kernels"
    if brought:
        # As the README of the crate says.
        shutil.copytree(tree / "candle-kernels/src", kernels / "cuda/src")
    target = tmp_path / "target"
    # A package names its dependencies by version: what is not published yet stands here.
    bindings = f'patch.crates-io.candle-hip.path="{tree / "candle-hip"}"'
    asked = ("--allow-dirty", "--config", bindings, "--target-dir", str(target))
    # Cargo unpacks what it has packed, away from the workspace, and builds that.
    done = started(kernels, "package", *asked)
    assert (done.returncode == 0) is brought, done.stdout[-6000:]
    if not brought:
        assert "the CUDA sources are neither in cuda nor in ../candle-kernels" in done.stdout
        return
    unpacked = target / "package/candle-rocm-kernels-0.11.1"
    assert (unpacked / "cuda/src/affine.cu").is_file()
    made = next(target.glob("**/build/candle-rocm-kernels-*/out/sources/affine.hip"))
    assert '#line 1 "cuda/src/affine.cu"' in made.read_text()


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
@pytest.mark.parametrize("version", ["0.9.2", "0.10.2", "0.11.1"])
def test_it_is_formatted(ported: Callable[[str, str], Path], version: str, gating: str) -> None:
    cargo(ported(version, gating), "fmt", "--check")


def new_lints(root: Path, before: Path, arguments: tuple[str, ...]) -> Counter[str]:
    """Return the lints of a port that the pristine tree lacks."""
    known = warnings(cargo(before, "clippy", "--all-targets", *CORE))
    # Lints of the bindings crate count too: it is part of the port.
    found = warnings(cargo(root, "clippy", "--all-targets", "-p", "candle-hip", *arguments))
    return found - known


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [CORE, CORE_ROCM], ids=["no feature", "rocm"])
def test_it_has_no_lint_that_the_pristine_tree_lacks(
    built: Callable[[str], Path], ported: Callable[[str], Path], arguments: tuple[str, ...]
) -> None:
    assert not new_lints(ported("0.11.1"), built("0.11.1"), arguments)


def written_tests(root: Path, crate: str) -> int:
    """How many tests a crate's folder `tests` asks for on the CPU."""
    texts = [path.read_text("utf-8") for path in (root / crate / "tests").glob("*.rs")]
    return sum(len(re.findall(r"^ *(?:#\[test\]|test_device!\()", text, re.M)) for text in texts)


@by_turn("CPU tests")
@pytest.mark.parametrize(
    ("crates", "arguments"),
    [
        (("candle-core",), ("--package", "candle-core")),
        pytest.param(("candle-core", "candle-nn"), (), marks=pytest.mark.slow),
    ],
    ids=["candle-core", "all crates"],
)
def test_the_cpu_tests_give_the_results_of_the_pristine_tree(
    ported: Callable[[str], Path], crates: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    root = ported("0.11.1")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "portkit", "verify", str(root)),
            *("--only", "regress", *arguments),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    compared = re.search(r"(\d+) tests give the same results", done.stdout)
    assert compared is not None
    assert int(compared[1]) >= sum(written_tests(root, crate) for crate in crates) > 0
