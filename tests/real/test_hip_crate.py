"""The crate of HIP bindings by itself: its own tests on the CPU device, lints, the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from facade_support import cargo, include_folders
from kept_trees import keep
from proven import bindings_inputs
from turns import turn

from portkit.cache import cache_folder
from portkit.device.toolkit import build_toolkit
from portkit.port.hip_bindings import HOME
from portkit.shipped import shipped
from tools.proof.bindings import OF_THE_ALLOCATOR
from tools.proof.ranks import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo"),
]

CLIPPY = ["undocumented_unsafe_blocks", "missing_safety_doc"]


ARCHS = ("gfx1100", "gfx90a")


@pytest.fixture(autouse=True)
def _unless_proven(unless_proven: Callable[..., None]) -> None:
    headers = (folder / "hip" / "hip_runtime_api.h" for folder in include_folders())
    found = [path for path in headers if path.is_file()]
    unless_proven(*bindings_inputs(__file__), *found, *turn(ARCHS, 1))


@pytest.fixture(scope="module")
def target() -> Path:
    return cache_folder() / "target" / "tests-bindings"


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy, into which cargo may write its lock file."""
    place = tmp_path_factory.mktemp("crate") / "hip"
    ignored = shutil.ignore_patterns("target", "Cargo.lock")
    shutil.copytree(shipped(HOME), place, ignore=ignored)
    with ExitStack() as locks:
        yield keep(place, "bindings", locks)


@pytest.mark.parametrize(
    "command",
    [
        ["fmt", "--check"],
        ["clippy", "--all-targets", "--all-features", "--", "-D", "warnings"]
        + [word for lint in CLIPPY for word in ("-D", f"clippy::{lint}")],
        ["package", "--allow-dirty"],
    ],
    ids=lambda command: command[0],
)
def test_it_is_fit_to_be_published(crate: Path, target: Path, command: list[str]) -> None:
    done = cargo(crate, target, *command)
    assert done.returncode == 0, done.stdout


# What each file of tests has: how many of them.
TESTS = {
    "against_f64": 1,
    "borrowed_stream": 1,
    "collectives": 5,
    "constants": 1,
    "convolutions": 5,
    "crowd": 1,
    "device": 14,
    "dialect": 4,
    "failures": 1,
    "launchers": 1,
    "memory": 1,
    "older": 9,
    "one_stream": 1,
    "peers": 4,
    "products": 8,
    "ranks": 1,
    "refusals": 1,
    "second_stream": 1,
    "streams": 16,
}

# As late as HIP allows, work shows what does not wait; with the pool, and where no device reaches
# another, memory takes other ways.
DEVICES: dict[str, dict[str, str]] = {
    "at once": {},
    "late": {"PORTKIT_DEVICE_STREAMS": "lazy"},
    "pool": {
        "PORTKIT_DEVICE_STREAMS": "lazy",
        "PORTKIT_DEVICE_PEERS": "no",
        "HIPRC_ALLOCATOR": "pool",
    },
}


