"""What HIP sources define, as a C preprocessor and the lexer see it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from portkit.errors import ToolError
from portkit.hipify.code_object import read_kernels
from portkit.hipify.hipcc import compile_matrix
from portkit.hipify.symbols import Symbols, parse_symbols, read_symbols
from portkit.hipify.translated_sources import TranslatedSources

if TYPE_CHECKING:
    from pathlib import Path

# A kernel for each linkage and each way to write it; the names say whether it can be loaded.
SOURCE = """#include <hip/hip_runtime.h>
#include "shared.h"
extern "C" __global__ void yes_plain(float *x) { if (x) { *x = 1; } }
extern "C" __global__ void __launch_bounds__(128, 2)
    yes_bounds(float *x) {}
extern "C" void __global__ yes_swapped(float *x) {}
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void yes_attribute() {}
MAKE(float, f32)
MAKE(double, f64)
extern "C" {
__global__ void yes_block() {}
static inline int helper(int x) { return x; }
int exported_block(void (*callback)(int)) { return 0; }
}
#if __CUDA_ARCH__ >= 530 || defined(__HIP_DEVICE_COMPILE__)
extern "C" __global__ void yes_device() {}
#else
extern "C" __global__ void no_host() {}
#endif
__global__ void no_mangled() {}
template <typename T> __global__ void no_template(T *x) {}
namespace { __global__ void no_hidden() {} }
extern "C" __global__ void no_declared(float *x);
extern "C" __device__ int no_variable;
struct S { __device__ S() {} };
extern "C" int exported_plain(int n) { no_template<<<1, n>>>((float *)0); return 0; }
// extern "C" __global__ void no_comment() {}
static const char *text = "extern \\"C\\" __global__ void no_string() {}";
"""
HEADER = """#pragma once
#define MAKE(T, suffix) extern "C" __global__ void yes_##suffix(T *x) { *x += 1; }
"""
KERNELS = {"plain", "bounds", "swapped", "attribute", "f32", "f64", "block", "device"}


def test_kernels_are_those_that_a_program_can_load() -> None:
    found = read_symbols({"a.hip": SOURCE, "shared.h": HEADER}, ["a.hip"])
    assert found["a.hip"].kernels == {f"yes_{name}" for name in KERNELS}
    assert {"exported_block", "exported_plain"} <= found["a.hip"].functions


@pytest.mark.real
@pytest.mark.hipcc
def test_kernels_are_those_of_the_code_object(tmp_path: Path) -> None:
    (tmp_path / "a.hip").write_text(SOURCE.replace("__device__ S() {}", ""))
    (tmp_path / "shared.h").write_text(HEADER)
    compiled = compile_matrix(tmp_path, ["a.hip"], ["gfx1100"])[0]
    assert compiled.output is not None, compiled.error
    names = {use.name for use in read_kernels(compiled.output.read_bytes())}
    loaded = {name for name in names if not name.startswith("_Z")}
    assert loaded == {f"yes_{name}" for name in KERNELS}


def test_headers_are_found_beside_and_above() -> None:
    files = {"shared.h": HEADER, "deep/a.hip": '#include "../shared.h"\nMAKE(int, i32)\n'}
    assert read_symbols(files, ["deep/a.hip"])["deep/a.hip"].kernels == {"yes_i32"}


def test_a_translation_has_the_kernels_of_its_source() -> None:
    cuda = '#include <cuda_fp16.h>\nextern "C" __global__ void half_of(__half *x) {}\n'
    made = TranslatedSources({"a.cu": cuda.encode()})
    files = {path: made.text(path) for path in made.paths}
    assert read_symbols(files, ["a.hip"]) == {"a.hip": Symbols(frozenset({"half_of"}), frozenset())}


def test_text_without_brackets_that_close_is_no_trap() -> None:
    assert parse_symbols('extern "C" __global__ void f(float *x') == Symbols()
    assert parse_symbols("}}} extern") == Symbols()


def test_a_broken_source_is_one_sentence() -> None:
    with pytest.raises(ToolError, match=r"cannot preprocess a\.hip .*: mend the source"):
        read_symbols({"a.hip": '#include "none.h"\n'}, ["a.hip"])


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ToolError, match="the C compiler cc is not found"):
        read_symbols({"a.hip": ""}, ["a.hip"])


def test_the_compiler_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None
    monkeypatch.setenv("CC", f"{compiler} -DEXTRA")
    text = '#ifdef EXTRA\nextern "C" __global__ void extra() {}\n#endif\n'
    assert read_symbols({"a.hip": text}, ["a.hip"])["a.hip"].kernels == {"extra"}
