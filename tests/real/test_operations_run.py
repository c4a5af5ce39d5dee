"""What the cross-check does not know, run on the CPU device: flash attention, the fused experts.

Upstream's own tests of candle-flash-attn and candle-flash-attn-v3 run there too, with another
device and no other change.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_support import environment
from port_of_candle import PRODUCTS

from portkit.cache import cache_folder
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from tools.proof.operations import write_crate

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.xdist_group(PRODUCTS)]

PROGRAMS = Path(__file__).parent / "programs"
OWN = {"decode": 4, "experts": 1, "flash_attention": 3, "graph": 1, "threads": 1, "views": 3}
"""How many tests each program has."""
CRATES = ("candle-flash-attn", "candle-flash-attn-v3")
BEFORE_0_11 = {"PRODUCTS_OF_F32_ALONE": "1"}
"""What says that products take f32 alone (`decode.rs`)."""
UPSTREAM = {"0.11.1": 6 + 14, "0.9.2": 3 + 11}
"""How many tests these crates have, but for one."""
HOPPERS = "flash_attn_acausal_gqa"
"""A test of candle-flash-attn-v3 that compares with the digits of a Hopper GPU, of which 25 of 512
are others here, by 2e-4 at most: about one place of f16."""


@pytest.mark.parametrize("version", UPSTREAM)
@pytest.mark.parametrize("wave", [32, 64])
def test_what_they_compute(
    ported: Callable[[str], Path], tmp_path: Path, version: str, wave: int
) -> None:
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    tree = ported(version)
    write_crate(tmp_path, tree, PROGRAMS)
    for crate in CRATES:
        upstream = (tree / crate / "tests" / "flash_attn_tests.rs").read_text()
        assert "Device::new_cuda(0)" in upstream
        changed = upstream.replace("Device::new_cuda(0)", "Device::new_rocm(0)")
        changed = changed.removeprefix('#![cfg(feature = "cuda")]\n')
        (tmp_path / "tests" / f"{crate}.rs").write_text(changed)
    device = [sys.executable, "-m", "portkit", "device", "--profile", "candle"]
    cargo = ["cargo", "test", "--no-fail-fast", "--", "--skip", HOPPERS]
    done = subprocess.run(
        [*device, "--wave", str(wave), "--", *cargo],
        cwd=tmp_path,
        env=environment()
        | {"CARGO_TARGET_DIR": str(cache_folder() / "target" / "operations")}
        | (BEFORE_0_11 if version == "0.9.2" else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    expected = sum(OWN.values()) + UPSTREAM[version]
    assert done.stdout.count(" ... ok\n") == expected, done.stdout