@pytest.mark.parametrize("device", DEVICES)
def test_its_tests_pass_on_the_cpu_device(crate: Path, target: Path, device: str) -> None:
    # What asks no device is asked once.
    names = sorted(TESTS.keys() - set(OF_THE_ALLOCATOR if device == "pool" else ()))
    chosen = [] if device == "at once" else [w for name in names for w in ("--test", name)]
    command = ["cargo", "test", "--all-features", "--target-dir", str(target), *chosen]
    portkit = Path(sys.executable).with_name("portkit")
    done = subprocess.run(
        [portkit, "device", "--", *command, "--", "--include-ignored"],
        cwd=crate,
        env=os.environ | {"PORTKIT_DEVICE_COUNT": "3"} | DEVICES[device],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [int(count) for count in re.findall(r"^running (\d+) tests?$", done.stdout, re.M)]
    if not chosen:
        # The units come first, the documentation last.
        counts = counts[1:-1]
    assert dict(zip(names, counts, strict=True)) == {name: TESTS[name] for name in names}
    assert done.stdout.count(" 0 ignored;") == done.stdout.count("test result: ok.")


def programs(crate: Path, target: Path) -> dict[str, str]:
    """Build each file of tests, and return the programs."""
    command = ["cargo", "test", "--all-features", "--target-dir", str(target), "--no-run"]
    built = subprocess.run(
        [*command, "--tests", "--message-format=json"],
        cwd=crate,
        capture_output=True,
        text=True,
        check=True,
    )
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    made = {each["target"]["name"]: each["executable"] for each in messages if "target" in each}
    return {name: made[name] for name in TESTS}


SEEDS = range(1, 21)


@pytest.mark.parametrize("arch", ARCHS)
def test_its_tests_pass_whatever_is_done_that_hip_leaves_open(
    crate: Path, target: Path, arch: str
) -> None:
    """The architecture whose turn it is has all seeds, `tools.proof chaos` both."""
    seeds = SEEDS if [arch] == turn(ARCHS, 1) else SEEDS[::4]
    made = programs(crate, target)
    device = build_toolkit().environment(arch=arch) | {"PORTKIT_DEVICE_COUNT": "3"}

    def failed(name: str, seed: int) -> str:
        done = subprocess.run(
            [made[name], "--include-ignored"],
            env=device | {"PORTKIT_DEVICE_CHAOS": str(seed)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return "" if done.returncode == 0 else f"{name}, seed {seed}: {done.stdout}"

    # Which asks no device, what counts memory that may be refused, and what takes its time to fail.
    apart = ("constants", "dialect", "launchers", "memory", "ranks")
    names = sorted(TESTS.keys() - set(apart))
    assert [text for name in names for seed in seeds if (text := failed(name, seed))] == []
    assert [text for seed in SEEDS[::10] if (text := failed("ranks", seed))] == []
    # Memory that is refused does show.
    assert any(failed("memory", seed) for seed in SEEDS)


def test_without_rccl_the_error_names_its_package(
    crate: Path, target: Path, tmp_path: Path
) -> None:
    """A machine has HIP and no RCCL, which is a package of its own."""
    device = build_toolkit().environment(arch="gfx1100")
    (libraries,) = {path.parent for path in build_toolkit().root.rglob("librccl.so")}
    for library in libraries.iterdir():
        if not library.name.startswith("librccl"):
            (tmp_path / library.name).symlink_to(library)
    device |= {"LD_LIBRARY_PATH": str(tmp_path), "ROCM_PATH": str(tmp_path)}
    device |= {"RANK": "0", "SCENARIO": "agrees", "RANKS_ID": "00" * 128}
    done = subprocess.run(
        [programs(crate, target)["ranks"], "--include-ignored", "--nocapture"],
        env=device,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "told: error: RCCL could not be loaded: no librccl.so, librccl.so.1" in done.stdout
    assert "AMD's package rccl; Debian's and Ubuntu's librccl-dev, Fedora's rccl" in done.stdout, (
        done.stdout
    )


SEARCH = {"HIPRC_MIOPEN_SEARCH": "1"}
"""MIOpen measures its solutions when a convolution is first computed."""
DESTROYED = {"miopenDestroyConvolutionDescriptor", "miopenDestroyTensorDescriptor"}
"""What nobody hears of, and changes no result."""


def convolutions(crate: Path, target: Path, test: str = "") -> Callable[..., str]:
    """Return what runs the tests of convolutions under settings, and gives what they print."""
    program = programs(crate, target)["convolutions"]
    device = build_toolkit().environment(arch="gfx1100")

    def run(**settings: str) -> str:
        done = subprocess.run(
            [program, "--include-ignored", "--nocapture", test],
            env=device | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{settings}: {done.stdout[-4000:]}"
        return done.stdout

    return run


@pytest.mark.parametrize("search", [{}, SEARCH], ids=["estimated", "measured"])
def test_a_call_of_miopen_that_fails_leaves_the_convolution_to_others(
    crate: Path, target: Path, tmp_path: Path, search: dict[str, str]
) -> None:
    """Let each call fail, one a run, with each of MIOpen's statuses."""
    run = convolutions(crate, target, "what_fails_once_is_left_to_others")
    printed = run(PORTKIT_DEVICE_REPORT=str(tmp_path), **search)
    assert "left: 0" in printed
    assert "computed without it" not in printed
    (report,) = tmp_path.glob("*.json")
    calls = {n: c for n, c in json.loads(report.read_text())["calls"].items() if n[:3] == "mio"}
    for number, function in enumerate(sorted(calls.keys() - {"miopenDestroy"})):
        status = 1 + number % 8
        printed = run(PORTKIT_DEVICE_FAIL=f"{function}:1:{status}", **search)
        assert f"HIP device: {function} fails, as" in printed
        told = 0 if function in DESTROYED else 1
        assert f"left: {told}" in printed, printed
        assert printed.count("is computed without it; MIOPEN_LOG_LEVEL=5") == told, printed


def test_what_was_searched_is_known_to_programs_that_come_after(
    crate: Path, target: Path, tmp_path: Path
) -> None:
    run = convolutions(crate, target, "what_fails_once_is_left_to_others")
    database = {"MIOPEN_USER_DB_PATH": str(tmp_path)}
    assert "fastest: miopenConvolutionFwdAlgoGEMM" in run(**database)
    assert "fastest: miopenConvolutionFwdAlgoDirect" in run(**database, **SEARCH)
    assert "fastest: miopenConvolutionFwdAlgoDirect" in run(**database)
    assert "fastest: miopenConvolutionFwdAlgoGEMM" in run()
    # Whichever is taken, what comes of it is right.
    assert "left: 0" in convolutions(crate, target)(**SEARCH)


def test_without_miopen_its_package_is_named_once(
    crate: Path, target: Path, tmp_path: Path
) -> None:
    """A machine has HIP and no MIOpen: all convolutions are left to others."""
    root = build_toolkit().root
    for library in (root / "lib").iterdir():
        if not library.name.startswith("libMIOpen"):
            (tmp_path / library.name).symlink_to(library)
    done = subprocess.run(
        [programs(crate, target)["convolutions"], "--include-ignored", "--nocapture", "once"],
        env=build_toolkit().environment(arch="gfx1100")
        | {"LD_LIBRARY_PATH": str(tmp_path), "ROCM_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr.count("MIOpen could not be loaded: no libMIOpen.so, libMIOpen.so.1") == 1
    packages = "AMD's package miopen-hip; Debian's and Ubuntu's libmiopen-dev, Fedora's miopen"
    assert packages in done.stderr
    assert "; convolutions are computed without it" in done.stderr


# Two to eight ranks, in threads and in processes: at once, and as late as HIP allows.
EIGHT = {"gfx1100": "", "gfx90a": "lazy"}
WAYS = ("threads", "processes")


@pytest.mark.parametrize("arch", EIGHT)
def test_two_to_eight_ranks_compute_what_arithmetic_does(
    crate: Path, target: Path, arch: str
) -> None:
    made = programs(crate, target)
    device = build_toolkit().environment(arch=arch) | {
        "PORTKIT_DEVICE_COUNT": "8",
        "PORTKIT_DEVICE_STREAMS": EIGHT[arch],
    }
    for name in ("against_f64", "collectives", "ranks"):
        done = subprocess.run(
            [made[name], "--include-ignored", "--nocapture"],
            env=device,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{name}: {done.stdout[-4000:]}"
        if name == "against_f64":
            # By each rank of each number of them, of ten types: five reductions in three
            # operations, and three operations that only move.
            cases = parse(64, done.stdout)
            ways = Counter((case.ranks, case.way) for case in cases)
            assert ways == {(n, w): n * 10 * 18 for n in range(2, 9) for w in WAYS}


UNTOLD = {
    *("hipDeviceSynchronize", "hipEventDestroy", "hipFree", "hipGetDevice"),
    *("hipStreamSynchronize", "hipThreadExchangeStreamCaptureMode"),
    # Where the test itself begins anew.
    *("hipDeviceGet", "hipInit"),
}
"""What a program may not hear of: what fails in a drop after which it asks for nothing more."""


def of_failures(program: str) -> Callable[..., str]:
    """Return what runs a program under settings, and gives what it prints; it has to end well."""
    device = build_toolkit().environment(arch="gfx1100") | {"PORTKIT_DEVICE_STREAMS": "lazy"}

    def run(**settings: str) -> str:
        done = subprocess.run(
            [program, "--include-ignored", "--nocapture"],
            env=device | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{settings}: {done.stdout}"
        return done.stdout

    return run


def calls_of(run: Callable[..., str], folder: Path) -> Counter[str]:
    """Return how often a program calls each function of HIP where none fails."""
    assert "told: []" in run(PORTKIT_DEVICE_REPORT=str(folder))
    (report,) = folder.glob("*.json")
    calls = json.loads(report.read_text())["calls"]
    return Counter({name: n for name, n in calls.items() if name.startswith("hip")})


@pytest.mark.parametrize("status", ["2", "999"], ids=["out of memory", "unknown"])
def test_a_call_that_fails_is_told_and_the_next_works(
    crate: Path, target: Path, tmp_path: Path, status: str
) -> None:
    """Let each HIP call of a program fail, one a run; a copy without its order would be wrong."""
    run = of_failures(programs(crate, target)["failures"])
    calls = calls_of(run, tmp_path)
    failed, untold = Counter[str](), Counter[str]()
    for call in range(1, calls.total() + 1):
        printed = run(PORTKIT_DEVICE_FAIL=f"*:{call}:{status}")
        for function in re.findall(r"HIP device: (\w+) fails, as", printed):
            failed[function] += 1
            if "told: []" in printed:
                untold[function] += 1
    assert failed.keys() == calls.keys()
    # Memory that is refused once is had after what is unused was given back.
    assert untold.keys() <= UNTOLD | ({"hipMalloc"} if status == "2" else set())


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize(
    "function", ["rocblas_create_handle", "rocblas_set_stream", "rocblas_set_atomics_mode"]
)
def test_a_handle_of_rocblas_that_fails_once_is_none_of_another_stream(
    crate: Path, target: Path, function: str, call: int
) -> None:
    """The second call is that of another thread than the one that the first handle is of."""
    run = of_failures(programs(crate, target)["failures"])
    printed = run(PORTKIT_DEVICE_FAIL=f"{function}:{call}:6")
    assert f"HIP device: {function} fails, as" in printed
    assert "told: []" not in printed


def documented(header: str, function: str) -> set[str]:
    """Return the statuses that HIP's header says a function may return; none where it says none."""
    comment = r"/\*\*((?:(?!\*/).)*)\*/\s*(?:#ifdef __cplusplus\s*)?(?:DEPRECATED\([^)]*\)\s*)?"
    found = re.findall(rf"{comment}hipError_t {function}\(", header, re.DOTALL)
    return set(re.findall(r"#(hipError\w+)", found[-1])) if found else set()


def test_each_status_that_hip_documents_is_told(crate: Path, target: Path, tmp_path: Path) -> None:
    headers = [folder / "hip" / "hip_runtime_api.h" for folder in include_folders()]
    header = next((path.read_text() for path in headers if path.is_file()), "")
    if not header:
        pytest.skip("no headers of ROCm: set ROCM_INCLUDE")
    numbers = dict(re.findall(r"^ *(hipError\w+) *= *(\d+),", header, re.MULTILINE))
    run = of_failures(programs(crate, target)["failures"])
    asked = [
        (function, number, status)
        for function, times in calls_of(run, tmp_path).items()
        # Not yet done is no failure, and no memory is another test's.
        for status in sorted(documented(header, function) - {"hipErrorNotReady"})
        if (function, status) != ("hipMalloc", "hipErrorOutOfMemory")
        for number in range(1, times + 1)
    ]
    assert len({status for _, _, status in asked}) >= 10

    def untold(each: tuple[str, int, str]) -> str:
        function, number, status = each
        printed = run(PORTKIT_DEVICE_FAIL=f"{function}:{number}:{numbers[status]}")
        return "" if "told: []" not in printed else f"{function}: {status}"

    with ThreadPoolExecutor() as pool:
        silent = {each for each in pool.map(untold, asked) if each}
    assert {each.partition(":")[0] for each in silent} <= UNTOLD


def test_every_file_of_its_tests_is_run() -> None:
    files = {path.stem for path in (shipped(HOME) / "tests").glob("*.rs")}
    assert files == TESTS.keys()
