"""The CPU device's hipBLASLt: what it refuses. The bindings' tests compare what it computes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from device_support import PROGRAMS, WAVES, toolkit

pytestmark = pytest.mark.real

# hipblas-common.h.
INVALID_VALUE, NOT_SUPPORTED = 3, 7
# Of 3 times 4 sums in single precision.
PARTS = 48


def product(case: str, arch: str, **settings: str) -> list[int]:
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "products.py"), case],
        capture_output=True,
        text=True,
        env=toolkit().environment(arch=arch) | settings,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


CASES = {
    "right": [0, 1, PARTS, 0],
    "no workspace": [0, 1, 0, 0],
    # A success without a solution.
    "both turned": [0, 0, 0],
    "two types": [NOT_SUPPORTED, 0, 0],
    "another depth": [INVALID_VALUE, 0, 0],
    "overlapping": [INVALID_VALUE, 0, 0],
    "another batch": [INVALID_VALUE, 0, 0],
    "another shape": [0, 1, PARTS, INVALID_VALUE],
    "short workspace": [0, 1, PARTS, INVALID_VALUE],
    "null": [0, 1, PARTS, INVALID_VALUE],
}


@pytest.mark.parametrize("arch", WAVES.values())
@pytest.mark.parametrize("case", CASES)
def test_a_product_is_checked(case: str, arch: str) -> None:
    assert product(case, arch) == CASES[case]


def test_a_call_fails_with_the_status_that_is_asked_for() -> None:
    asked = {"PORTKIT_DEVICE_FAIL": "hipblasLtMatmul:1:5"}
    assert product("right", WAVES[32], **asked) == [0, 1, PARTS, 5]
