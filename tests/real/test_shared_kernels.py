"""candle's CUDA sources compiled as they stand, beside their translations."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from codebase_support import candle_kernels
from proven import ROOT

from portkit.hipify.hipcc import FLAGS, find_hipcc, read_compiler_version
from portkit.hipify.kernels_crate import read_layout
from portkit.verify.hip_sources import list_hip_sources, open_hip_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

pytestmark = [pytest.mark.real, pytest.mark.hipcc]

VERSIONS = ("0.11.1", "0.9.2", "0.10.2")
ARCHS = ("gfx1100", "gfx90a", "gfx1030")
OLDER = VERSIONS[1:]
PARTS = 4

# LLVM's IR as clang writes it, before any optimization. A pass that runs later sees nothing else.
# __FILE__ and __LINE__ differ by design, and so does what `assert` would say of them.
ANYWHERE = (
    *("-Wno-builtin-macro-redefined", "-D__LINE__=0", '-D__FILE__=""', "-DNDEBUG"),
    "-fuse-cuid=none",
)
IR = (
    *("-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"),
    *("--offload-device-only", "--no-gpu-bundle-output"),
)
# The host's side has one call of a function of the prelude, which is inlined.
ASSEMBLY = ("-S", "--offload-host-only", "-fPIC", "-fno-exceptions", "-fno-rtti")
# Where inline assembly stands (LLVM Language Reference, "Inline Asm Metadata"), and the file.
PLACES = re.compile(r"^!\d+ = !\{i64 \d+\}$|^source_filename = .*$|^; ModuleID = .*$", re.MULTILINE)


def contents(cuda: Path) -> Mapping[str, bytes]:
    files = (path for path in cuda.rglob("*") if path.is_file())
    return {path.relative_to(cuda).as_posix(): path.read_bytes() for path in files}


def emitted(cuda: Path, version: str, folder: Path, shared: str) -> Path:
    """Write the crate of kernels of a version."""
    for path, text in candle_kernels(contents(cuda), version, shared).files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def code(folder: Path, sources: list[str], *how: str) -> Mapping[str, str]:
    """Return what clang makes of sources."""
    hipcc = find_hipcc()

    def one(source: str) -> str:
        command = [str(hipcc), *FLAGS, *ANYWHERE, *how, source, "-o", "-"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (source, done.stderr)
        return PLACES.sub("", done.stdout)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(sources, pool.map(one, sources), strict=True))


def parts() -> list[object]:
    """Each version on an architecture of its own, in parts of its sources."""
    return [
        pytest.param(version, arch, n, marks=pytest.mark.slow if n or version in OLDER else ())
        for version, arch in zip(VERSIONS, ARCHS, strict=True)
        for n in range(PARTS)
    ]


@pytest.mark.parametrize(("version", "arch", "part"), parts())
def test_the_compiler_makes_the_same_of_both(
    pristine: Callable[[str], Path],
    tmp_path: Path,
    unless_proven: Callable[..., None],
    version: str,
    arch: str,
    part: int,
) -> None:
    cuda = pristine(version) / "candle-kernels"
    translated = emitted(cuda, version, tmp_path / "translated", "")
    shared = emitted(cuda, version, tmp_path / "shared", "../candle-kernels")
    tools = [ROOT / "portkit" / name for name in ("hipify", "verify/hip_sources.py")]
    unless_proven(read_compiler_version(find_hipcc()), cuda, tmp_path, *tools, Path(__file__))
    every = list_hip_sources(shared, cuda)
    assert every == list_hip_sources(translated)
    assert len(every) > PARTS
    sources = [*every[part::PARTS]]
    # The others have no side of the host.
    linked = {*read_layout(contents(cuda)).launchers, "launchers"}
    launchers = [source for source in sources if source.removesuffix(".hip") in linked]
    device, host = (*IR, f"--offload-arch={arch}"), ASSEMBLY
    with open_hip_folder(shared, cuda) as folder:
        of_cuda = code(folder, sources, *device), code(folder, launchers, *host)
    own = translated / "src"
    assert of_cuda == (code(own, sources, *device), code(own, launchers, *host))
