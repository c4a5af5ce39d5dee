"""CUDA sources that are compiled as they stand: what the crate has beside them."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from kernel_support import SOURCE

from portkit.hipify.crate_sources import assemble_sources
from portkit.hipify.errors import KernelInputError, KernelPatchError
from portkit.hipify.kernel_profile import NO_PROFILE, KernelProfile
from portkit.hipify.kernels_crate import KernelsCrate
from portkit.hipify.patch import Patch
from portkit.hipify.paths import PATCH_FILE
from portkit.hipify.prelude import load_prelude_headers
from portkit.hipify.shared_sources import SharedSources

if TYPE_CHECKING:
    from pathlib import Path

CUDA = {
    "all.cu": """\
#include <cuda_fp16.h>
#include "cuda_bf16.h"
#  include "shared.cuh"
#include "other.cu"
#include <cub/cub.cuh>
#if __CUDA_ARCH__ >= 800
__device__ __nv_bfloat16 a(float x) { return __float2bfloat16_rn(x); }
#endif
__device__ float b(float x) { return __shfl_xor_sync(0xffffffff, x, 1) + warpSize; }
__device__ void c() { __syncwarp(); __trap(); }
int d(cudaStream_t s) { return cudaFuncSetAttribute(b<1, 2>, cudaFuncAttributeX, 1); }
""",
    "deep/er/shared.cuh": "#include <mma.h>\ncudaError_t e(cudaStream_t);\n",
    "other.cu": "// nothing\n",
    "notes.txt": "__trap",
}


def shared(sources: dict[str, str], profile: KernelProfile = NO_PROFILE) -> SharedSources:
    files = {path: text.encode() for path, text in sources.items()}
    return SharedSources(files, profile, name="toy-kernels")


def defined(names: str) -> dict[str, str]:
    lines = (line.split(" ", 2) for line in names.splitlines() if line.startswith("#define "))
    return {name: new for _, name, new in lines}


def test_a_byte_order_mark_is_passed_over() -> None:
    def compiled(sources: dict[str, str]) -> dict[str, str]:
        made = shared(sources)
        return assemble_sources({path: made.text(path) for path in made.paths}, sources, "cuda")

    assert compiled({path: f"\ufeff{text}" for path, text in CUDA.items()}) == compiled(CUDA)


def test_a_name_is_a_macro_and_what_is_none_is_in_the_patch() -> None:
    made = shared(CUDA)
    assert defined(made.text("hipx_names.h")) == {
        "__float2bfloat16_rn": "__float2bfloat16",
        "__nv_bfloat16": "__hip_bfloat16",
        "__trap": "__builtin_trap",
        "cudaError_t": "hipError_t",
        "cudaStream_t": "hipStream_t",
        "__shfl_xor_sync(mask,": "...) HIPX_ON_LANES(mask, hipx::shfl_xor(__VA_ARGS__))",
        "__syncwarp(...)": "HIPX_ON_LANES(__VA_ARGS__, hipx::syncwarp())",
    }
    changes = [line for line in made.text("cuda.patch").splitlines() if line[:1] in "+-"]
    assert changes == [
        "--- a/src/all.cu",
        "+++ b/src/all.cu",
        "-__device__ float b(float x) { return __shfl_xor_sync(0xffffffff, x, 1) + warpSize; }",
        "+__device__ float b(float x) { return __shfl_xor_sync(0xffffffff, x, 1)"
        " + hipx::warp_size; }",
    ]


def test_inline_ptx_is_in_the_patch_and_its_header_beside_the_names() -> None:
    ptx = 'asm("membar.gl;");'
    made = shared({"a.cu": f"void f() {{ {ptx} }}\n", "b.cu": "int g(const int *p);\n"})
    assert '#include "hipx_cuda.h"\n#include "hipx_ptx.h"\n' in made.text("hipx_names.h")
    assert {"hipx_ptx.h", "hipx_ptx_warp.h", "hipx_fp8.h"} <= set(made.headers)
    assert f"-void f() {{ {ptx} }}\n+void f() {{ hipx::ptx::membar_gl(); }}" in made.text(
        PATCH_FILE
    )
    # Where AMD's compiler sees none, or none that is known, nothing comes with it.
    hidden = f"#ifdef __CUDACC__\n{ptx}\n#endif\n"
    for text in ("void f();\n", hidden, 'void f() { asm("wgmma;"); }\n'):
        without = shared({"a.cu": text})
        assert "hipx_ptx" not in without.text("hipx_names.h")
        assert not any("ptx" in name for name in without.headers)
    loads = shared({"a.cu": "int f(const int *p) { return __ldg(p); }\n"})
    assert '#include "hipx_ldg.h"\n' in loads.text("hipx_names.h")
    assert "hipx_ldg.h" in loads.headers


def test_a_name_that_stays_somewhere_is_renamed_in_the_patch() -> None:
    # The alias of `narrow_float`: its declaration keeps the name.
    text = "typedef __hip_bfloat16 __nv_bfloat16;\n__nv_bfloat16 a;\n"
    made = shared({"a.cu": text})
    assert defined(made.text("hipx_names.h")) == {}
    assert "+__hip_bfloat16 a;\n" in made.text("cuda.patch")


KINDS = {"f16": "int n", "f32": "int n", "f64": "int"}

KERNELS = """\
extern "C" __global__ void plain(int n) {
}
extern "C" __global__ void
used(int n) {
}
extern "C" __global__ void row_q2_a(int n) {
}
extern "C" __global__ void row_q4_b(int n) {
}
extern "C" __global__ void row_p4_b(int) {
}
extern "C" __global__ void row_q4_b_c(int) {
}
template <typename T> __global__ void both(T n) {
}
template <int N> __global__ void both(int n) {
}
void launch() { used<<<1, 1>>>(1); /* plain */ }
"""


def test_launch_bounds_are_said_by_the_names_of_kernels() -> None:
    bounds = Patch(
        code="PH305",
        files=("a.cu",),
        match="__global__ void $name(int n) {",
        replace="__global__ void __launch_bounds__(64)\n    $name(int n) {",
        reason="launched with 64 threads",
        hits=(5,),
    )
    made = shared({"a.cu": KERNELS}, KernelProfile(name="toy", patches=(bounds,)))
    said = [s for s in made.text("hipx_names.h").splitlines() if s.startswith("#pragma hipx")]
    assert said == [
        "#pragma hipx bounds 64 plain",
        "#pragma hipx bounds 64 row_q*_*",
        "#pragma hipx bounds 64 used",
    ]
    # A name that two kernels have tells of neither: those stand in the patch.
    changes = [line for line in made.text("cuda.patch").splitlines()[2:] if line[:1] in "+-"]
    assert changes == [
        "-template <int N> __global__ void both(int n) {",
        "+template <int N> __global__ void __launch_bounds__(64)",
        "+    both(int n) {",
    ]
    got = assemble_sources({path: made.text(path) for path in made.paths}, {"a.cu": KERNELS}, "x")
    heads = re.findall(r"__global__[^(]*(?:\(64\)[^(]*)?\(", got["a.hip"])
    bounded = [" ".join(head.split()) for head in heads if "__launch_bounds__" in head]
    assert bounded == [
        "__global__ __launch_bounds__(64) void plain(",
        "__global__ __launch_bounds__(64) void used(",
        "__global__ __launch_bounds__(64) void row_q2_a(",
        "__global__ __launch_bounds__(64) void row_q4_b(",
        "__global__ void __launch_bounds__(64) both(",
    ]


def test_a_pattern_that_takes_in_another_kernel_is_not_said() -> None:
    bounds = Patch(
        code="PH305",
        files=("a.cu",),
        match="__global__ void $name(int n) {",
        replace="__global__ void __launch_bounds__(64) $name(int n) {",
        reason="launched with 64 threads",
        hits=(2,),
    )
    texts = [f"__global__ void sum_{kind}({n}) {{\n}}\n" for kind, n in KINDS.items()]
    made = shared({"a.cu": "".join(texts)}, KernelProfile(name="toy", patches=(bounds,)))
    said = [s for s in made.text("hipx_names.h").splitlines() if s.startswith("#pragma hipx")]
    assert said == ["#pragma hipx bounds 64 sum_f16", "#pragma hipx bounds 64 sum_f32"]


def test_the_files_are_known_without_a_translation() -> None:
    made = shared({"a.cu": "\x00 \xff __trap"})
    assert {"cuda.patch", "hipx.h", "hipx_cuda.h", "hipx_names.h"} <= set(made.paths)
    assert not [path for path in made.paths if path.endswith(".hip")]
    assert shared({"a.cu": "#include <mma.h>\n"}).hip_headers == {"mma.h": "hipx_wmma.h"}
    assert "hipx_wmma.h" in shared({"a.cu": "#include <mma.h>\n"}).paths


def test_a_header_of_the_folders_own_is_no_header_of_cudas() -> None:
    made = shared({"a.cu": '#include "mma.h"\n#include <mma.h>\n', "mma.h": ""})
    assert made.hip_headers == {}


def test_what_the_compiler_gets() -> None:
    made = shared(CUDA)
    own = {path: made.text(path) for path in made.paths}
    got = assemble_sources(own, CUDA, "../toy-kernels/src")
    assert got["all.hip"].splitlines()[:7] == [
        '#include "hipx_names.h"',
        '#line 1 "../toy-kernels/src/all.cu"',
        "#include <hip/hip_fp16.h>",
        "#include <hip/hip_bf16.h>",
        '#  include "shared.cuh"',
        '#include "other.hip"',
        "#include <hipcub/hipcub.hpp>",
    ]
    # A header is no source that a macro comes before, and lies two folders below the prelude.
    assert got["deep/er/shared.cuh"].startswith('#include "../../hipx_wmma.h"\ncudaError_t')
    assert got["hipx.h"] == load_prelude_headers()["hipx.h"]
    assert "notes.txt" not in got
    assert "cuda.patch" not in got


def test_a_patch_of_a_file_that_is_gone_is_an_error() -> None:
    made = shared(CUDA)
    own = {path: made.text(path) for path in made.paths}
    with pytest.raises(KernelPatchError, match=r"cuda\.patch changes all\.cu, which is not there"):
        assemble_sources(own, {"other.cu": ""}, "x")


def test_a_source_that_is_not_utf8_is_refused() -> None:
    made = SharedSources({"a.cu": b"// \xff\nint x;\n"}, name="toy-kernels")
    with pytest.raises(KernelInputError, match=r"a\.cu is not UTF-8"):
        made.text("cuda.patch")


def crate(shared: str) -> KernelsCrate:
    return KernelsCrate(
        {path: text.encode() for path, text in SOURCE.items()},
        version="1.2.3",
        name="my-rocm-kernels",
        facade="my-hip",
        variables="MY_ROCM",
        shared=shared,
    )


def test_the_crate_has_no_translation_and_says_so() -> None:
    made = crate("../my-kernels").files
    assert [path for path in made if path.endswith(".hip")] == ["src/launchers.hip"]
    assert 'workspace: "../my-kernels",' in made["build.rs"]
    assert '&[("cuda_runtime.h", "hip/hip_runtime.h")]' in made["build.rs"]
    assert "mod sources;" in made["build.rs"]
    assert "mkdir cuda && cp -r ../my-kernels/src cuda" in made["README.md"]
    assert "launch_gemm" not in made["src/ffi.rs"]
    translated = crate("").files
    assert "sources.rs" not in translated
    assert "sources" not in translated["build.rs"]
    assert "cuda.patch" not in translated["README.md"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
@pytest.mark.parametrize(
    ("mask", "compiles"),
    [
        ("0xffffffff", True),
        ("-1", True),
        ("~0u", True),
        ("0xffffffffffffffffull", True),
        ("", True),
        ("0xffff", False),
        ("1", False),
        ("x", False),  # a variable: nobody knows what it holds
    ],
)
def test_a_mask_that_is_not_of_all_lanes_does_not_compile(
    tmp_path: Path, mask: str, compiles: bool
) -> None:
    for name, text in load_prelude_headers().items():
        (tmp_path / name).write_text(text)
    source = tmp_path / "a.cpp"
    source.write_text(
        '#include "hipx_cuda.h"\n'
        f"int f(unsigned x) {{ return HIPX_ON_LANES({mask}, x ? 1 : 2); }}\n"
        "cuda::std::numeric_limits<int> limits;\n"
    )
    command = ["g++", "-std=c++17", "-fsyntax-only", "-Wno-overflow", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == compiles, done.stderr
