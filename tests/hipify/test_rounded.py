"""Sums and products that CUDA never fuses (CUDA Math API, "Single Precision Intrinsics")."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from portkit.hipify.hipcc import find_hipcc
from portkit.hipify.prelude import load_prelude_headers
from portkit.hipify.translator import translate

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = b"""__global__ void k(float *o, double *d) {
  o[0] = __fadd_rn(__fmul_rn(o[1], o[2]), o[3]);
  o[1] = __fsub_rn(o[4], __fmul_rn(o[5], o[6]));
  d[0] = __dadd_rn(__dmul_rn(d[1], d[2]), __dsub_rn(d[3], d[4]));
}
"""


@pytest.mark.hipcc
@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100"])
def test_no_product_is_fused_with_a_sum(tmp_path: Path, arch: str) -> None:
    for name, text in load_prelude_headers().items():
        (tmp_path / name).write_text(text)
    source = tmp_path / "k.hip"
    source.write_bytes(translate("k.cu", SOURCE).content)
    flags = [f"--offload-arch={arch}", "--cuda-device-only", "-S", "-O3", "-std=c++17"]
    command = [str(find_hipcc()), *flags, str(source), "-o", str(tmp_path / "k.s")]
    subprocess.run(command, check=True, capture_output=True)
    assembly = (tmp_path / "k.s").read_text()
    assert not re.search(r"v_\w*fma", assembly)
    assert len(re.findall(r"v_(?:dual_|pk_)?mul_f(?:32|64)", assembly)) >= 2
