"""An installation of CUDA to build, link and start programs with where there is none, and no GPU.

Its nvcc (``ci/stand-ins/cuda``) makes launchers that print their names. Its driver answers every
call as on a machine without a device; the other libraries say that they are not initialized.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from portkit.cache import cached_folder

ROOT: Final = Path(__file__).resolve().parents[2]
STAND_IN: Final = ROOT / "ci" / "stand-ins" / "cuda"

# What the driver says of an error whether there is a device or not (CUDA Driver API, "Error
# Handling"). The number for there being none is that of cuda.h.
DRIVER: Final = """\
int cuGetErrorName(int error, const char **text) { *text = "CUDA_ERROR_NO_DEVICE"; return 0; }
int cuGetErrorString(int error, const char **text) {
  *text = "no CUDA-capable device is detected";
  return 0;
}
"""
NO_DEVICE: Final = 100
NOT_INITIALIZED: Final = 1
"""Of cuBLAS, and no success of the others either (cublas_api.h, curand.h, nvrtc.h)."""

LIBRARIES: Final = {
    "cuda": ("driver", DRIVER, NO_DEVICE),
    "cublas": ("cublas", "", NOT_INITIALIZED),
    "cublasLt": ("cublaslt", "", NOT_INITIALIZED),
    "curand": ("curand", "", NOT_INITIALIZED),
    "nvrtc": ("nvrtc", "", NOT_INITIALIZED),
    "cudart": ("", "", 0),
}
"""Of each library the module of cudarc that declares it, what it has of its own, and its answer."""


def without_gpu(tree: Path, functions: Path) -> dict[str, str]:
    """Return what a cargo command has to be told besides, to build and run with CUDA.

    Args:
        tree: of a codebase that depends on cudarc, which declares CUDA's functions.
        functions: what nvcc finds in the sources of launchers, as ``ci/nvcc-names`` lists it.
    """
    cudarc = _cudarc(tree)
    made_from = (Path(__file__).read_bytes(), (STAND_IN / "bin/nvcc").read_bytes(), str(cudarc))
    key = hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]
    home = cached_folder("cuda-stand-in", key, lambda folder: _fill(folder, cudarc))
    known = os.environ.get("LD_LIBRARY_PATH", "")
    return {
        **dict.fromkeys(("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"), str(home)),
        "CUDA_COMPUTE_CAP": "80",
        "NVCC_FUNCTIONS": str(functions),
        "PATH": os.pathsep.join([str(home / "bin"), os.environ["PATH"]]),
        # cudarc says where libraries are, candle's kernels by themselves do not.
        "LIBRARY_PATH": str(home / "lib"),
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [str(home / "lib"), known])),
    }


def _cudarc(tree: Path) -> Path:
    """Return where the cudarc of candle-core is; a workspace may have several."""
    asked = ("cargo", "metadata", "--format-version=1", "--all-features")
    done = subprocess.run(asked, cwd=tree, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    packages = {package["id"]: package for package in found["packages"]}
    (core,) = (n for n in found["resolve"]["nodes"] if packages[n["id"]]["name"] == "candle-core")
    (cudarc,) = (each["pkg"] for each in core["deps"] if each["name"] == "cudarc")
    return Path(packages[cudarc]["manifest_path"]).parent


def _fill(home: Path, cudarc: Path) -> None:
    shutil.copytree(STAND_IN, home, dirs_exist_ok=True)
    (home / "lib").mkdir()
    for name, (module, own, answer) in LIBRARIES.items():
        declared = (cudarc / "src" / module / "sys" / "mod.rs").read_text() if module else ""
        names = set(re.findall(r"\bfn ((?:cu|nvrtc)\w+)\(", declared))
        names -= set(re.findall(r"\bint (\w+)\(", own))
        source = own + "".join(f"int {n}(void) {{ return {answer}; }}\n" for n in sorted(names))
        library = home / "lib" / f"lib{name}.so"
        command = ("cc", "-x", "c", "-shared", "-fPIC", "-w", "-", "-o", str(library))
        subprocess.run(command, input=source, text=True, check=True)
