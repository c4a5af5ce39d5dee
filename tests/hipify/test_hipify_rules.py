"""Every rule against its fixtures: written by hand, so that the expectation is not our output."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from portkit.hipify.kernel_profile import NO_PROFILE
from portkit.hipify.rules import RULES, find_rule
from portkit.hipify.translator import collect_own_names, translate
from portkit.workspace.finding import Applicability

FIXTURES = Path(__file__).parent.parent / "fixtures" / "hipify"
CASES = sorted(path.parent for path in FIXTURES.glob("*/*/before.cu"))


@pytest.fixture(params=CASES, ids=[f"{case.parent.name}/{case.name}" for case in CASES])
def case(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_result_is_exact(case: Path) -> None:
    result = translate("before.cu", (case / "before.cu").read_bytes())
    assert result.content.decode() == (case / "after.hip").read_text()


def test_a_second_run_changes_nothing(case: Path) -> None:
    after = (case / "after.hip").read_bytes()
    assert translate("after.cu", after).content == after


def test_refusals_are_the_expected_ones(case: Path) -> None:
    source = (case / "before.cu").read_bytes()
    newline = b"\n"
    found = [
        f"{finding.code} {source[: finding.span.start].count(newline) + 1}"
        for finding in translate("before.cu", source).findings
        if finding.applicability is Applicability.MANUAL
    ]
    expected = case / "findings.txt"
    assert found == (expected.read_text().splitlines() if expected.exists() else [])


def test_line_ends_of_other_systems_are_kept(case: Path) -> None:
    before = (case / "before.cu").read_bytes().replace(b"\n", b"\r\n")
    lines = translate("before.cu", before).content.split(b"\n")
    # Only the lines that the prelude rule adds are ours.
    added = next(i for i, line in enumerate(lines) if not line.startswith(b'#include "hipx'))
    assert all(line.endswith(b"\r") for line in lines[added:-1])


def test_every_rule_has_a_fixture_that_it_finds_something_in() -> None:
    for rule in RULES:
        cases = [case for case in CASES if case.parent.name == rule.name]
        codes = {
            finding.code
            for case in cases
            for finding in translate("x.cu", (case / "before.cu").read_bytes()).findings
        }
        assert rule.code in codes, f"{rule.name} has no fixture"


def test_codes_are_unique_and_rules_are_documented() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert "Source:" in rule.doc or "What to do:" in rule.doc, rule.name


def test_rules_are_found_by_their_code() -> None:
    found = find_rule("ph105")
    assert found is not None
    assert found.name == "warp_sync"
    assert find_rule("PH999") is None


def test_a_name_of_another_library_is_said_to_be_its_own() -> None:
    case = FIXTURES / "unknown_name" / "of_another_library"
    found = translate("before.cu", (case / "before.cu").read_bytes()).findings
    messages = [f.message for f in found if f.code == "PH201"]
    assert messages == [
        "at::cuda::currentStream belongs to at: see what it is in a build for ROCm",
        "cuda::device_count: no rule; write the HIP side by hand",
    ]


def test_a_header_of_the_tree_may_have_the_name_of_one_of_cuda_s() -> None:
    source = b'#include "deep/mma.h"\n#include <mma.h>\n#include "nvml.h"\n'
    own = collect_own_names({"deep/mma.h": b"", "nvml.h": b""})
    result = translate("a.cu", source, own=own)
    assert result.content == (
        b'#include "hipx.h"\n#include "deep/mma.h"\n#include "hipx_wmma.h"\n#include "nvml.h"\n'
    )
    assert all(f.applicability is not Applicability.MANUAL for f in result.findings)


def test_what_macros_hide_from_amd_is_not_refused() -> None:
    source = b'#ifdef MINE\nint x;\n#else\nint cudaNotAnApi; void f() { asm("trap;"); }\n#endif\n'
    refused = [f.code for f in translate("a.cu", source).findings if f.code.startswith("PH2")]
    assert refused == ["PH201", "PH203"]
    mine = replace(NO_PROFILE, defined=frozenset({"MINE"}))
    found = translate("a.cu", source, mine).findings
    assert [f.code for f in found] == ["PH101"]


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        ("inline_ptx", 2, "inline PTX: membar.gl.unknown is not known: membar.gl is __threadfence"),
        ("inline_ptx", 3, "inline PTX: mov.u32 is not known with these operands: %smid is __smid"),
        ("inline_ptx", 4, "inline PTX: .reg is not known: %clock64 is clock64();"),
        ("inline_ptx", 5, "inline PTX: x may be written before it is read: brev.b32 is __brev;"),
        ("inline_ptx", 7, "inline PTX: membar.global is not known: write it in C++ or behind"),
        ("stays", 3, "inline PTX: cvt.rm.f16.f32 is not known: write it in C++"),
        ("stays", 4, "inline PTX: cvt.rn.f16.f32 is not known with these operands: write it"),
        ("stays", 5, "inline PTX: a template or operand is not written plainly: write it"),
        ("stays", 9, "inline PTX: h++ would not be evaluated once: write it"),
        ("stays", 10, "inline PTX: @p is not known: write it"),
        ("stays", 13, "inline PTX: bar.sync with 1 is not known: write it"),
        ("cooperative_groups", 3, "a grid is synchronized where its kernel is launched coop"),
        ("groups", 5, "tiled_partition: HIP has it, in hip/hip_cooperative_groups.h: a tile of 32"),
        ("groups", 14, "HIP has no reduce: write a loop over `tile.shfl_xor(x, n)`"),
        ("groups", 15, "num_threads is called size in HIP"),
        ("groups", 16, "coalesced_threads: HIP has it, in hip/hip_cooperative_groups.h: on wave"),
        ("groups", 18, "portkit does not know whether HIP has this"),
        ("header", 2, "cutlass/cutlass.h: HIP has no such header; write by hand what it is for"),
        ("reduce", 1, "cooperative_groups/reduce.h: HIP has no such header; take it away; each"),
        (
            "ptx",
            2,
            "inline PTX: cp.async.bulk.shared::cluster.global is not known: AMD has no cp.as",
        ),
        (
            "ptx",
            3,
            "inline PTX: shfl.sync.bfly.b32 with 0xffff is not known: shfl.sync.bfly is __s",
        ),
        ("ptx", 4, "inline PTX: red.release.gpu.global.add.s32 is not known: write it in C++"),
        ("unknown_name", 6, "__nanosleep: HIP has no counterpart of it; `__builtin_amdgcn_s_sleep"),
        ("unknown_name", 11, "atomicAdd_block: the API table does not know it; write the HIP"),
    ],
)
def test_what_to_do_is_particular(code: str, line: int, said: str) -> None:
    cases = {
        "inline_ptx": "inline_ptx/what_is_known",
        "ptx": "inline_ptx/what_stands_for_it",
        "stays": "ptx_instruction/what_stays",
        "cooperative_groups": "cooperative_groups/a_grid",
        "header": "unknown_header/of_a_library",
        "reduce": "unknown_header/with_a_word_on_each",
        "groups": "cooperative_groups/what_hip_has_and_lacks",
        "unknown_name": "unknown_name/device_functions",
    }
    source = (FIXTURES / cases[code] / "before.cu").read_bytes()
    messages = [
        finding.message
        for finding in translate("before.cu", source).findings
        if source[: finding.span.start].count(b"\n") + 1 == line
    ]
    assert any(message.startswith(said) for message in messages), messages


def test_a_device_function_may_be_defined_in_another_file_of_the_tree() -> None:
    files = {
        "a.cuh": b"__device__ int __mine(int x) { return x; }\n#define __also(x) x\n",
        "b.cu": b"__device__ int f() { return __mine(1) + __also(2) + __not(3); }\n",
    }
    found = translate("b.cu", files["b.cu"], own=collect_own_names(files)).findings
    assert [f.symbol for f in found if f.code == "PH201"] == ["__not"]


def test_min_and_max_of_other_types_are_for_review() -> None:
    source = (FIXTURES / "min_max" / "host_and_device" / "before.cu").read_bytes()
    found = [f for f in translate("a.cu", source).findings if f.code == "PH214"]
    assert [f.applicability for f in found] == [Applicability.REVIEW] * 4
    lines = [source[: f.span.start].count(b"\n") + 1 for f in found]
    # Compared with nvcc's headers: of host types, twice of unsigned and int, and of threadIdx.
    assert lines == [2, 4, 4, 7]


def test_compute_capabilities_of_a_device_are_for_review() -> None:
    source = (FIXTURES / "compute_capability" / "asked_of_a_device" / "before.cu").read_bytes()
    found = [f for f in translate("a.cu", source).findings if f.code == "PH216"]
    assert {f.applicability for f in found} == {Applicability.REVIEW}
    # The attribute and the member of the device's properties; a member of another struct is none.
    assert sorted(source[f.span.start : f.span.end].decode() for f in found) == [
        "cudaDevAttrComputeCapabilityMajor",
        "major",
    ]
