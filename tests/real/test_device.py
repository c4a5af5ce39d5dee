"""The tests of the ported candle on the CPU device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from port_of_candle import PRODUCTS
from verify_support import make_tree

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.verify.device import DEVICE
from portkit.verify.ladder import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from portkit.verify.ladder import Outcome

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(PRODUCTS)]

LEAST = {"0.11.1": 131, "0.10.2": 118, "0.9.2": 117}
"""How many tests run on the device: one for each of CUDA's, and those of rocm_basic."""


def on_the_cpu_device(root: Path, **options: object) -> Outcome:
    """Run the tests of a tree."""
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    return DEVICE.take(make_tree(root, print, device="cpu", **options))


def test_the_newest_version_with_both_wavefronts(
    ported: Callable[[str], Path],
) -> None:
    found = on_the_cpu_device(ported("0.11.1"), waves=(32, 64))
    assert found.verdict is Verdict.PASSED, "\n".join(found.evidence)
    assert found.figures["on the device"] >= 2 * LEAST["0.11.1"]
    assert found.figures["ignored"] == 2  # a measurement of upstream's, which is no test


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.10.2", "0.9.2"])
def test_an_older_version_with_both_wavefronts(ported: Callable[[str], Path], version: str) -> None:
    found = on_the_cpu_device(ported(version), waves=(32, 64))
    assert found.verdict is Verdict.PASSED, "\n".join(found.evidence)
    assert found.figures["on the device"] >= 2 * LEAST[version]
