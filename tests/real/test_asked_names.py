"""The kernels that the real candle asks for by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from port_of_candle import VERSIONS, scan_tree

from portkit.verify.kernel_names import NAMES
from portkit.verify.options import Options
from portkit.verify.step_runner import Verdict
from portkit.verify.verified_tree import VerifiedTree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOADER = "candle-core/src/rocm_backend/device.rs"


@pytest.mark.real
@pytest.mark.parametrize("version", VERSIONS)
def test_each_kernel_is_there_or_the_error_says_what_is_not_implemented(
    ported: Callable[[str], Path], version: str
) -> None:
    outcome = NAMES.take(VerifiedTree(scan_tree(ported(version)), Options(), lambda line: None))
    assert outcome.verdict is Verdict.PASSED, outcome.evidence
    # All places, and none that the syntax hides; counted with grep in the ported sources.
    assert f"that {56 if version != '0.11.1' else 57} places ask for" in outcome.evidence[0]
    # What no version of candle has kernels for, as on CUDA.
    assert "views: not for i16, i32: ucopy" in outcome.evidence


@pytest.mark.real
def test_without_the_loader_s_spelling_the_dtype_f8e4m3_is_lost(
    ported: Callable[[str], Path],
) -> None:
    """Upstream's own bug: Rust says f8e4m3, the kernels say f8_e4m3 or fp8_e4m3."""
    scan = scan_tree(ported("0.11.1"))
    source = scan.job.workspace.sources[LOADER]
    text = re.sub(rb'\.replace\("f8e4m3", "\w+"\)', b".to_string()", source.data)
    assert text != source.data
    changed = {**scan.job.workspace.sources, LOADER: type(source)(LOADER, text)}
    workspace = replace(scan.job.workspace, sources=changed)
    tree = VerifiedTree(
        replace(scan, job=replace(scan.job, workspace=workspace)), Options(), lambda line: None
    )
    outcome = NAMES.take(tree)
    assert outcome.verdict is Verdict.FAILED
    assert any(
        "affine_f8e4m3 is asked for, and the kernel is affine_f8_e4m3" in e
        for e in outcome.evidence
    )
