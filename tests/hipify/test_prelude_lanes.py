"""Warp functions, 16-bit atomics and matrix fragments on a wavefront of host threads.

Expected values follow CUDA's definitions for a warp of 32 lanes, also where the wavefront has 64
(CUDA C++ Programming Guide, "Warp Shuffle Functions", "Warp Vote Functions", "Warp Reduce
Functions"). Where the elements of a tile lie is what AMD publishes, host/layouts.txt.
"""

from __future__ import annotations

import os
import subprocess
from functools import reduce
from operator import and_, or_, xor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from host_support import HOST, build, run

from portkit.hipify.hipcc import find_hipcc
from portkit.hipify.prelude import PRELUDE_FOLDER
from portkit.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Callable

EXPECTED: dict[str, Callable[[int, list[int]], int]] = {
    # Of a lane, and of the lanes of its warp.
    "shfl": lambda _, warp: warp[3],
    "shfl8": lambda lane, _: lane // 8 * 8 + 3,
    "shfl_xor": lambda lane, _: lane ^ 16,
    "shfl_up": lambda lane, _: lane - 1 if lane % 32 else lane,
    "shfl_down": lambda lane, _: lane + 2 if lane % 32 < 30 else lane,
    "shfl_half": lambda lane, _: lane ^ 1,
    "shfl_double": lambda lane, _: lane ^ 1,
    "ballot": lambda _, warp: sum((lane % 3 == 0) << (lane % 32) for lane in warp),
    "activemask": lambda *_: 0xFFFFFFFF,
    "any": lambda _, warp: int(40 in warp),
    "all": lambda _, warp: int(max(warp) < 32),
    "reduce_add": lambda _, warp: sum(warp),
    "reduce_max": lambda _, warp: max(lane * 7 % 64 for lane in warp),
    "reduce_min": lambda _, warp: min(lane * 7 % 64 + 1 for lane in warp),
    "reduce_and": lambda _, warp: reduce(and_, (lane | 64 for lane in warp)),
    "reduce_or": lambda _, warp: reduce(or_, warp),
    "reduce_xor": lambda _, warp: reduce(xor, (1 << (lane % 32) for lane in warp)),
}
AFTER_EXITS: dict[str, Callable[[list[int]], int]] = {
    # Of the lanes that are left.
    "left_add": sum,
    "left_max": lambda lanes: max(-1 - lane for lane in lanes),
    "left_min": lambda lanes: min(lane + 1 for lane in lanes),
    "left_and": lambda lanes: reduce(and_, (lane | 64 for lane in lanes)),
    "left_or": lambda lanes: reduce(or_, lanes),
    "left_xor": lambda lanes: reduce(xor, (1 << (lane % 32) for lane in lanes)),
}


PRELUDE = shipped(f"{PRELUDE_FOLDER}/src/device")


@pytest.mark.parametrize("wave", [32, 64])
def test_warps_have_32_lanes_on_any_wavefront(tmp_path: Path, wave: int) -> None:
    lines = [line.split() for line in run(build("warp", tmp_path, f"-DWAVE={wave}"))]
    got = {name: [float(each) for each in rest] for name, *rest in lines}
    for name, expected in EXPECTED.items():
        warps = [[lane // 32 * 32 + i for i in range(32)] for lane in range(wave)]
        assert got[name] == [expected(lane, warps[lane]) for lane in range(wave)], name
    for name, expected_of in AFTER_EXITS.items():
        left = [[i for i in warp if i % 3] for warp in (range(32), range(32, 64))]
        values = [expected_of(left[lane // 32]) if lane % 3 else 0 for lane in range(wave)]
        assert got[name] == values, name
    # Every lane's addition counts, and the neighbouring half of the word stays.
    assert got["words"] == [100, 7 + sum(range(wave))]
    assert got["halves"] == [0.5, wave]
    assert got["bfloats"] == [wave, 0.5]


@pytest.mark.real  # as many barriers as shuffles: slow where lanes have no processors of their own
@pytest.mark.parametrize("wave", [32, 64])
def test_tiles_multiply_without_matrix_cores(tmp_path: Path, wave: int) -> None:
    assert run(build("wmma", tmp_path, f"-DWAVE={wave}")) == ["0"]


LAYOUTS = HOST / "layouts.txt"
FAMILIES = {"gfx11": ("__GFX11__", 32), "gfx12": ("__GFX12__", 32), "gfx90a": ("__gfx90a__", 64)}


def layouts(family: str) -> dict[str, list[list[tuple[int, int]]]]:
    """The row and column of each element that each lane holds, by matrix, as AMD publishes it."""
    found: dict[str, list[list[tuple[int, int]]]] = {}
    for line in LAYOUTS.read_text().splitlines():
        if line.startswith(f"{family} "):
            _, matrix, lane, *entries = line.split()
            lanes = found.setdefault(matrix, [])
            assert int(lane) == len(lanes)
            places = (entry.split(",") for entry in entries)
            lanes.append([(int(row), int(column)) for row, column in places])
    return found


def header(family: str) -> str:
    """The layouts of a family in C++."""
    lines = ["struct Entry { int row, column; };"]
    for matrix, lanes in layouts(family).items():
        rows = ("{" + ", ".join(f"{{{r}, {c}}}" for r, c in lane) + "}" for lane in lanes)
        kind = f"inline constexpr Entry layout_{matrix.lower()}[{len(lanes)}][{len(lanes[0])}]"
        lines.append(f"{kind} = {{{', '.join(rows)}}};")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("family", FAMILIES)
def test_published_layouts_have_every_element(family: str) -> None:
    every = {(row, column) for row in range(16) for column in range(16)}
    for matrix, lanes in layouts(family).items():
        held = [entry for lane in lanes for entry in lane]
        assert set(held) == every
        # On gfx11 both halves of a wavefront hold all of A and of B.
        assert len(held) == (512 if family == "gfx11" and matrix in "AB" else 256)


@pytest.mark.hipcc
@pytest.mark.real
@pytest.mark.parametrize("family", FAMILIES)
def test_tiles_multiply_in_the_layouts_that_amd_publishes(tmp_path: Path, family: str) -> None:
    macro, wave = FAMILIES[family]
    (tmp_path / "layouts.h").write_text(header(family))
    # hipcc's clang, since other compilers lack its vector types; its programs run where it does.
    enter = Path(os.path.realpath(find_hipcc())).parent.parent / "enter"
    inside = [str(enter)] if enter.exists() else []
    program = tmp_path / "wmma"
    compiler = [str(find_hipcc()), "-x", "c++", "-D__HIP_PLATFORM_AMD__", "-std=c++20", "-O1"]
    flags = ["-Wno-psabi", f"-DWAVE={wave}", f"-D{macro}", f"-I{PRELUDE}", f"-I{tmp_path}"]
    source = str(HOST / "wmma.cpp")
    subprocess.run([*compiler, *flags, source, "-pthread", "-o", str(program)], check=True)
    output = subprocess.run([*inside, str(program)], capture_output=True, text=True, check=True)
    assert output.stdout.split() == ["0"]
