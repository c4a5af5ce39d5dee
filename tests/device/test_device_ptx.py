"""Inline PTX as hipify translates it, on the CPU device, against exact arithmetic.

Each instruction is written in a CUDA source of the test, translated, and run for many operands;
what it has to give is computed from the sections of the PTX ISA, in fractions (`ptx_cases.py`).
Programs of `programs/ptx_*.cu` check memory, warps and matrices likewise.
"""

from __future__ import annotations

import itertools
import random
import re
import struct
import subprocess
from typing import TYPE_CHECKING, Final

import pytest
from device_support import PRELUDE, PROGRAMS, WAVES, assert_all_hold, build, run, toolkit
from ptx_cases import CASES, TYPES, Case

from portkit.hipify.ptx_instructions import load_instructions
from portkit.hipify.translator import translate
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real

LEAST: Final = {"ptx_memory": 21, "ptx_warp": 21, "ptx_matrix": 21}


def translated(text: bytes, folder: Path, name: str) -> Path:
    """Return the translation of a CUDA source, in which nothing is left to a person."""
    result = translate(f"{name}.cu", text)
    left = [f.message for f in result.findings if f.applicability is Applicability.MANUAL]
    assert left == []
    assert b"asm" not in result.content
    path = folder / f"{name}.hip"
    path.write_bytes(result.content)
    return path


@pytest.mark.parametrize("arch", WAVES.values())
@pytest.mark.parametrize("name", LEAST)
def test_programs(name: str, arch: str, tmp_path: Path) -> None:
    source = translated((PROGRAMS / f"{name}.cu").read_bytes(), tmp_path, name)
    program = build(source, tmp_path / name, f"-I{PROGRAMS}", f"-I{PRELUDE}")
    assert_all_hold(run(program, arch=arch), LEAST[name])


def test_every_instruction_is_tried() -> None:
    """Each function that the table names is in the translation of a program here."""
    sources = [(PROGRAMS / f"{name}.cu").read_bytes() for name in LEAST]
    sources.append(program_of(CASES).encode())
    made = b"\n".join(translate("a.cu", each).content for each in sources).decode()
    called = set(re.findall(r"hipx::ptx::(\w+)\(", made))
    tried = {
        function
        for _, function, _ in load_instructions()
        if any(re.fullmatch(re.sub(r"\\\d", r"\\w*", function), each) for each in called)
    }
    assert {function for _, function, _ in load_instructions()} == tried


def program_of(cases: list[Case]) -> str:
    """Return a CUDA program that reads operands, 64 bits each, and writes the results of a case."""
    lines = [
        "#include <stdio.h>\n#include <string.h>\n#include <vector>\n#include <cuda_runtime.h>",
        "template <typename T> __device__ T of(unsigned long long x) {"
        " T t; memcpy(&t, &x, sizeof t); return t; }",
        "template <typename T> __device__ unsigned long long bits(T t) {"
        " unsigned long long x = 0; memcpy(&x, &t, sizeof t); return x; }",
    ]
    for number, case in enumerate(cases):
        inputs = [
            f"{TYPES[c]} i{i} = of<{TYPES[c]}>(in[4 * i + {i}]);" for i, c in enumerate(case.inputs)
        ]
        outputs = [f"{TYPES[c]} o{i};" for i, c in enumerate(case.outputs)]
        written = ", ".join(f'"={c}"(o{i})' for i, c in enumerate(case.outputs))
        read = ", ".join(f'"{c}"(i{i})' for i, c in enumerate(case.inputs))
        results = " ".join(f"out[2 * i + {i}] = bits(o{i});" for i in range(len(case.outputs)))
        lines.append(
            f"__global__ void k{number}(const unsigned long long *in, unsigned long long *out,"
            " int n) { const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"
            f" {' '.join(inputs + outputs)}"
            f' asm("{case.ptx};" : {written} : {read}); {results} }}'
        )
    launches = "\n".join(
        f"case {number}: k{number}<<<(n + 63) / 64, 64>>>(in, out, n); break;"
        for number in range(len(cases))
    )
    lines.append(
        "int main() { int kernel, n; while (fread(&kernel, 4, 1, stdin) == 1 &&"
        " fread(&n, 4, 1, stdin) == 1) { std::vector<unsigned long long> x(4 * n), y(2 * n);"
        " if (fread(x.data(), 8, x.size(), stdin) != x.size()) return 2;"
        " unsigned long long *in, *out; cudaMalloc(&in, 32 * n); cudaMalloc(&out, 16 * n);"
        " cudaMemcpy(in, x.data(), 32 * n, cudaMemcpyHostToDevice);"
        f" switch (kernel) {{ {launches} }}"
        " cudaMemcpy(y.data(), out, 16 * n, cudaMemcpyDeviceToHost);"
        " fwrite(y.data(), 8, y.size(), stdout); cudaFree(in); cudaFree(out); } }"
    )
    return "\n".join(lines) + "\n"


def operands(case: Case) -> Iterator[tuple[int, ...]]:
    """Yield operands: edges with each other, and many by chance, near each other and far apart."""
    chance = random.Random(case.ptx)
    edges = [case.edges(constraint) for constraint in case.inputs]
    every = list(itertools.product(*edges))
    yield from every if len(every) <= 700 else chance.sample(every, 700)
    for _ in range(700):
        yield tuple(case.drawn(constraint, chance) for constraint in case.inputs)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ptx")
    source = translated(program_of(CASES).encode(), folder, "numbers")
    return build(source, folder / "numbers", f"-I{PRELUDE}", "-O1")


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.ptx for case in CASES])
def test_instructions(numbers: Path, number: int) -> None:
    case = CASES[number]
    asked = list(operands(case))
    words = [value for each in asked for value in (*each, *[0] * (4 - len(each)))]
    text = struct.pack("<ii", number, len(asked)) + struct.pack(f"<{len(words)}Q", *words)
    got = struct.unpack(f"<{2 * len(asked)}Q", run_on(numbers, text))
    for at, each in enumerate(asked):
        results = got[2 * at : 2 * at + len(case.outputs)]
        assert case.holds(each, results), (
            case.ptx,
            [hex(x) for x in each],
            [hex(x) for x in results],
        )


def run_on(program: Path, text: bytes) -> bytes:
    """Return what a program writes to standard output."""
    environment = toolkit().environment(arch=WAVES[32])
    done = subprocess.run([program], input=text, capture_output=True, env=environment, check=True)
    return done.stdout
