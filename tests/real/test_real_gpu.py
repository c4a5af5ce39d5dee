"""The findings of reports/proof/real-gpu.md, asked of ports through candle on the CPU device.

Each test has to fail over a port without what it is about. So there are two ports of a version: one
as it is, and one that leaves repairs out, by ``portkit.toml`` or by a defect that a variable turns
on. A third, of the newest version, leaves the shared stream out alone.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import pytest
from codebase_support import CANDLE
from msgspec.structs import replace
from port_of_candle import PRODUCTS
from turns import by_turn
from verify_support import make_tree

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.device.toolkit import build_toolkit
from portkit.engine.plan import build_plan
from portkit.engine.session import scan_tree
from portkit.transaction.transaction import write_plan
from portkit.verify.device_choice import ARCH_OF_WAVE, build_cpu_device
from portkit.verify.test_binaries import build_binaries
from tools.proof import bindings
from tools.proof.mutation import SWITCH, Mutant, load_mutants, seeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

pytestmark = [
    pytest.mark.real,
    by_turn("findings on GPUs"),
    pytest.mark.xdist_group(PRODUCTS),
]

SOURCES: Final = Path(__file__).parent / "gpu"
FILES: Final = ("blocks", "crowd", "findings")
HUNG: Final = 300


class Form(StrEnum):
    """What a port is built as."""

    WHOLE = "as it is"
    WITHOUT = "without repairs"
    APART = "each thread has a stream of its own"


STREAM: Final = """
[[exclude]]
codes = ["PK107"]
paths = ["candle-core/src/cuda_backend/device.rs"]
symbols = ["BackendDevice for CudaDevice::new"]
reason = "a test has to find it"
"""

# What a port leaves out for good.
LEFT_OUT: Final = {
    Form.WHOLE: "",
    Form.APART: STREAM,
    Form.WITHOUT: f"""{STREAM}
[[exclude]]
codes = ["PK107"]
paths = ["candle-core/src/quantized/cuda.rs"]
symbols = ["QCudaStorage::dequantize"]
reason = "a test has to find it"

[[exclude]]
codes = ["PK107", "PK108"]
paths = ["candle-core/src/quantized/fast_mm*q.rs"]
reason = "a test has to find it"

