"""Candle's convolutions by MIOpen, on the CPU device: its own tests, the cross-check."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from port_of_candle import PRODUCTS
from proven import port_inputs
from turns import by_turn
from verify_support import make_tree

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.numerics.known_differences import load_table
from portkit.verify.crosscheck import (
    compare_on_device,
    find_operations_directory,
    judge_comparisons,
)
from portkit.verify.device_choice import ChosenDevice, choose_device
from portkit.verify.step_runner import Verdict
from portkit.verify.test_binaries import build_binaries

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.verify.verified_tree import VerifiedTree

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(PRODUCTS)]

FEATURES = "rocm,miopen"
IMMEDIATE = "miopenConvolutionForwardImmediate"
WITHOUT = "computed without it"
"""What is said where MIOpen does not compute a convolution."""


def on_the_cpu_device(root: Path) -> tuple[VerifiedTree, ChosenDevice]:
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    tree = make_tree(root, print, device="cpu", waves=(32, 64), packages=("candle-core",))
    device = choose_device(tree)
    assert isinstance(device, ChosenDevice)
    return tree, device


@by_turn("convolutions")
def test_its_tests_pass_by_miopen_and_where_a_call_of_it_fails(
    ported: Callable[[str], Path], tmp_path: Path, unless_proven: Callable[..., None]
) -> None:
    unless_proven(*port_inputs(ported("0.11.1")), Path(__file__))
    tree, device = on_the_cpu_device(ported("0.11.1"))
    arguments = ("--test", "conv_tests", "--features", FEATURES, *tree.packages)
    (program,) = build_binaries(tree, *arguments, environment=device.environment)

    def run(environment: dict[str, str]) -> str:
        done = subprocess.run(
            [program.path, "--nocapture", "--test-threads", "1", "rocm"],
            cwd=program.folder,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    for each in device.runs:
        report = tmp_path / each.on
        report.mkdir()
        plain = {**each.environment, "PORTKIT_DEVICE_REPORT": str(report)}
        assert WITHOUT not in run(plain)
        (found,) = report.glob("*.json")
        calls = json.loads(found.read_text())["calls"]
        assert calls[IMMEDIATE] >= 20
        # Where one fails, that convolution is computed without MIOpen.
        assert WITHOUT in run({**each.environment, "PORTKIT_DEVICE_FAIL": f"{IMMEDIATE}:3:6"})


@pytest.mark.slow
def test_its_convolutions_are_what_arithmetic_gives(ported: Callable[[str], Path]) -> None:
    tree, device = on_the_cpu_device(ported("0.11.1"))
    own = find_operations_directory(tree)
    assert own is not None
    runs = compare_on_device(
        tree, device, load_table(own), cases=12, only="conv", features=("miopen",)
    )
    found = judge_comparisons(device, runs, whole=False)
    assert found.verdict is Verdict.PASSED, "\n".join(found.evidence)
