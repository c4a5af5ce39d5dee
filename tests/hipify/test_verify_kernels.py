"""The compile matrix and budgets, with a stand-in for hipcc; and once with hipcc itself."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from codebase_support import CANDLE
from test_code_object import elf, kernel, pack

from portkit.errors import VerificationError
from portkit.hipify.archs import ARCHS, GENERIC_ARCHS, ROCM_7_ARCHS
from portkit.hipify.code_object import KernelUse
from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import DEVICE_FLAGS, FLAGS, describe_installation, find_hipcc, is_compiled
from portkit.hipify.prelude import load_prelude_headers
from portkit.verify.kernel_matrix import (
    find_spill_reason,
    load_budgets,
    read_budget,
    verify_kernels,
)
from tools.kernel_reports import (
    list_kernel_names,
    render_matrix_table,
    write_budget,
    write_matrix,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STAND_IN = """#!/bin/sh
echo run >> {folder}/calls
[ "$1" = --version ] && {{ echo HIP version: 1; exit 0; }}
for argument; do last=$argument; source_=$previous; previous=$argument; done
case "$*" in
*bad.hip*gfx1100*|*gfx1100*bad.hip*) echo "bad.hip:3:1: error: no such thing" >&2; exit 1;;
esac
cp {folder}/object "$last"
"""


@pytest.fixture
def crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src" / "inner").mkdir(parents=True)
    (tmp_path / "src" / "good.hip").write_text('#include "inner/header.h"')
    (tmp_path / "src" / "inner" / "bad.hip").write_text('#include "../other.h"')
    (tmp_path / "src" / "inner" / "header.h").write_text('#  include "../deep.h" // see there')
    (tmp_path / "src" / "deep.h").write_text("1")
    (tmp_path / "src" / "other.h").write_text('#include <deep.h>\n#include "missing.h"')
    hipcc = tmp_path / "hipcc"
    hipcc.write_text(STAND_IN.format(folder=tmp_path))
    hipcc.chmod(0o755)
    (tmp_path / "object").write_bytes(
        elf((32, pack({"amdhsa.kernels": [kernel("k", **{".vgpr_spill_count": 2})]})))
    )
    monkeypatch.setenv("HIPCC", str(hipcc))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def calls(crate: Path) -> int:
    return (crate / "calls").read_text().count("run")


def test_every_cell_is_compiled_and_failures_have_their_error(crate: Path) -> None:
    found = verify_kernels(crate, ["gfx90a", "gfx1100"])
    assert [(c.compiled.source, c.compiled.arch, len(c.uses)) for c in found.cells] == [
        ("good.hip", "gfx90a", 1),
        ("good.hip", "gfx1100", 1),
        ("inner/bad.hip", "gfx90a", 1),
        ("inner/bad.hip", "gfx1100", 0),
    ]
    assert [each.error for each in found.failures] == ["bad.hip:3:1: error: no such thing"]
    assert not found.passed
    assert render_matrix_table(found).splitlines()[2:] == [
        "| good.hip | 1, 1 spill | 1, 1 spill |",
        "| inner/bad.hip | 1, 1 spill | **fails** |",
        "| compiled | 2 of 2 | 1 of 2 |",
    ]


def test_nothing_changed_compiles_nothing(crate: Path) -> None:
    verify_kernels(crate, ["gfx90a"])
    before = calls(crate)
    again = verify_kernels(crate, ["gfx90a"])
    assert calls(crate) == before + 1  # the version
    assert [cell.compiled.seconds for cell in again.cells] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("changed", "compiled"),
    [("good.hip", 1), ("inner/header.h", 1), ("deep.h", 1), ("other.h", 1), ("unused.h", 0)],
)
def test_what_sees_a_change_is_compiled_again(crate: Path, changed: str, compiled: int) -> None:
    verify_kernels(crate, ["gfx90a"])
    before = calls(crate)
    with (crate / "src" / changed).open("a") as file:
        file.write("\n// changed")
    verify_kernels(crate, ["gfx90a"])
    assert calls(crate) - before == 1 + compiled  # the version


def test_a_kernel_over_its_budget_is_reported(crate: Path) -> None:
    first = verify_kernels(crate, ["gfx90a"], only=["good.hip"])
    text = write_budget(first.cells, "gfx90a")
    assert text.splitlines()[1] == "good.hip,k,40,0,300,2,0,70000,0"
    budget = read_budget(text)
    assert verify_kernels(crate, ["gfx90a"], budgets={"gfx90a": budget}).worse == ()
    budget["good.hip", "k"] = KernelUse("k", 30, 0, 300, 0, 0, 70000, 0)
    (worse,) = verify_kernels(crate, ["gfx90a"], budgets={"gfx90a": budget}).worse
    assert (worse.source, worse.kernel) == ("good.hip", "k")
    assert worse.message == "vgpr_spills 0 to 2, vgpr 30 to 40"


def test_a_budget_that_is_no_table_is_an_error() -> None:
    with pytest.raises(VerificationError, match="malformed"):
        read_budget("source,kernel\na,b\n")


def test_a_crate_without_sources_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="run portkit apply"):
        verify_kernels(tmp_path)


def test_no_compiler_is_an_error(crate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIPCC")
    monkeypatch.delenv("ROCM_PATH", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HipToolError, match="ci/toolchain"):
        verify_kernels(crate)


def test_who_has_no_checkout_is_not_sent_to_its_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert describe_installation(tmp_path / "none").startswith("install ROCm (https://")
    script = tmp_path / "ci" / "toolchain"
    script.parent.mkdir()
    script.touch()
    assert describe_installation(script) == f"run {script} and use what it prints"
    monkeypatch.chdir(tmp_path)
    assert describe_installation(script) == "run ci/toolchain and use what it prints"


def test_names_of_kernels_come_by_source(crate: Path) -> None:
    found = verify_kernels(crate, ["gfx90a"])
    assert list_kernel_names(found, "gfx90a") == {"good": {"k"}, "inner/bad": {"k"}}


def test_no_kernel_of_candle_keeps_vector_registers_in_memory() -> None:
    budgets = load_budgets(CANDLE, "0.11.1")
    assert {"gfx90a", "gfx1030", "gfx1100"} <= budgets.keys()
    for arch, budget in budgets.items():
        assert len(budget) > 1000
        for (source, name), use in budget.items():
            assert use.vgpr_spills == 0, (arch, source, name)
            # Scalar ones stand in lanes of vector registers, for a reason that is written down.
            assert use.sgpr_spills == 0 or find_spill_reason(CANDLE, source, name), (
                arch,
                source,
                name,
            )


def test_the_report_of_a_matrix_names_each_kernel_that_spills(crate: Path) -> None:
    found = verify_kernels(crate, ["gfx90a"], only=["good.hip"])
    assert write_matrix(found, CANDLE, "1.2.3", "clang 1", "2026-01-02").splitlines() == [
        "# The compile matrix of 1.2.3",
        "",
        "Made by `make kernels` on 2026-01-02 with clang 1, with the flags of the emitted build "
        "script.",
        "",
        "How many kernels each source has for each architecture:",
        "",
        "| source | gfx90a |",
        "| --- | --- |",
        "| good.hip | 1, 1 spill |",
        "| compiled | 1 of 1 |",
        "",
        "## Kernels that spill",
        "",
        "Vector registers that are kept in memory (v), and scalar ones that are kept in lanes of",
        "vector registers (s).",
        "",
        "| source | kernel | spilled | why |",
        "| --- | --- | --- | --- |",
        "| good.hip | `k` | gfx90a 2v 0s | **not known** |",
    ]


def test_the_report_names_what_was_not_tried(crate: Path) -> None:
    found = verify_kernels(crate, ["gfx90a"], only=["good.hip"])
    text = write_matrix(
        found, CANDLE, "1.2.3", "clang 1", "2026-01-02", missing=["gfx942", "gfx1030"]
    )
    assert "script.\nNot tried yet: gfx942, gfx1030.\n\n" in text


def test_what_is_compiled_is_known_without_compiling(crate: Path) -> None:
    sources = ["good.hip", "inner/bad.hip"]
    assert not is_compiled(crate / "src", sources, "gfx90a")
    verify_kernels(crate, ["gfx90a", "gfx1100"])
    assert is_compiled(crate / "src", sources, "gfx90a")
    assert is_compiled(crate / "src", ["good.hip"], "gfx1100")
    assert not is_compiled(crate / "src", sources, "gfx1100")
    (crate / "src" / "other.h").write_text("changed")
    assert not is_compiled(crate / "src", sources, "gfx90a")


def test_a_matrix_without_spills_says_so(crate: Path) -> None:
    (crate / "object").write_bytes(elf((32, pack({"amdhsa.kernels": [kernel("k")]}))))
    found = verify_kernels(crate, ["gfx90a"], only=["good.hip"])
    assert write_matrix(found, CANDLE, "1.2.3", "clang 1", "2026-01-02").endswith("\nNone.\n")


USES = {
    "hipx_warp.h": "y[0] = hipx::shfl_xor(y[0], 1) + hipx::reduce_max(y[1]) + hipx::ballot(1);"
    " hipx::syncwarp(); h[0] = hipx::shfl(h[1], 0);",
    "hipx_block.h": "y[0] = hipx::block_reduce(y[1], 0.f, [](float a, float b) { return a + b; });",
    "hipx_bytes.h": "y[0] = hipx::dp4a((int)y[1], 2, 3) + hipx::vsubss4(y[2], y[3]);",
    "hipx_atomics.h": "atomicAdd(h, h[1]); atomicAdd(b, b[1]); atomicCAS(u, u[1], u[2]);",
    "hipx_float.h": "b[0] = __hmax_nan(b[1], b[2]); h[0] = __hmin_nan(h[1], h[2]);",
    "hipx_fp8.h": "y[0] = (float)hipx::fp8_e4m3(h[0]) + (float)hipx::fp8_e5m2(1.0);"
    " h[0] = __half(hipx::fp8_to_halfraw(u[0], hipx::E4M3));",
    "hipx_pairs.h": "auto hh = (__half2 *)h; auto bb = (__hip_bfloat162 *)b;"
    " hh[0] = __hmin2(__hmax2(hh[1], hh[2]), __hmin2_nan(hh[3], __hmax2_nan(hh[4], hh[5])));"
    " bb[0] = __hmin2(__hmax2(bb[1], bb[2]), __hmin2_nan(bb[3], __hmax2_nan(bb[4], bb[5])));"
    " atomicAdd(hh, hh[6]); atomicAdd(bb, bb[6]);",
    "hipx_rtc.h": "static_assert(std::numeric_limits<int64_t>::max() == 0x7fffffffffffffff"
    " && std::numeric_limits<int32_t>::lowest() == -2147483647 - 1"
    " && std::numeric_limits<uint8_t>::max() == 255 && std::numeric_limits<uint16_t>::min() == 0"
    " && std::is_same<std::enable_if_t<true, int>, int>::value && !std::is_integral<float>::value"
    " && sizeof(uintptr_t) == 8); y[0] = INFINITY + NAN + M_2_SQRTPI * M_SQRT1_2; assert(y);",
    "hipx_ggml.h": "static_assert(sizeof(&ggml_amd_cc) > 0); y[0] = GGML_AMD_WAVE;",
    "hipx_mmvq.h": "y[0] = hipx::mmvq::most_warps(1) * hipx::mmvq::warps(0, hipx::mmvq::q4_0, 1);",
    "hipx_scan.h": "static_assert(sizeof(&expert_scan) > 0); y[0] = 1;",
    "hipx_strided.h": "auto n = (size_t *)y;"
    " if (!hipx::copy_transposed(u[0], 2, n, n + 2, h, h + 9))"
    " u[1] = hipx::strided_index(u[2], u[3], n, n + 2) + hipx::Narrow(n)[u[4]];",
    "hipx_schedule.h": "y[hipx::opaque(threadIdx.x)] = 1; hipx::schedule_barrier();",
    "hipx_wmma.h": "using namespace nvcuda::wmma;"
    " fragment<matrix_a, 16, 16, 16, __half, row_major> fa;"
    " fragment<matrix_b, 16, 16, 16, __half, col_major> fb;"
    " fragment<accumulator, 16, 16, 16, float> fc; fill_fragment(fc, 0.0f);"
    " load_matrix_sync(fa, h, 16); load_matrix_sync(fb, h, 16); mma_sync(fc, fa, fb, fc);"
    " store_matrix_sync(y, fc, 16, mem_row_major);",
    "hipx_cuda.h": "static_assert(cuda::std::is_same<float, float>::value);"
    " y[0] = HIPX_ON_LANES(0xffffffff, y[1]) + HIPX_ON_LANES(, y[2]);",
    "hipx_ptx.h": "hipx::ptx::mov_b32(y[0], 1);",
    "hipx_ptx_operand.h": "y[0] = hipx::ptx::as<float>(u[0] | 1);",
    "hipx_ptx_number.h": "hipx::ptx::fma_rn_bf16x2(y[0], y[1], y[2], y[3]);"
    " hipx::ptx::fma_rn_f16x2(y[1], y[2], y[3], y[4]); hipx::ptx::add_f32(y[2], y[0], y[1]);"
    " hipx::ptx::tanh_approx_f16x2(y[3], y[4]); hipx::ptx::ex2_approx_ftz_f32(y[4], y[5]);"
    " hipx::ptx::cvt_rn_satfinite_e4m3x2_f16x2(u[0], y[6]); hipx::ptx::cvt_rz_f16_f32(h[9], y[7]);",
    "hipx_ptx_integer.h": "hipx::ptx::lop3_b32(y[0], y[1], y[2], y[3], 0xea);"
    " hipx::ptx::prmt_b32(y[1], y[2], y[3], 0x5410); hipx::ptx::bfe_s32(y[2], y[3], 4, 8);",
    "hipx_ptx_memory.h": "__shared__ float s[64]; const auto at = hipx::generic_to_shared(s);"
    " hipx::ptx::cp_async_shared_global(at, y, 16, 8); hipx::ptx::cp_async_shared_global(at, y, 4);"
    " hipx::ptx::ld_ordered_global_v4_b32(y[0], y[1], y[2], y[3], y + 4);"
    " hipx::ptx::red_global_add_f32(y, 1.0f); *(float *)hipx::shared_to_generic(at) = 1;",
    "hipx_ptx_warp.h": "hipx::ptx::shfl_sync_up_b32(y[0], y[1], 1, 0); hipx::ptx::bar_sync();"
    " hipx::ptx::mov_lanemask_lt(y[2]); hipx::ptx::mov_tid_x(y[3]); hipx::ptx::membar_gl();",
    "hipx_ptx_matrix.h": "__shared__ float s[256]; const unsigned at = hipx::generic_to_shared(s);"
    " hipx::ptx::ldmatrix_x4_trans_shared(y[0], y[1], y[2], hipx::ptx::ignored(), at);"
    " hipx::ptx::stmatrix_x2_shared(at, y[0], y[1]); hipx::ptx::movmatrix_trans_b16(y[0], y[1]);"
    " hipx::ptx::mma_m16n8k16_f32_bf16_bf16_f32(y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7],"
    " y[8], y[9], 0.f, 0.f, 0.f, 0.f); hipx::ptx::mma_m8n8k16_s32_s8_s8_s32(y[0], y[1], y[2],"
    " y[3], y[0], y[1]); hipx::ptx::mma_m16n8k8_f16_f16_f16_f16(y[0], y[1], y[2], y[3], y[4],"
    " 0, 0); hipx::ptx::mma_m16n8k32_f32_e4m3_e4m3_f32(y[0], y[1], y[2], y[3], y[4], y[5], y[6],"
    " y[7], y[8], y[9], 0.f, 0.f, 0.f, 0.f);",
    "hipx_ldg.h": "h[0] = __ldg(h + 1); b[0] = __ldg(b + 1); y[0] = __ldg(y + 1);"
    " y[1] = __low2float(__ldg((const __half2 *)y));",
    "hipx_bfloat16.h": "b[0] = hipx::to_bfloat16<int>(3) + hipx::to_bfloat16<long long>(y[0]);"
    " b[1] = hipx::float_to_bfloat162(y[0]).x;",
    "hipx_pipeline.h": "__shared__ float s[64]; hipx::pipeline_memcpy_async(s, y, 16);"
    " hipx::pipeline_commit(); hipx::pipeline_wait_prior(0); y[0] = s[1];",
    "hipx_fp8_vector.h": "hipx::fp8x4_e4m3 four(make_float4(1, 2, 3, 4)); y[0] = float4(four).w;"
    " y[1] = __low2float(__half2(hipx::fp8x2_to_halfraw2(u[0], hipx::E5M2)));"
    " u[1] = hipx::float2_to_fp8x2(make_float2(1, 2), hipx::SATFINITE, hipx::E4M3);"
    " u[2] = hipx::fp8x2_e5m2(*(__hip_bfloat162 *)b).__x;",
    "hipx_rounded.h": "y[0] = hipx::fadd_rn(hipx::fmul_rn(y[1], y[2]), y[3]);",
    "hipx_launch.h": "static_assert(sizeof(hipx::launch_config) > 0); y[0] = 1;",
    "hipx_words.h": "constexpr int MASK1 = 1, MASK2 = 2; y[0] = MASK1 + MASK2;",
    "hipx.h": "y[0] = HIPX_CUDA_ARCH;",
}

KERNELS = {"hipx_scan.h": ["_ZL11expert_scanPKiPii"]}
"""Those that a header has itself: expert_scan(int const*, int*, int), of internal linkage."""


def test_every_prelude_header_has_a_use() -> None:
    assert set(USES) == set(load_prelude_headers())


ONE_OF_EACH_WAVE = ("gfx90a", "gfx1100")


def compiled_uses(folder: Path, headers: Sequence[str], archs: Sequence[str]) -> None:
    """Compile a source that includes headers in this order, with a kernel ``kN`` that uses each."""
    folder.mkdir()
    for name, text in load_prelude_headers().items():
        (folder / name).write_text(text)
    lines = [f'#include "{header}"' for header in headers] + [
        f'extern "C" __global__ void k{number}(float *y, __half *h, __hip_bfloat16 *b, '
        f"unsigned short *u) {{ {USES[header]} }}"
        for number, header in enumerate(headers)
    ]
    (folder / "use.hip").write_text("\n".join(lines) + "\n")
    found = verify_kernels(folder.parent, archs)
    assert [each.error for each in found.failures] == []
    names = {f"k{number}" for number in range(len(headers))}
    names.update(own for header in headers for own in KERNELS.get(header, ()))
    assert [{use.name for use in cell.uses} for cell in found.cells] == [names] * len(archs)


@pytest.mark.real
@pytest.mark.hipcc
@pytest.mark.parametrize("header", sorted(load_prelude_headers()))
def test_a_prelude_header_compiles_alone(tmp_path: Path, header: str) -> None:
    compiled_uses(tmp_path / "src", [header], ONE_OF_EACH_WAVE)


@pytest.mark.real
@pytest.mark.hipcc
@pytest.mark.parametrize("arch", [*ARCHS, *ROCM_7_ARCHS, *GENERIC_ARCHS])
def test_the_prelude_compiles_for_every_architecture(tmp_path: Path, arch: str) -> None:
    compiled_uses(tmp_path / "src", sorted(load_prelude_headers()), [arch])


MATRIX_CORES = {
    "gfx90a": "v_mfma_",
    "gfx942": "v_mfma_",
    "gfx950": "v_mfma_",
    "gfx9-4-generic": "v_mfma_",
    "gfx1030": None,
    "gfx10-3-generic": None,
    **dict.fromkeys(("gfx1100", "gfx1151", "gfx11-generic"), "v_wmma_"),
    **dict.fromkeys(("gfx1200", "gfx1201", "gfx12-generic"), "v_wmma_"),
}


@pytest.mark.real
@pytest.mark.hipcc
@pytest.mark.parametrize("arch", [*ARCHS, *ROCM_7_ARCHS, *GENERIC_ARCHS])
def test_matrix_cores_work_where_there_are_some_and_fp8_is_converted_in_software(
    tmp_path: Path, arch: str
) -> None:
    for name, text in load_prelude_headers().items():
        (tmp_path / name).write_text(text)
    made = {}
    for header in ("hipx_wmma.h", "hipx_fp8.h"):
        (tmp_path / "use.hip").write_text(
            f'#include "{header}"\nextern "C" __global__ void k(float *y, __half *h, '
            f"__hip_bfloat16 *b, unsigned short *u) {{ {USES[header]} }}\n"
        )
        command = [str(find_hipcc()), "-S", *FLAGS, *DEVICE_FLAGS, f"--offload-arch={arch}"]
        command.append("use.hip")
        run = subprocess.run(
            [*command, "-o", "-"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        made[header] = run.stdout
    used = {name for name in ("v_mfma_", "v_wmma_") if name in made["hipx_wmma.h"]}
    assert used == {MATRIX_CORES[arch]} - {None}
    # The instructions of gfx942 are for another encoding than CUDA's.
    assert "s_endpgm" in made["hipx_fp8.h"]
    assert not re.search(r"v_cvt_\w*(fp8|bf8)", made["hipx_fp8.h"])
