"""What once went wrong with a port on a GPU that is not perfect, on the CPU device.

What each is about, and how it was seen to fail, is in
`reports/proof/real-gpu.md`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from codebase_support import CANDLE
from port_of_candle import PRODUCTS, VERSIONS

from portkit.device.hipcc.cxx import NoCompilerError
from portkit.device.toolkit import build_toolkit
from portkit.profile.profile import load_codebase
from portkit.verify.device_choice import ARCH_OF_WAVE, for_cpu_device
from portkit.verify.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(PRODUCTS)]

SOURCES = Path(__file__).parent / "gpu"
SECONDS = 300

MANIFEST = """\
[package]
name = "real-gpu"
version = "0.1.0"
edition = "2021"

[dependencies]
candle-core = {{ path = "{root}/candle-core", features = ["rocm"] }}
candle-nn = {{ path = "{root}/candle-nn", features = ["rocm"] }}

[workspace]
"""

NEWEST_AND_SLOW = [
    "0.11.1",
    *(pytest.param(v, marks=pytest.mark.slow) for v in VERSIONS if v != "0.11.1"),
]
LATE = {"PORTKIT_DEVICE_STREAMS": "lazy"}
ELSEWHERE = {"PORTKIT_DEVICE_ARCH": "gfx1030"}
"""A GPU that the kernels are not built for."""

FINDINGS: list[tuple[str, Mapping[str, str]]] = [
    ("another_thread_reads", LATE),
    ("another_device_reads", LATE),
    ("threads_share_a_quantized_matrix", LATE),
    ("what_a_device_used_is_given_back", {}),
    ("an_error_that_waits_leaves_the_right_device", {"PORTKIT_DEVICE_COUNT": "2"}),
    ("devices_copy_to_each_other", LATE | {"PORTKIT_DEVICE_COUNT": "2"}),
    (
        "devices_copy_to_each_other",
        LATE | {"PORTKIT_DEVICE_COUNT": "2", "PORTKIT_DEVICE_PEERS": "no"},
    ),
    ("others_launch_while_one_compiles", ELSEWHERE),
    ("no_product_is_wrong", {}),
    ("no_product_is_wrong", ELSEWHERE),
    *(("no_product_is_wrong", {"PORTKIT_DEVICE_FAIL": f"hipLaunchKernel:{n}:719"}) for n in (1, 2)),
    ("a_graph_takes_what_another_stream_wrote_before", LATE),
    ("bytes_need_not_be_aligned", {}),
]


class Programs:
    """The tests of ``tests/real/gpu``, built against a port for the CPU device."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Build them.

        Args:
            root: the ported tree.
            folder: for the crate and what the tests leave; not there yet.
        """
        self.folder = folder
        try:
            self.device = build_toolkit().environment(arch=ARCH_OF_WAVE[32])
        except NoCompilerError as error:
            pytest.skip(str(error))
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "lib.rs").touch()
        (folder / "Cargo.toml").write_text(MANIFEST.format(root=root))
        shutil.copytree(SOURCES, folder / "tests")
        settings = load_settings(load_codebase(CANDLE))
        archs = for_cpu_device(settings, ARCH_OF_WAVE.values())
        built = subprocess.run(
            ["cargo", "test", "--no-run", "--message-format=json"],
            cwd=folder,
            env=self.device | archs,
            capture_output=True,
            text=True,
            check=False,
        )
        assert built.returncode == 0, built.stderr[-6000:]
        messages = [json.loads(line) for line in built.stdout.splitlines()]
        tests = [m for m in messages if m.get("executable") and m["target"]["kind"] == ["test"]]
        self.of = {
            name: each["executable"]
            for each in tests
            for name in re.findall(
                r"#\[test\]\nfn (\w+)", (SOURCES / f"{each['target']['name']}.rs").read_text()
            )
        }

    def said(self, test: str, settings: Mapping[str, str], *, seconds: int = SECONDS) -> str:
        """Run one test, and return what it says if it fails."""
        apart = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        try:
            done = subprocess.run(
                [self.of[test], "--exact", test, "--nocapture"],
                env={**self.device, **apart, **settings},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no end after {seconds} s"
        ran = "test result: ok. 1 passed" in done.stdout
        return "" if done.returncode == 0 and ran else f"{done.returncode}: {done.stdout[-2000:]}"

    def calls(self, steps: int) -> Counter[str]:
        """Return how often each function of HIP is called in a program of so many steps."""
        report = self.folder / f"report-{steps}"
        report.mkdir()
        settings = {"STEPS": str(steps), "PORTKIT_DEVICE_REPORT": str(report)}
        assert self.said("steps", settings) == ""
        (found,) = report.glob("*.json")
        return Counter(json.loads(found.read_text())["calls"])


@pytest.fixture(scope="module")
def programs(
    _products: None,
    ported: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Programs]:
    """Give the programs of a version."""
    known: dict[str, Programs] = {}

    def get(version: str) -> Programs:
        if version not in known:
            place = tmp_path_factory.mktemp("gpu") / version
            known[version] = Programs(ported(version), place)
        return known[version]

    return get


@pytest.mark.parametrize("version", NEWEST_AND_SLOW)
@pytest.mark.parametrize(("test", "settings"), FINDINGS)
def test_it_is_right_or_refused(
    programs: Callable[[str], Programs], version: str, test: str, settings: dict[str, str]
) -> None:
    assert programs(version).said(test, settings) == ""


@pytest.mark.parametrize("version", NEWEST_AND_SLOW)
def test_steps_take_no_memory_from_hip(programs: Callable[[str], Programs], version: str) -> None:
    few, many = (programs(version).calls(steps) for steps in (2, 40))
    assert 0 < few["hipMalloc"] == many["hipMalloc"]
    assert few["hipLaunchKernel"] + few["hipModuleLaunchKernel"] < (
        many["hipLaunchKernel"] + many["hipModuleLaunchKernel"]
    )
    for pool in ("hipMallocAsync", "hipMallocFromPoolAsync", "hipFreeAsync"):
        assert many[pool] == 0


@pytest.mark.parametrize("version", NEWEST_AND_SLOW)
def test_without_a_gpu_there_is_the_cpu(programs: Callable[[str], Programs], version: str) -> None:
    nothing = {"LD_LIBRARY_PATH": "", "ROCM_PATH": "/nowhere"}
    assert programs(version).said("without_a_gpu_there_is_the_cpu", nothing) == ""


SEEDS = (1, 2, 3)
"""Of 20; the others are slow tests."""


def crowd(programs: Programs, seed: int, wave: int) -> str:
    """Run 8 threads on 4 devices of each of 3 GPUs under a seed, and return what goes wrong."""
    settings = {
        "PORTKIT_DEVICE_ARCH": ARCH_OF_WAVE[wave],
        "PORTKIT_DEVICE_CHAOS": str(seed),
        "PORTKIT_DEVICE_COUNT": "3",
    }
    return programs.said("a_crowd_computes_with_what_it_shares", settings)


@pytest.mark.parametrize("wave", ARCH_OF_WAVE)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_crowd_under_a_seed(programs: Callable[[str], Programs], seed: int, wave: int) -> None:
    assert crowd(programs("0.11.1"), seed, wave) == ""


@pytest.mark.slow
@pytest.mark.parametrize("wave", ARCH_OF_WAVE)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_crowd_under_twenty_seeds(
    programs: Callable[[str], Programs], version: str, wave: int
) -> None:
    lost = {seed: crowd(programs(version), seed, wave) for seed in range(1, 21)}
    assert {seed: said for seed, said in lost.items() if said} == {}


def test_every_program_is_run() -> None:
    written = {
        name
        for path in SOURCES.glob("*.rs")
        for name in re.findall(r"#\[test\]\nfn (\w+)", path.read_text())
    }
    apart = {"steps", "without_a_gpu_there_is_the_cpu", "a_crowd_computes_with_what_it_shares"}
    assert written == {test for test, _ in FINDINGS} | apart


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_copies_say_is_about_amd(
    ported: Callable[..., Path], version: str, gating: str
) -> None:
    root = ported(version, gating)
    copies = [
        path
        for path in root.rglob("*.rs")
        if re.search(r"rocm|candle-hip", str(path.relative_to(root)))
    ]
    assert len(copies) > 30
    strange = re.compile(r"docs\.nvidia\.com|upstream\W+candle_hip")
    assert [path for path in copies if strange.search(path.read_text())] == []