[[exclude]]
codes = ["PK108"]
paths = ["candle-core/src/device.rs"]
reason = "a test has to find it"
""",
}

LOCKED: Final = Mutant(
    name="modules locked",
    defect="nothing is launched while kernels are compiled",
    file="candle-core/src/rocm_backend/device.rs",
    find=r"self\.context\.load_module\(mdl\.hsaco\(\)\.into\(\)\)\.w\(\)\?",
    replace="{ let _locked = self.modules.write().unwrap();"
    " self.context.load_module(mdl.hsaco().into()).w()? }",
)


TWICE: Final = "compiled twice"
UNORDERED: Final = "dependency between streams"


@dataclasses.dataclass(frozen=True)
class Case:
    """A test of ``SOURCES``, and how it fails over a port without repairs.

    Attributes:
        test: its name, which is the file's, too, where there is one alone.
        said: what it says then, or the process as it ends.
        device: variables of the CPU device.
        without: the defect that is turned on; none where what is left out for good is enough.
        since: the first version that can fail.
        seeds: of what HIP leaves open; it has to pass under each, and fail under one.
    """

    test: str
    said: str
    device: Mapping[str, str] = dataclasses.field(default_factory=dict)
    without: str = ""
    since: str = "0.9.2"
    seeds: tuple[int, ...] = (0,)


NO_ROCM: Final = {"LD_LIBRARY_PATH": "", "ROCM_PATH": "/nowhere"}
TWO: Final = {"PORTKIT_DEVICE_COUNT": "2"}
WRONG: Final = "left == right"

CASES: Final = (
    Case(
        "another_thread_reads_what_one_has_written",
        WRONG,
        without="event of a thread's stream not recorded",
        since="0.11.1",
    ),
    Case(
        "another_device_of_the_gpu_reads_what_one_has_written",
        WRONG,
        without=UNORDERED,
    ),
    Case(
        "memory_is_used_again_behind_who_used_it_last",
        WRONG,
        without="streams of threads are one",
        since="0.11.1",
    ),
    Case(
        "scratch_memory_is_given_up",
        "(?i)out of memory|OutOfMemory",
        {"DEVICES": "24", "PORTKIT_DEVICE_MEMORY": "256"},
        since="0.11.1",
    ),
    Case(
        "threads_multiply_quantized_matrices_at_once",
        WRONG,
        since="0.11.1",
        seeds=tuple(range(1, 6)),
    ),
    Case("each_thread_has_a_handle_of_rocblas", "left != right", without="one rocBLAS handle"),
    Case(
        "an_error_that_waits_does_not_keep_a_device_from_being_bound",
        WRONG,
        TWO,
        without="device not bound",
    ),
    Case(
        "tensors_go_from_one_gpu_to_another",
        "InvalidValue|INVALID_VALUE",
        {**TWO, "HIPRC_ALLOCATOR": "pool", "PORTKIT_DEVICE_PEERS": "no"},
        without="pool's memory copied directly",
    ),
    *(
        Case(
            "a_launch_that_fails_is_told_and_the_next_is_right",
            "the product says nothing",
            {"ROWS": rows, "PORTKIT_DEVICE_FAIL": f"hipLaunchKernel:{call}:719"},
            since="0.11.1",
        )
        for rows in ("4", "20")
        for call in (1, 2)
    ),
    Case(
        "a_graph_waits_when_it_is_launched_and_not_when_it_is_captured",
        "the launch waits for a reader",
        without="launch of a graph does not wait",
    ),
    Case("blocks_are_read_from_bytes_that_begin_anywhere", "from_raw_parts requires the pointer"),
    # Without ROCm its library is missing, with it a GPU.
    Case(
        "the_cpu_is_what_is_available_where_there_is_no_gpu",
        "libamdhip64|hipErrorNoDevice",
        NO_ROCM,
    ),
)


def mutants() -> tuple[Mutant, ...]:
    """Return the defects that tests turn on."""
    wanted = {case.without for case in CASES} | {LOCKED.name, TWICE, UNORDERED}
    theirs = (replace(each, file=f"candle-hip/{each.file}") for each in bindings.load_mutants())
    every = (*theirs, *load_mutants(CANDLE), LOCKED)
    return tuple(each for each in every if each.name in wanted)


class Programs(Protocol):
    """Gives the test programs of a version and a form, by the names of their files."""

    def __call__(self, version: str, form: Form) -> Mapping[str, Path]: ...


@pytest.fixture(scope="module")
def programs(
    pristine: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Programs]:
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    known: dict[tuple[str, Form], Mapping[str, Path]] = {}
    roots: list[Path] = []

    def get(version: str, form: Form) -> Mapping[str, Path]:
        if (version, form) not in known:
            root = tmp_path_factory.mktemp("port") / "candle"
            shutil.copytree(pristine(version), root)
            if LEFT_OUT[form]:
                (root / "portkit.toml").write_text(LEFT_OUT[form])
            write_plan(root, build_plan(scan_tree(root)).changes)
            for name in FILES:
                shutil.copy(SOURCES / f"{name}.rs", root / "candle-core" / "tests")
            defects = mutants() if form is Form.WITHOUT else ()
            forget(root)
            roots.append(root)
            with seeded(root, *defects, switched=True):
                known[version, form] = compiled(root)
        return known[version, form]

    yield get
    for root in roots:
        forget(root)


def forget(root: Path) -> None:
    """Have cargo build the crates of a tree anew.

    It tells trees of one version apart by nothing but when their files were written, and a tree
    that was written before another one was built would get what was built of that.
    """
    crates = [
        word for crate in ("hip", "rocm-kernels", "core") for word in ("-p", f"candle-{crate}")
    ]
    subprocess.run(["cargo", "clean", "--quiet", *crates], cwd=root, check=True)


def compiled(root: Path) -> Mapping[str, Path]:
    """Build the programs of a port for the CPU device."""
    tree = make_tree(root, device="cpu", packages=("candle-core",), waves=tuple(ARCH_OF_WAVE))
    wanted = [word for name in FILES for word in ("--test", name)]
    found = build_binaries(
        tree,
        *wanted,
        "--features",
        tree.feature,
        *tree.packages,
        environment=build_cpu_device(tree).environment,
    )
    kept = {name: root.parent / name for name in FILES}
    for each in found:
        shutil.copy(each.path, kept[Path(each.path).stem.rpartition("-")[0]])
    return kept


def run(
    program: Path, test: str, *, arch: str = "gfx1100", without: str = "", **device: str
) -> subprocess.CompletedProcess[str]:
    """Run a test on the CPU device, with work done as late as HIP allows."""
    return subprocess.run(
        [program, "--exact", test, "--nocapture"],
        env=build_toolkit().environment(arch=arch)
        | {"PORTKIT_DEVICE_STREAMS": "lazy", SWITCH: without}
        | device,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HUNG,
        check=False,
    )


def outcome(program: Path, case: Case, *, without: str = "", arch: str = "gfx1100") -> str:
    """Run a case under its seeds; return what a run said that did not end well, else nothing."""
    for seed in case.seeds:
        chaos = {"PORTKIT_DEVICE_CHAOS": str(seed)} if seed else {}
        done = run(program, case.test, without=without, arch=arch, **case.device, **chaos)
        if done.returncode != 0:
            return done.stdout
        assert "1 passed" in done.stdout
    return ""


def file_of(case: Case) -> str:
    return "blocks" if case.test.startswith("blocks") else "findings"


def holds(programs: Programs, version: str, case: Case) -> None:
    """Ask a port as it is, and where it can fail one without repairs."""
    name = file_of(case)
    for arch in ARCH_OF_WAVE.values():
        assert outcome(programs(version, Form.WHOLE)[name], case, arch=arch) == ""
    if in_order(version) >= in_order(case.since):
        said = outcome(programs(version, Form.WITHOUT)[name], case, without=case.without)
        assert re.search(case.said, said), said


def in_order(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


VERSIONS_IN_TURN = [
    "0.11.1",
    *(pytest.param(version, marks=pytest.mark.slow) for version in ("0.9.2", "0.10.2")),
]


EACH = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: "-".join((case.test, *filter(None, [case.without])))
)


@EACH
def test_a_finding_is_held_by_the_newest_version(programs: Programs, case: Case) -> None:
    holds(programs, "0.11.1", case)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.9.2", "0.10.2"])
@EACH
def test_a_finding_is_held_by_earlier_versions(
    programs: Programs, version: str, case: Case
) -> None:
    if "PORTKIT_DEVICE_FAIL" in case.device:
        pytest.skip("it has no launchers for quantized products")
    holds(programs, version, case)


# What the shared stream alone does not decide: the order between streams and the repair of scratch
# memory are there.
SHARED: Final = tuple(case for case in CASES if case.said == WRONG and case.since == "0.11.1")


@pytest.mark.slow
@pytest.mark.parametrize("case", SHARED, ids=lambda case: case.test)
def test_streams_of_threads_do_no_harm_alone(programs: Programs, case: Case) -> None:
    apart = programs("0.11.1", Form.APART)[file_of(case)]
    every = dataclasses.replace(case, seeds=tuple(range(1, 21)))
    assert [outcome(apart, every, arch=arch) for arch in ARCH_OF_WAVE.values()] == ["", ""]
    without = programs("0.11.1", Form.WITHOUT)[file_of(case)]
    for seed in case.seeds:
        said = outcome(without, dataclasses.replace(case, seeds=(seed,)), without=case.without)
        assert WRONG in said, f"seed {seed}: {said}"


def crowded(program: Path, seed: int, arch: str, without: str = "") -> str:
    """Run the crowd under a seed, on three devices; return what it says where it fails."""
    device = {"PORTKIT_DEVICE_COUNT": "3", "PORTKIT_DEVICE_CHAOS": str(seed)}
    test = "a_crowd_reads_what_it_has_written"
    done = run(program, test, arch=arch, without=without, **device)
    return "" if done.returncode == 0 else f"seed {seed}, {arch}: {done.stdout}"


@pytest.mark.parametrize("arch", ARCH_OF_WAVE.values())
@pytest.mark.parametrize("version", VERSIONS_IN_TURN)
def test_a_crowd_of_threads_devices_and_streams(
    programs: Programs, version: str, arch: str
) -> None:
    whole = programs(version, Form.WHOLE)["crowd"]
    assert [said for seed in range(1, 21) if (said := crowded(whole, seed, arch))] == []
    without = programs(version, Form.WITHOUT)["crowd"]
    assert any(WRONG in crowded(without, seed, arch, UNORDERED) for seed in range(1, 21))


def taken(program: Path, folder: Path, steps: int, **settings: str) -> int:
    """Return how often so many steps of a program ask HIP for memory of a device."""
    place = folder / f"{steps}-{len(settings)}"
    place.mkdir()
    told = {"STEPS": str(steps), "PORTKIT_DEVICE_REPORT": str(place), **settings}
    done = run(program, "steps_of_a_program", **told)
    assert done.returncode == 0, done.stdout
    (report,) = place.glob("*.json")
    calls = Counter(json.loads(report.read_text())["calls"])
    return sum(calls[name] for name in ("hipMalloc", "hipMallocAsync", "hipMallocFromPoolAsync"))


@pytest.mark.parametrize("version", VERSIONS_IN_TURN)
def test_no_step_but_the_first_asks_hip_for_memory(
    programs: Programs, tmp_path: Path, version: str
) -> None:
    program = programs(version, Form.WHOLE)["findings"]
    assert taken(program, tmp_path, 1) == taken(program, tmp_path, 12) > 0
    # HIP's pool is asked each time.
    pool = {"HIPRC_ALLOCATOR": "pool"}
    assert taken(program, tmp_path, 12, **pool) >= taken(program, tmp_path, 1, **pool) + 11


@pytest.fixture
def unknown_gpu(tmp_path: Path) -> dict[str, str]:
    """A GPU that the build has no kernels for, with a hipRTC that can compile candle's."""
    library, log = tmp_path / "libhiprtc.so", tmp_path / "compiled"
    options = ["-shared", "-fPIC", "-D_GNU_SOURCE", "-o", str(library)]
    subprocess.run(["cc", *options, str(SOURCES / "hiprtc.c")], check=True)
    log.touch()
    libraries = build_toolkit().environment(arch="")["LD_LIBRARY_PATH"]
    return {
        "PORTKIT_DEVICE_ARCH": "gfx1030",
        "LD_LIBRARY_PATH": f"{tmp_path}:{libraries}",
        "XDG_CACHE_HOME": str(tmp_path / "caches"),
        "STAND_IN_LOG": str(log),
    }


