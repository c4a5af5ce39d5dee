"""The tests of the ported candle on the CPU device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from port_of_candle import PRODUCTS
from proven import port_inputs
from turns import turn
from verify_support import make_tree

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.verify.device import DEVICE
from portkit.verify.step_runner import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.verify.step_runner import Outcome

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(PRODUCTS)]

LEAST = {"0.11.1": 129, "0.10.2": 116, "0.9.2": 115}
"""How many tests run on the device: one for each of CUDA's, and those of rocm_basic."""


def on_the_cpu_device(root: Path, **options: object) -> Outcome:
    """Run the tests of a tree."""
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    return DEVICE.take(make_tree(root, print, device="cpu", **options))


KERNELS = ("translated", "shared")


def passes_with_both_wavefronts(tree: Path, version: str) -> None:
    found = on_the_cpu_device(tree, waves=(32, 64))
    assert found.verdict is Verdict.PASSED, "\n".join(found.evidence)
    assert found.figures["on the device"] >= 2 * LEAST[version]
    if version == "0.11.1":
        assert found.figures["ignored"] == 2  # a measurement of upstream's, which is no test


def test_the_newest_version_with_both_wavefronts(
    ported: Callable[[str, str, str], Path],
    unless_proven: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    (kernels,) = turn(KERNELS, 1)
    with capsys.disabled():
        print(f"\nthe kernels on the device are {kernels} today", flush=True)
    tree = ported("0.11.1", "dummy", kernels)
    unless_proven(*port_inputs(tree), Path(__file__))
    passes_with_both_wavefronts(tree, "0.11.1")


@pytest.mark.slow
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("version", LEAST)
def test_every_version_with_both_wavefronts(
    ported: Callable[[str, str, str], Path], version: str, kernels: str
) -> None:
    passes_with_both_wavefronts(ported(version, "dummy", kernels), version)
