"""A tree that stands in for an installation of ROCm, over CUDA's driver, cuBLAS and cuRAND.

Usage: ``python ci/nvidia/toolkit.py FOLDER``. It needs g++, binutils and the headers of CUDA, below
``CUDA_HOME``, and neither a GPU nor CUDA's libraries, which the machine with the GPU has.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(HERE)]

from hipcc import ARCH, INCLUDE, cuda  # noqa: E402
from portkit.device.stubs import render_stubs  # noqa: E402
from portkit.device.toolkit import LIBRARIES  # noqa: E402

# A call of HIP is to cost what CUDA's own costs: the parts are compiled as one, and variables of a
# thread are where the program's own are.
_CHEAP: Final = ("-flto", "-ffat-lto-objects", "-ftls-model=initial-exec")

_SHARED: Final = ROOT / "device" / "src" / "runtime"
_FLAGS: Final = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread", "-w", *_CHEAP)


@dataclass(frozen=True, slots=True)
class Part:
    """What a library of the stand-in is made of.

    Attributes:
        own: sources in ``src``.
        shared: sources of the CPU device.
        vendor: NVIDIA's library, by the name that the loader knows.
        prefix: of the names of its functions.
    """

    own: tuple[str, ...]
    shared: tuple[str, ...]
    vendor: str
    prefix: str


PARTS: Final = {
    "amdhip64": Part(
        ("device.cpp", "memory.cpp", "stream.cpp", "module.cpp"),
        ("arch.cpp", "code_object.cpp", "error.cpp", "failures.cpp", "options.cpp"),
        "libcuda.so.1",
        "cu[A-Z]",
    ),
    "rocblas": Part(("rocblas.cpp",), (), "libcublas.so.13", "cublas[A-Z]"),
    "hiprand": Part(("hiprand.cpp",), (), "libcurand.so.10", "curand[A-Z]"),
}
"""hipRTC has none: kernels in source form are not compiled here."""


def build(root: Path) -> None:
    """Make the tree in an empty or missing folder.

    Raises:
        CalledProcessError: a compiler refuses; it has said why.
        OSError: there is no compiler, or the folder cannot be written.
    """
    for name in ("bin", "lib"):
        (root / name).mkdir(parents=True, exist_ok=True)
    hipcc = root / "bin" / "hipcc"
    hipcc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{HERE}/hipcc.py" "$@"\n')
    hipcc.chmod(0o755)
    with tempfile.TemporaryDirectory() as scratch:
        for name, part in PARTS.items():
            _build_library(name, part, root / "lib", Path(scratch))


def _build_library(name: str, part: Part, place: Path, scratch: Path) -> None:
    made = scratch / f"{name}_stubs.cpp"
    made.write_text(render_stubs(name), encoding="utf-8")
    sources = [*(HERE / "src" / own for own in part.own), *(_SHARED / own for own in part.shared)]
    folders = (HERE / "src", _SHARED, *INCLUDE, cuda() / "include")
    include = [f"-I{folder}" for folder in folders]
    objects = [scratch / f"{name}-{source.stem}.o" for source in (*sources, made)]
    for source, made_object in zip((*sources, made), objects, strict=True):
        define = f'-DHIPCUDA_ARCH="{ARCH}"'
        _run("g++", *_FLAGS, define, *include, "-c", source, "-o", made_object)
    library = next(each for each in LIBRARIES if each.name == name)
    needed = [place / f"lib{each}.so" for each in library.needs]
    own_name = f"lib{name}.so.{library.versions[0]}"
    soname = f"-Wl,-soname,{own_name},-rpath,$ORIGIN,--no-undefined,--no-as-needed"
    vendor = _import_library(part, objects, scratch)
    _run("g++", *_FLAGS, "-shared", *objects, *needed, vendor, soname, "-o", place / own_name)
    for version in ("", *(f".{each}" for each in library.versions[1:])):
        link = place / f"lib{name}.so{version}"
        link.unlink(missing_ok=True)
        link.symlink_to(own_name)


def _import_library(part: Part, objects: list[Path], scratch: Path) -> Path:
    """Make an empty library with the vendor's name and the functions that the objects need."""
    listed = subprocess.run(["nm", "-u", *objects], capture_output=True, text=True, check=True)
    names = sorted(set(re.findall(rf"\bU ({part.prefix}\w+)", listed.stdout)))
    source = scratch / f"{part.vendor}.c"
    source.write_text("".join(f"void {name}(void) {{}}\n" for name in names))
    folder = scratch / "vendor"
    folder.mkdir(exist_ok=True)
    library = folder / part.vendor
    _run("gcc", "-shared", "-fPIC", "-w", source, f"-Wl,-soname,{part.vendor}", "-o", library)
    return library


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1]).absolute()
    shutil.rmtree(target, ignore_errors=True)
    build(target)
    print(f'export ROCM_PATH="{target}" HIPCC="{target}/bin/hipcc" CANDLE_ROCM_ARCHS={ARCH}')
    sys.exit(os.EX_OK)
