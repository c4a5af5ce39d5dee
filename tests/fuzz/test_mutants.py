"""Mutants of the fixtures, small texts of odd pieces, and what once failed."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import FIXTURES, LANGUAGES
from long_run import run
from positions import CONDITIONS, positions
from properties import Port, faults, faults_of_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORED = sorted((FIXTURES / "mutants").iterdir())
BUDGET = 120
"""Seconds that mutants of the day may take."""
_ODD = "Device::Cuda(_) => Self::Cuda(a) cuda Cuda rocm _ , ; { } ( ) [ ] | // \" ' r# /* => ::"
_PIECES = [
    *CONDITIONS,
    *(text.replace("@", "") for text in positions()),
    *_ODD.split(),
]


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.name)
def test_what_once_failed(stored: Path, gating: str) -> None:
    data = stored.read_bytes()
    for each in (data, data.replace(b"\n", b"\r\n")):
        found, _ = faults(Port.of_candle(gating), f"candle-core/src/{stored.name}", each)
        assert found == []


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
@given(pieces=st.lists(st.sampled_from(_PIECES), max_size=8))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_small_texts(gating: str, pieces: list[str]) -> None:
    found, _ = faults(Port.of_candle(gating), "candle-core/src/lib.rs", " ".join(pieces).encode())
    assert found == []


@given(text=st.text(alphabet="cudaMlo(){}<>#/*\"'\\;,\n &", max_size=60))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_small_kernels(text: str) -> None:
    found, _ = faults_of_kernel("k.cu", f"__global__ void k() {{ {text} }}".encode())
    assert found == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_mutants_of_the_fixtures(language: str) -> None:
    *_, met = run(language, range(400), ())
    assert met.mutants == 400
    assert [(f.seed, f.path, f.kinds, f.gating, f.fault) for f in met.failures] == []


@pytest.mark.real
def test_mutants_of_the_day() -> None:
    """Others each day: what fails can be made again from its seed."""
    ends = time.monotonic() + BUDGET
    first = datetime.now(UTC).date().toordinal() * 1_000_000

    def seeds(seconds: float) -> Iterator[int]:
        until = min(ends, time.monotonic() + seconds)
        seed = first
        while time.monotonic() < until:
            yield seed
            seed += 1

    for language, share in (("rust", 0.7), ("kernels", 0.2), ("manifests", 0.05), ("python", 0.05)):
        *_, met = run(language, seeds(share * BUDGET), ())
        assert [(f.seed, f.path, f.kinds, f.gating, f.fault) for f in met.failures] == []
