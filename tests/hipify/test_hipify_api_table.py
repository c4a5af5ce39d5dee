"""The API table and ``portkit map``; expected names are those of the HIP headers."""

from __future__ import annotations

import re

import pytest

from portkit.hipify import api_table
from portkit.hipify.translator import translate


@pytest.mark.parametrize(
    ("cuda", "hip", "since"),
    [
        ("cudaMallocAsync", "hipMallocAsync", "5.2.0"),
        ("cudaStream_t", "hipStream_t", "1.5.0"),
        ("cuModuleLoadData", "hipModuleLoadData", "1.6.0"),
        ("nvrtcCompileProgram", "hiprtcCompileProgram", "2.6.0"),
        ("curandCreateGenerator", "hiprandCreateGenerator", "1.5.0"),
        ("cuCmulf", "hipCmulf", "1.6.0"),
        ("__nv_bfloat16", "__hip_bfloat16", "5.7.0"),
    ],
)
def test_names_become_hips(cuda: str, hip: str, since: str) -> None:
    mapping = api_table.look_up_name(cuda).mapping
    assert mapping is not None
    assert (mapping.hip, mapping.since) == (hip, since)
    assert mapping.source


@pytest.mark.parametrize("group", sorted(set(api_table.GROUPS) - {"device"}))
def test_each_name_of_an_api_is_written_or_reported(group: str) -> None:
    """The prefix of a name does not tell its group: ``CUDA_R_16F`` is on the page of cuBLAS."""
    # Names of other projects, which any source may have for its own, and what a condition asks.
    others = re.compile("cl_|GL|NVCL_|CIG_|library|texture|memoryBarrier|__CUDACC__|CubVector")
    names = [name for name in api_table.load_group(group) if not others.match(name)]
    # A declaration would make the name the source's own.
    lines = "".join(f"x = {name};\n" for name in names).encode()
    found = translate("a.cu", lines).findings
    said = {finding.symbol for finding in found if finding.span.start}
    same = {name for name in names if (api_table.load_group(group)[name].hip or "-") == name}
    assert set(names) - said - same == set()


def test_headers_are_found_with_their_brackets() -> None:
    mapping = api_table.look_up_name("<cuda_fp16.h>").mapping
    assert mapping is not None
    assert (mapping.hip, mapping.kind) == ("hip/hip_fp16.h", "header")


def test_fp8_is_never_the_fnuz_encoding() -> None:
    for name in ("__nv_fp8_e4m3", "__nv_fp8_e5m2"):
        mapping = api_table.find_mapping(name)
        assert mapping is not None
        assert "fnuz" not in mapping.hip


def test_known_names_without_counterpart_are_known() -> None:
    found = api_table.look_up_name("cudaDeviceFlushGPUDirectRDMAWrites")
    assert found.mapping is not None
    assert found.mapping.hip == ""
    assert found.exit_code == 0


def test_unknown_names_get_similar_ones() -> None:
    found = api_table.look_up_name("cudaMalocAsync")
    assert found.mapping is None
    assert found.similar[0] == "cudaMallocAsync"
    assert found.exit_code == 1


def test_nothing_like_it_is_nothing() -> None:
    assert api_table.look_up_name("zzzzzzzzzz").similar == ()


def test_corrections_have_sources_and_every_group_loads() -> None:
    for mapping in api_table.load_corrections().values():
        assert mapping.source, mapping.cuda
    for group in api_table.GROUPS:
        assert len(api_table.load_group(group)) > 20


@pytest.mark.parametrize(
    ("cuda", "hip", "source"),
    [
        # HIPIFY's documentation says of the first that HIP has no counterpart.
        ("__float2bfloat16", "__float2bfloat16", "amd_hip_bf16.h"),
        ("__syncthreads_count", "__syncthreads_count", "HIP"),
        ("__nanosleep", "", "LLVM"),
        ("__cvta_generic_to_shared", "hipx::generic_to_shared", "prelude"),
        ("__ldg", "__ldg", "HIP headers"),
        ("cudaLaunchKernelEx", "hipx::launch_kernel_ex", "prelude"),
        ("membar.gl", "__threadfence()", "PTX ISA"),
        ("%laneid", "__lane_id()", "PTX ISA"),
    ],
)
def test_device_functions_are_known(cuda: str, hip: str, source: str) -> None:
    mapping = api_table.look_up_name(cuda).mapping
    assert mapping is not None
    assert mapping.hip == hip
    assert source in mapping.source
    assert mapping.hip or mapping.note
