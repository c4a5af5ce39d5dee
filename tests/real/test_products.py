"""Products of half matrices by the bindings, where something of hipBLASLt is missing or fails."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest
from facade_support import cargo
from proven import bindings_inputs

from portkit.device.toolkit import build_toolkit
from portkit.port.hip_bindings import HOME
from portkit.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo"),
]

NAMES = ("products", "refusals")
PRODUCTS = 4
"""How many each of the two runs of ``refusals`` has."""


@pytest.fixture(scope="module")
def _build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], dict[str, str]]:
    """Give the function that builds the programs, and does it once."""

    @cache
    def build() -> dict[str, str]:
        crate = tmp_path_factory.mktemp("crate") / "hip"
        shutil.copytree(shipped(HOME), crate, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
        chosen = [word for name in NAMES for word in ("--test", name)]
        target = tmp_path_factory.mktemp("target")
        built = cargo(crate, target, "test", *chosen, "--no-run", "--message-format=json")
        assert built.returncode == 0, built.stdout
        lines = [line for line in built.stdout.splitlines() if line.startswith("{")]
        messages = [each for each in map(json.loads, lines) if each.get("executable")]
        return {each["target"]["name"]: each["executable"] for each in messages}

    return build


@pytest.fixture
def made(
    _build: Callable[[], dict[str, str]], unless_proven: Callable[..., None]
) -> dict[str, str]:
    """The programs of these tests."""
    unless_proven(*bindings_inputs(__file__))
    return _build()


def run(program: str, *asked: str, **settings: str) -> str:
    device = build_toolkit().environment(arch="gfx1100") | {"PORTKIT_DEVICE_STREAMS": "lazy"}
    done = subprocess.run(
        [program, *asked, "--include-ignored", "--nocapture", "--test-threads=1"],
        env=device | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{settings}: {done.stdout}"
    return done.stdout


def taken(printed: str) -> list[int]:
    return [int(number) for number in re.findall(r"taken: (\d+)", printed)]


UNTOLD = {
    # What hipBLASLt calls it says itself; what fails in a drop may be told to nobody.
    *("hipFree", "hipGetDevice", "hipMalloc", "hipMemset"),
    *("hipDeviceSynchronize", "hipStreamSynchronize"),
    # Without an architecture nobody looks whether hipBLASLt has kernels for it.
    "hipGetDeviceProperties",
    # Nothing is relaxed then, and what a capture refuses is told.
    "hipThreadExchangeStreamCaptureMode",
    # Where the test itself begins anew.
    *("hipDeviceGet", "hipInit"),
}
"""What of HIP a program may not hear of."""

OF_DROPS = {
    "hipblasLtDestroy",
    *(f"hipblasLt{what}Destroy" for what in ("MatrixLayout", "MatmulDesc", "MatmulPreference")),
}


@pytest.mark.parametrize("status", ["2", "6"], ids=["out of memory", "internal error"])
def test_each_call_that_fails_is_told_or_done_by_rocblas(
    made: dict[str, str], tmp_path: Path, status: str
) -> None:
    """Let each call of HIP and hipBLASLt fail, one a run; the program compares what comes of it."""
    program = made["refusals"]
    right = run(program, PORTKIT_DEVICE_REPORT=str(tmp_path))
    assert "told: []" in right and taken(right) == [PRODUCTS, PRODUCTS]
    (report,) = tmp_path.glob("*.json")
    calls = json.loads(report.read_text())["calls"]
    called = Counter({name: n for name, n in calls.items() if name.startswith("hip")})
    # Once a thread, and once a shape, for each of two programs.
    assert called["hipblasLtCreate"] == called["hipblasLtMatmulAlgoGetHeuristic"] == 2
    failed, untold, refused = Counter[str](), Counter[str](), Counter[str]()
    for call in range(1, called.total() + 1):
        printed = run(program, PORTKIT_DEVICE_FAIL=f"*:{call}:{status}")
        for function in re.findall(r"HIP device: (\w+) fails, as", printed):
            failed[function] += 1
            untold[function] += "told: []" in printed
            if function.startswith("hipblasLt") and function not in OF_DROPS:
                # A line says it, or the error does; without memory a handle is asked for again.
                said = re.findall(r"hiprc: hipBLASLt: HIPBLAS_STATUS_\w+", printed)
                told = re.findall(r'told: \["hipBLASLt: HIPBLAS_STATUS_\w+; HIPRC_BLAS', printed)
                again = function == "hipblasLtCreate" and status == "2"
                assert len(said) + len(told) == (0 if again else 1), printed
                refused[function] += len(told)
    assert failed.keys() == called.keys()
    assert {name for name, times in untold.items() if times and name[:9] != "hipblasLt"} <= UNTOLD
    # Only what was added to what there was cannot be done again: every second product.
    assert refused == {**dict.fromkeys(refused, 0), "hipblasLtMatmul": PRODUCTS}


def test_a_shape_without_a_solution_is_said_once(made: dict[str, str]) -> None:
    printed = run(made["products"], "both_libraries_compute")
    lines = re.findall(r"hiprc: hipBLASLt has no solution for (.*): rocBLAS does it", printed, re.M)
    assert lines and max(Counter(lines).values()) == 1
    assert all(" TT, " in line for line in lines)


def without_hipblaslt(folder: Path) -> dict[str, str]:
    """A machine with ROCm and without hipBLASLt, which is a package of its own."""
    (libraries,) = {path.parent for path in build_toolkit().root.rglob("librocblas.so")}
    for library in libraries.iterdir():
        if "hipblaslt" not in library.name:
            (folder / library.name).symlink_to(library)
    return {"LD_LIBRARY_PATH": str(folder), "ROCM_PATH": str(folder)}


def test_without_hipblaslt_rocblas_does_all(made: dict[str, str], tmp_path: Path) -> None:
    printed = run(made["refusals"], **without_hipblaslt(tmp_path))
    assert "told: []" in printed and taken(printed) == [0, 0]
    # Who asks for it hears what to install, once.
    assert len(re.findall(r"hiprc: hipBLASLt could not be loaded: no ", printed)) == 1
    package = "AMD's package hipblaslt; Debian's and Ubuntu's libhipblaslt-dev, Fedora's hipblaslt"
    assert package in printed


@pytest.mark.parametrize("word", ["auto", "rocblas", "hipblaslt"])
def test_the_environment_chooses(made: dict[str, str], tmp_path: Path, word: str) -> None:
    run(made["products"], HIPRC_BLAS=word, PORTKIT_DEVICE_REPORT=str(tmp_path))


def test_another_word_is_an_error(made: dict[str, str]) -> None:
    device = build_toolkit().environment(arch="gfx1100") | {"HIPRC_BLAS": "fast"}
    done = subprocess.run(
        [made["products"], "the_environment", "--include-ignored", "--nocapture"],
        env=device,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "HIPRC_BLAS is fast: it can be auto, rocblas or hipblaslt" in done.stdout + done.stderr
