"""candle's kernels through hipcc, and candle-core linked with them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from codebase_support import CANDLE, candle_kernels
from kernel_support import exported

from portkit.hipify.code_object import read_kernels
from portkit.hipify.hipcc import find_hipcc
from portkit.verify.kernel_matrix import load_budgets, verify_kernels
from tools.kernel_reports import list_kernel_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = [pytest.mark.real, pytest.mark.hipcc]

NAMES = Path(__file__).parent.parent.parent / "reports" / "kernels" / "0.11.1" / "names.txt"

# The module that has no CUDA source.
OWN = "attention"

# For three types: decode of 1, 2, 4 and 8 rows and prefill of two widths, each for sdpa and for
# flash attention, and one that combines parts.
OWN_KERNELS = 3 * ((4 + 2) * 2 + 1)

# A member of each family that is linked.
MEMBERS = ("mmq_gguf/mmq_instance_q4_k", "mmq_gguf/mmq_quantize", "mmvq_gguf", "moe/moe_wmma_gguf")


def modules() -> dict[str, set[str]]:
    """The kernels of each module: `nvcc -ptx -arch=sm_89` (13.0.88), its visible entries."""
    rows = [line.split() for line in NAMES.read_text().splitlines()]
    return {module: {name for other, name in rows if other == module} for module, _ in rows}


@pytest.fixture(scope="module")
def crate(pristine: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels crate of candle 0.11.1."""
    source = pristine("0.11.1") / "candle-kernels"
    contents = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in source.rglob("*")
        if path.is_file()
    }
    folder = tmp_path_factory.mktemp("kernels")
    for path, text in candle_kernels(contents, "0.11.1").files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100"])
def test_candles_kernels_compile_within_their_budgets(crate: Path, arch: str) -> None:
    sources = [f"{name}.hip" for name in (*modules(), OWN, *MEMBERS)]
    found = verify_kernels(crate, [arch], budgets=load_budgets(CANDLE, "0.11.1"), only=sources)
    assert [(each.source, each.error) for each in found.failures] == []
    assert found.worse == ()
    assert len(found.cells) == len(sources)
    # Name by name what nvcc finds in the same sources.
    names = list_kernel_names(found, arch)
    assert {module: names[module] for module in modules()} == modules()
    own = [use for cell in found.cells if cell.compiled.source == f"{OWN}.hip" for use in cell.uses]
    assert len(own) == OWN_KERNELS
    assert [use.name for use in own if use.scratch or use.vgpr_spills or use.sgpr_spills] == []


@dataclass(frozen=True)
class Linked:
    """A ported candle whose candle-core was built with kernels for one architecture.

    Attributes:
        tree: the tree.
        environment: what it was built with.
        program: the tests of `rocm_basic`.
        out: where the build script of the kernels wrote.
    """

    tree: Path
    environment: dict[str, str]
    program: str
    out: Path


@pytest.fixture(scope="module")
def linked(ported: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Linked:
    """candle-core 0.11.1 with all kernels: five minutes on two processors."""
    folder = tmp_path_factory.mktemp("linked")
    tree = folder / "candle"
    shutil.copytree(ported("0.11.1"), tree, symlinks=True)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("CANDLE_")}
    environment = inherited | {
        "CARGO_TARGET_DIR": str(folder / "target"),
        "CANDLE_ROCM_ARCHS": "gfx1100",
        "CANDLE_ROCM_CACHE": str(folder / "objects"),
    }
    command = "cargo test --package candle-core --features rocm --test rocm_basic --no-run"
    printed = run([*command.split(), "--message-format=json"], tree, environment)
    messages = [json.loads(line) for line in printed.splitlines()]
    program = next(message["executable"] for message in messages if message.get("executable"))
    (out,) = {path.parent for path in (folder / "target").rglob("affine.hsaco")}
    return Linked(tree, environment, program, out)


def run(command: Sequence[str | Path], folder: Path, environment: dict[str, str]) -> str:
    """Run a program that has to succeed, and return what it prints."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_runtime(*command: str | Path) -> list[str | Path]:
    """The command, run where ci/toolchain has installed HIP's libraries."""
    enter = find_hipcc().parent.parent / "enter"
    if not enter.exists():
        pytest.skip("hipcc is not ci/toolchain's")
    return [enter, *command]


@pytest.mark.slow
def test_candle_core_links_with_every_module_and_launcher(linked: Linked) -> None:
    for module in (*modules(), OWN):
        assert (linked.out / f"{module}.hsaco").stat().st_size > 1000, module
    # The library exports what candle-kernels declares, and three functions of its own.
    ffi = (linked.tree / "candle-kernels" / "src" / "ffi.rs").read_text()
    declared = set(re.findall(r"pub fn (\w+)\(", ffi))
    assert exported(linked.out / "libcandle_rocm_launchers.a") == {
        *declared,
        "launchers_failure",
        "launchers_memory",
        "launchers_present",
    }


@pytest.mark.slow
@pytest.mark.parametrize("runtime", [False, True])
def test_a_program_with_kernels_says_that_there_is_no_gpu(linked: Linked, runtime: bool) -> None:
    if Path("/dev/kfd").exists():
        pytest.skip("there may be one")
    ran = subprocess.run(
        with_runtime(linked.program) if runtime else [linked.program],
        env={"RUST_BACKTRACE": "0", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    # libtest's exit code for tests that fail; a crash would be a signal.
    assert ran.returncode == 101, ran.stderr
    need_one = (linked.tree / "candle-core/tests/rocm_basic.rs").read_text().count("#[test]") - 1
    assert f"1 passed; {need_one} failed" in ran.stdout
    says = (
        "Error: no ROCm-capable device is detected (hipErrorNoDevice)"
        if runtime
        else "Error: the HIP runtime could not be loaded: no libamdhip64.so"
    )
    assert ran.stdout.count(says) == need_one


RTC = """use candle_rocm_kernels::*;

fn main() {{
    for module in [{modules}] {{
        let kernels = module.hsaco();
        let image = kernels.compile("gfx1030").expect(kernels.name);
        std::fs::write(kernels.name, image.as_bytes().unwrap()).unwrap();
    }}
}}
"""


@pytest.mark.slow
def test_hiprtc_compiles_every_module_that_the_build_lacks(linked: Linked, tmp_path: Path) -> None:
    crate = linked.tree / "candle-rocm-kernels"
    (crate / "examples").mkdir()
    constants = ", ".join(module.upper() for module in (*modules(), OWN))
    (crate / "examples" / "rtc.rs").write_text(RTC.format(modules=constants))
    run(["cargo", "build", "--example", "rtc"], crate, linked.environment)
    program = Path(linked.environment["CARGO_TARGET_DIR"]) / "debug" / "examples" / "rtc"
    run(with_runtime(program), tmp_path, dict(os.environ))
    for module, names in modules().items():
        image = (tmp_path / f"{module}.hip").read_bytes()
        assert {kernel.name for kernel in read_kernels(image)} == names, module
    assert len(read_kernels((tmp_path / f"{OWN}.hip").read_bytes())) == OWN_KERNELS
