"""The API table and ``portkit map``; expected names are those of the HIP headers."""

from __future__ import annotations

import pytest

from portkit.hipify import api_table
from portkit.hipify.device_names import looks_like_cuda
from portkit.hipify.rules.api_name import api_group
from portkit.hipify.rules.unknown_name import _SUSPECT, OF_DEVICE


@pytest.mark.parametrize(
    ("cuda", "hip", "since"),
    [
        ("cudaMallocAsync", "hipMallocAsync", "5.2.0"),
        ("cudaStream_t", "hipStream_t", "1.5.0"),
        ("cuModuleLoadData", "hipModuleLoadData", "1.6.0"),
        ("nvrtcCompileProgram", "hiprtcCompileProgram", "2.6.0"),
        ("curandCreateGenerator", "hiprandCreateGenerator", "1.5.0"),
        ("__nv_bfloat16", "__hip_bfloat16", "5.7.0"),
    ],
)
def test_names_become_hips(cuda: str, hip: str, since: str) -> None:
    mapping = api_table.lookup(cuda).mapping
    assert mapping is not None
    assert (mapping.hip, mapping.since) == (hip, since)
    assert mapping.source


def test_names_without_an_apis_prefix_are_in_few_groups() -> None:
    """No other group is read for them: each takes tens of milliseconds."""
    met = {
        group
        for group in api_table.GROUPS
        for name in api_table.group(group)
        if api_group(name) is None and (looks_like_cuda(name) or _SUSPECT.fullmatch(name))
    }
    assert met == {*OF_DEVICE}


def test_headers_are_found_with_their_brackets() -> None:
    mapping = api_table.lookup("<cuda_fp16.h>").mapping
    assert mapping is not None
    assert (mapping.hip, mapping.kind) == ("hip/hip_fp16.h", "header")


def test_fp8_is_never_the_fnuz_encoding() -> None:
    for name in ("__nv_fp8_e4m3", "__nv_fp8_e5m2"):
        mapping = api_table.find(name)
        assert mapping is not None
        assert "fnuz" not in mapping.hip


def test_known_names_without_counterpart_are_known() -> None:
    found = api_table.lookup("cudaDeviceFlushGPUDirectRDMAWrites")
    assert found.mapping is not None
    assert found.mapping.hip == ""
    assert found.exit_code == 0


def test_unknown_names_get_similar_ones() -> None:
    found = api_table.lookup("cudaMalocAsync")
    assert found.mapping is None
    assert found.similar[0] == "cudaMallocAsync"
    assert found.exit_code == 1


def test_nothing_like_it_is_nothing() -> None:
    assert api_table.lookup("zzzzzzzzzz").similar == ()


def test_corrections_have_sources_and_every_group_loads() -> None:
    for mapping in api_table.corrections().values():
        assert mapping.source, mapping.cuda
    for group in api_table.GROUPS:
        assert len(api_table.group(group)) > 20


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
    mapping = api_table.lookup(cuda).mapping
    assert mapping is not None
    assert mapping.hip == hip
    assert source in mapping.source
    assert mapping.hip or mapping.note
