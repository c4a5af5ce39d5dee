"""What ``benches/isa.py`` reads of a disassembly, on one written for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"

LISTING = """
object.o:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001000 <one>:
	s_load_b64 s[0:1], s[0:1], null                            // 000000001000:
	v_mov_b32_e32 v0, 0                                        // 000000001008:

000000000000100c <L0>:
	global_load_b128 v[0:3], v4, s[0:1]                        // 00000000100C:
	global_load_u8 v5, v4, s[0:1]                              // 000000001014:
	ds_load_b128 v[8:11], v7                                   // 00000000101C:
	v_dot4_i32_iu8 v6, v0, v1, v6                              // 000000001024:
	v_dual_add_f32 v2, v2, v3 :: v_dual_mov_b32 v5, v6         // 00000000102C:
	s_cbranch_scc1 65525                                       // 000000001034:
	scratch_store_b32 off, v0, off                             // 000000001038:
	s_branch 65519                                             // 000000001040:
	s_endpgm                                                   // 000000001044:

0000000000001100 <two>:
	v_mfma_i32_32x32x16_i8 a[0:15], v[0:1], v[2:3], a[0:15]    // 000000001100:
	v_accvgpr_read_b32 v0, a0                                  // 000000001108:
	s_endpgm                                                   // 000000001110:
"""
"""Addresses and sizes as the two encodings of these instructions have them; the first branch goes
back 11 words from its end, to 100C, the second 17, to 1000."""


@pytest.fixture
def isa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))
    for name in [n for n in sys.modules if n == "isa" or n.startswith("isa.")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.usefixtures("isa")
def test_the_hot_loop_is_the_innermost_one() -> None:
    from isa.listing import parsed

    code = parsed(LISTING)
    assert sorted(code) == ["one", "two"]
    hot = code["one"].hot.counts
    assert (hot.vector, hot.dot, hot.matrix, hot.lds) == (1, 1, 0, 1)
    assert hot.loads == ((128, 1), (16, 1))
    assert (hot.products, hot.scratch) == (1, 0), "what is spilled is outside the inner loop"
    assert code["one"].counts.scratch == 1


@pytest.mark.usefixtures("isa")
def test_a_kernel_without_a_loop_is_hot_as_a_whole() -> None:
    from isa.listing import parsed

    hot = parsed(LISTING)["two"].hot.counts
    assert (hot.vector, hot.matrix, hot.products) == (1, 1, 1)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize(
    ("arch", "registers", "expected"),
    # LLVM, AMDGPUBaseInfo.cpp: 512 in eights, at most 8 wavefronts; 1024 in sixteens and 1536 in
    # twenty-fours, at most 16.
    [
        ("gfx942", 64, 8),
        ("gfx942", 65, 7),
        ("gfx942", 128, 4),
        ("gfx942", 129, 3),
        ("gfx1030", 64, 16),
        ("gfx1030", 65, 12),
        ("gfx1100", 96, 16),
        ("gfx1100", 97, 12),
        ("gfx1100", 256, 5),
        ("gfx1100", 0, 16),
    ],
)
def test_registers_limit_the_wavefronts_of_a_simd(arch: str, registers: int, expected: int) -> None:
    from isa.waves import waves

    from portkit.hipify.code_object import KernelUse

    use = KernelUse("k", registers, 0, 0, 0, 0, 0, 0)
    assert waves(use, arch) == expected
