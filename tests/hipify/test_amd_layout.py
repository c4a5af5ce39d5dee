"""Kernels built with ROCm as AMD's packages lay it out: below one prefix, and nowhere else.

Debian's packages, moved (``ci/amd-layout``, which says in how far its ROCm 7 is one).
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from amd_layout_support import amd_layout, environment_with
from test_kernels_build import make_crate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.hipcc]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("target")


@pytest.fixture(params=["6", "7"])
def rocm(request: pytest.FixtureRequest) -> Path:
    """The prefix."""
    return amd_layout(request.param)


def test_headers_are_below_the_prefix_alone(rocm: Path, tmp_path: Path) -> None:
    """The layout is one on which a build of the host part as C++ fails."""
    source = tmp_path / "a.cpp"
    source.write_text("#include <hip/hip_runtime_api.h>\n")

    def compiled(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(rocm / "bin/hipcc"), "-c", *words, str(source), "-o", str(tmp_path / "a.o")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    said = compiled("-x", "c++", "-D__HIP_PLATFORM_AMD__").stderr
    assert "'hip/hip_runtime_api.h' file not found" in said
    assert compiled("-x", "hip", "--offload-host-only").returncode == 0


def test_a_crate_of_kernels_is_built_and_its_tests_are_linked(
    rocm: Path, tmp_path: Path, target: Path
) -> None:
    crate = make_crate(tmp_path, target, "../candle-kernels")
    for command in (["build", "--example", "use"], ["test", "--no-run"]):
        done = subprocess.run(
            ["cargo", *command],
            cwd=crate.folder,
            env={**environment_with(rocm), "CARGO_TARGET_DIR": str(target)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    bundle = crate.made("fill.hsaco").read_bytes()
    assert bundle.startswith(b"__CLANG_OFFLOAD_BUNDLE__") and b"amdhsa--gfx1100" in bundle
    # The build notes a kernel's name, by which a module without its kernels is known.
    assert '"/fill.hsaco")), "fill_f32")' in crate.made("built.rs").read_text()
