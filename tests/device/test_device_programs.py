"""HIP programs on the CPU device: each checks what the HIP programming guide says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from device_support import PRELUDE, PROGRAMS, WAVES, assert_all_hold, build, hipcc, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

MATRIX_ARCHS = ("gfx1030", "gfx1100", "gfx1201", "gfx90a", "gfx942")
OTHER_MATRICES = ("gfx1030", "gfx1201")
"""Without matrix cores, and with results that lie in other lanes."""
LEAST = {"execution": 28, "host": 65, "mmvq": 6, "numbers": 32, "strided": 18}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every program, compiled."""
    folder = tmp_path_factory.mktemp("programs")
    with ThreadPoolExecutor() as pool:
        made = {
            name: pool.submit(build, PROGRAMS / f"{name}.hip", folder / name, f"-I{PRELUDE}")
            for name in LEAST
        }
        return {name: each.result() for name, each in made.items()}


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module that is loaded by name."""
    output = tmp_path_factory.mktemp("module") / "module.hsaco"
    archs = [f"--offload-arch={arch}" for arch in WAVES.values()]
    done = hipcc("--genco", *archs, PROGRAMS / "module.hip", "-o", output)
    assert done.returncode == 0, done.stderr
    return output


@pytest.mark.parametrize("arch", WAVES.values())
def test_execution_model(programs: dict[str, Path], arch: str) -> None:
    assert_all_hold(run(programs["execution"], arch=arch), LEAST["execution"])


def test_execution_model_on_many_threads(programs: dict[str, Path]) -> None:
    assert_all_hold(run(programs["execution"], threads="7"), LEAST["execution"])


@pytest.mark.parametrize("streams", ["eager", "lazy"])
@pytest.mark.parametrize("arch", WAVES.values())
def test_host_interface(programs: dict[str, Path], module: Path, arch: str, streams: str) -> None:
    done = run(programs["host"], module, arch=arch, streams=streams)
    assert_all_hold(done, LEAST["host"])


def test_numbers(programs: dict[str, Path]) -> None:
    assert_all_hold(run(programs["numbers"]), LEAST["numbers"])


@pytest.mark.parametrize("arch", WAVES.values())
def test_views(programs: dict[str, Path], arch: str) -> None:
    assert_all_hold(run(programs["strided"], arch=arch), LEAST["strided"])


@pytest.mark.parametrize("arch", WAVES.values())
def test_blocks_of_products_with_few_columns(programs: dict[str, Path], arch: str) -> None:
    assert_all_hold(run(programs["mmvq"], arch=arch), LEAST["mmvq"])


def test_no_code_for_the_architecture(programs: dict[str, Path]) -> None:
    done = run(programs["execution"], arch="gfx1201")
    assert done.returncode != 0
    assert "hipErrorInvalidDeviceFunction" in done.stdout


def test_a_source_for_hiprtc_that_includes_the_prelude(tmp_path: Path) -> None:
    """The prelude asks for what clang has built in, and g++ in part only since its version 15."""
    words = ("-c", "--offload-device-only", "--no-gpu-bundle-output", "--offload-arch=gfx1100")
    source = PROGRAMS / "runtime_compiled.hip"
    done = hipcc(*words, "-D__HIPCC_RTC__=1", "-I", PRELUDE, source, "-o", tmp_path / "code")
    assert done.returncode == 0, done.stderr


def test_matrix_instructions(tmp_path: Path) -> None:
    program = tmp_path / "matrix"
    archs = [f"--offload-arch={arch}" for arch in MATRIX_ARCHS]
    done = hipcc(f"-I{PRELUDE}", *archs, PROGRAMS / "matrix.hip", "-o", program)
    assert done.returncode == 0, done.stderr
    for arch in MATRIX_ARCHS:
        assert_all_hold(run(program, arch=arch), 2)


@pytest.mark.parametrize("arch", WAVES.values())
def test_pairs_of_the_prelude(tmp_path: Path, arch: str) -> None:
    program = build(PROGRAMS / "pairs.hip", tmp_path / "pairs", f"-I{PRELUDE}")
    assert_all_hold(run(program, arch=arch), 9)


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels of attention, and what compares them with double precision."""
    output = tmp_path_factory.mktemp("attention") / "sdpa"
    others = (f"--offload-arch={arch}" for arch in OTHER_MATRICES)
    return build(PROGRAMS / "sdpa.hip", output, f"-I{PRELUDE}", *others)


@pytest.mark.parametrize("arch", [*WAVES.values(), *OTHER_MATRICES])
def test_attention(attention: Path, arch: str) -> None:
    assert_all_hold(run(attention, "150", "1", arch=arch), 150)


def test_attention_under_the_checker(tmp_path: Path) -> None:
    output = tmp_path / "sdpa"
    program = build(PROGRAMS / "sdpa.hip", output, f"-I{PRELUDE}", checked=True)
    for arch in WAVES.values():
        assert_all_hold(run(program, "12", "3", arch=arch, check="1"), 12)


def test_host_code_without_exceptions_and_types_at_run_time(tmp_path: Path) -> None:
    """The standard library's headers are those of such a build."""
    source = tmp_path / "a.hip"
    source.write_text(
        '#include "check.h"\n#include <iostream>\n#include <map>\n'
        "int main() { Device<int> x(1); CHECK(x.values()[0] == 0); }\n"
    )
    program = build(source, tmp_path / "a", f"-I{PROGRAMS}", "-fno-exceptions", "-fno-rtti")
    assert_all_hold(run(program), 1)
