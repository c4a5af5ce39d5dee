"""A CUDA kernels crate that we wrote, with the layout of candle's."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LIB = """mod ptx;
mdl!(FILL, Fill);
mdl!(SORT_ALL, SortAll);
pub mod ffi;
"""
FFI = """use core::ffi::c_void;
#[allow(dead_code)]
extern "C" {
    // from moe_gemm.cu
    #[cfg(feature = "extra")]
    pub fn launch_gemm(x: *const c_void, n: i32) -> i32;

    pub fn launch_Norm(
        x: *mut f32, // device pointer
        stream: i64,
    );
}
"""
KERNEL = """#include "cuda_shared.cuh"
extern "C" __global__ void fill_f32(float *x, float v) { x[threadIdx.x] = twice(v); }
"""
LAUNCHER = """#include <cuda_runtime.h>
#include "../cuda_shared.cuh"
__global__ void gemm(int n) {}
extern "C" int launch_gemm(const void *x, int n) { gemm<<<1, 32>>>(n); return cudaGetLastError(); }
extern "C" void launch_Norm(float *x, long long stream) {
  gemm<<<1, 32, 0, (cudaStream_t)stream>>>(1);
}
"""
SOURCE = {
    "build.rs": 'let launchers = vec!["src/moe/moe_gemm.cu"];',
    "src/lib.rs": LIB,
    "src/ffi.rs": FFI,
    "src/fill.cu": KERNEL,
    "src/sort_all.cu": KERNEL.replace("fill", "sort"),
    "src/cuda_shared.cuh": "static __device__ float twice(float v) { return 2 * v; }\n",
    "src/moe/moe_gemm.cu": LAUNCHER,
}


PREFIX = "candle_rocm_"
"""What each name in the static library begins with."""


def exported(library: Path) -> set[str]:
    """Return the C functions that a static library gives to a program, without its prefix."""
    functions = {row[7] for row in _symbols(library) if row[3:6] == ["FUNC", "GLOBAL", "DEFAULT"]}
    assert all(name.startswith(PREFIX) for name in functions)
    names = {name.removeprefix(PREFIX) for name in functions}
    # C++ names, and what the compiler makes for a kernel with a C name.
    return {name for name in names if not name.startswith(("_Z", "__device_stub__"))}


def defined(library: Path) -> set[str]:
    """Return every name that a static library gives to other objects, functions or not."""
    return {row[7] for row in _symbols(library) if row[4] != "LOCAL"}


def _symbols(library: Path) -> list[list[str]]:
    """Return what it defines: number, value, size, type, binding, visibility, section, name."""
    command: list[str | Path] = ["readelf", "--symbols", "--wide", library]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [row for row in rows if len(row) == 8 and row[0][:-1].isdigit() and row[6] != "UND"]
