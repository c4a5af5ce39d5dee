"""What hipify writes for what CUDA's compiler takes and clang does not, on the CPU device.

Each lane gets what CUDA C++ Programming Guide, "Warp Shuffle Functions", says, on wavefronts of 32
and of 64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from device_support import PRELUDE, PROGRAMS, WAVES, assert_all_hold, build, run

from portkit.hipify.translator import translate
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


@pytest.mark.parametrize("arch", WAVES.values())
def test_shuffles_among_some_lanes_braces_and_templates(arch: str, tmp_path: Path) -> None:
    made = translate("a.cu", (PROGRAMS / "translated.cu").read_bytes())
    asked = [f.code for f in made.findings if f.applicability is not Applicability.SAFE]
    assert asked == ["PH114"] * 3
    assert {"PH115", "PH116"} <= {finding.code for finding in made.findings}
    source = tmp_path / "a.hip"
    source.write_bytes(made.content)
    program = build(source, tmp_path / "a", f"-I{PROGRAMS}", f"-I{PRELUDE}")
    assert_all_hold(run(program, arch=arch), 8)