@pytest.mark.parametrize("version", VERSIONS_IN_TURN)
def test_kernels_are_compiled_once_and_beside_launches(
    programs: Programs, unknown_gpu: dict[str, str], version: str
) -> None:
    test = "kernels_are_launched_while_others_are_compiled"
    done = run(programs(version, Form.WHOLE)["findings"], test, **unknown_gpu)
    assert done.returncode == 0, done.stdout
    compiled = Path(unknown_gpu["STAND_IN_LOG"]).read_text().split()
    assert sorted(compiled) == ["affine.hip", "fill.hip", "reduce.hip"]
    shutil.rmtree(unknown_gpu["XDG_CACHE_HOME"])
    without = programs(version, Form.WITHOUT)["findings"]
    done = run(without, test, without=LOCKED.name, **unknown_gpu)
    assert "no launch for" in done.stdout
    shutil.rmtree(unknown_gpu["XDG_CACHE_HOME"])
    Path(unknown_gpu["STAND_IN_LOG"]).write_text("")
    run(without, test, without=TWICE, **unknown_gpu)
    assert Path(unknown_gpu["STAND_IN_LOG"]).read_text().split().count("reduce.hip") == 2


def test_launchers_run_on_the_gpus_of_the_build_alone(
    programs: Programs, unknown_gpu: dict[str, str]
) -> None:
    test = "a_quantized_product_on_a_gpu_that_the_build_did_not_know"
    done = run(programs("0.11.1", Form.WHOLE)["findings"], test, **unknown_gpu)
    assert done.returncode == 0, done.stdout
    done = run(programs("0.11.1", Form.WITHOUT)["findings"], test, **unknown_gpu)
    assert "hipErrorInvalidDeviceFunction" in done.stdout
