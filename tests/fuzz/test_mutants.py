"""Mutants of the fixtures, small texts of odd pieces, and what once failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import FIXTURES, LANGUAGES
from long_run import run
from positions import CONDITIONS, positions
from properties import Port, faults, faults_of_kernel, no_rust

if TYPE_CHECKING:
    from pathlib import Path

STORED = sorted((FIXTURES / "mutants").iterdir())
MANY = 1_000_000
"""The first seed of the other mutants."""
SHARES = {"rust": 20_000, "kernels": 10_000, "manifests": 2_000, "python": 2_000}
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
        if stored.suffix == ".cu":
            found, _ = faults_of_kernel(stored.name, each)
        else:
            # A file that is named after CUDA is copied whole, or is CUDA's alone.
            name = stored.name.replace("cuda", "source")
            path = "Cargo.toml" if stored.suffix == ".toml" else f"candle-core/src/{name}"
            found, _ = faults(Port.of_candle(gating), path, each)
        assert found == []


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
def test_what_was_rust_once_is_rust(gating: str) -> None:
    stored = [path for path in STORED if path.suffix == ".rs"]
    refused = no_rust([path.read_bytes() for path in stored])
    rust = [path for i, path in enumerate(stored) if i not in refused]
    port = Port.of_candle(gating)
    ported = [faults(port, f"candle-core/src/{path.name}", path.read_bytes())[1] for path in rust]
    assert [rust[i].name for i in no_rust(ported)] == []


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
    assert met.changed > 40
    assert [(f.seed, f.path, f.kinds, f.gating, f.fault) for f in met.failures] == []


@pytest.mark.real
@pytest.mark.parametrize("language", LANGUAGES)
def test_other_mutants(language: str) -> None:
    """The same in each run, since a change is to be judged by what it changes; ``make mutants``
    takes others."""
    *_, met = run(language, range(MANY, MANY + SHARES[language]), ())
    assert met.mutants == SHARES[language]
    assert [(f.seed, f.path, f.kinds, f.gating, f.fault) for f in met.failures] == []
