"""Small models with random weights on the CPU device: fused paths change nothing but their cost.

`benches/step.py` has the models, and measures what a step of each costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import step
from port_of_candle import PRODUCTS

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.xdist_group(PRODUCTS)]

SIZE = (2, 12, 2)
"""Layers, tokens of the prompt, steps."""

FUSED = {
    "Llama, f32": ("sdpa_decode", "sdpa_prefill"),
    "Llama, f16": ("sdpa_decode", "sdpa_prefill"),
    "Llama, quantized": ("sdpa_decode",),
    "Qwen3-MoE, f16": ("sdpa_decode", "sdpa_prefill", "moe_gemm"),
    "Qwen3-MoE, quantized": ("moe_gemm",),
}
"""The kernels that models launch on fused paths alone, by the beginnings of their names."""


@pytest.fixture(scope="module")
def program(
    ported: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> step.Program:
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    return step.built(ported("0.11.1"), tmp_path_factory.mktemp("step"))


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("model", step.MODELS_COMPARED, ids=lambda model: model.name)
def test_the_logits_are_those_without_fused_paths(
    program: step.Program, model: step.Model, wave: int
) -> None:
    assert step.difference(program, model, wave, SIZE) <= model.bound


@pytest.mark.parametrize("model", step.MODELS_COMPARED, ids=lambda model: model.name)
def test_what_is_compared_are_two_ways(program: step.Program, model: step.Model) -> None:
    fused = program.calls(model.name, 32, SIZE, fused=True)
    without = program.calls(model.beside or model.name, 32, SIZE, fused=False)
    for kernel in FUSED[model.name]:
        assert launched(kernel, fused) > 0
        assert launched(kernel, without) == 0


@pytest.mark.parametrize("wave", [32, 64])
def test_a_layer_of_a_quantized_llama_takes_25_launches(program: step.Program, wave: int) -> None:
    layer = program.cost("Llama, quantized", wave, 48, fused=True).layer
    assert launched("", layer) == 25
    assert [call for call in layer if call.startswith(("hipMalloc", "hipMemcpy"))] == []


def launched(kernel: str, calls: Counter[str]) -> int:
    """Return how often kernels were launched whose names contain a text."""
    return sum(
        times for call, times in calls.items() if call.startswith("kernel ") and kernel in call
    )


def test_nan_is_off_by_more_than_anything_allows() -> None:
    assert step.off([float("nan"), 1.0], [1.0, 2.0]) == float("inf")
    assert step.off([1.0, 2.5], [1.0, 2.0]) == 0.25
