"""PK509: an import or a re-export of something of CUDA's."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("use_list"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_two_imports_of_one_name_are_left_to_a_person() -> None:
    # rustc: E0252, a name is defined multiple times.
    manual, *rest = said("use_list", "a_path_of_cuda")
    assert manual == ("manual", "none", "both::gpu::cuda::CudaDevice as Device")
    assert {s[:2] for s in rest} == {("safe", "todo")}
