"""What a disassembly says: the instructions of each kernel, and its loops."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_KERNEL: Final = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
_INSTRUCTION: Final = re.compile(r"^\s+(\S+)\s*(.*?)\s*// ([0-9A-F]+):")
_BRANCH: Final = re.compile(r"s_c?branch")

_MATRIX: Final = re.compile(r"v_(?:wmma|swmmac|mfma|smfmac)_")
_DOT: Final = re.compile(r"v_(?:dual_)?dot[248]")
_LOAD: Final = re.compile(r"(?:global|buffer|flat)_load_(\w+)")
_DIVISION: Final = re.compile(r"v_(?:rcp_iflag_f32|div_fixup_f(?:16|32|64))")

_BITS: Final = {
    "dwordx4": 128,
    "b128": 128,
    "dwordx3": 96,
    "b96": 96,
    "dwordx2": 64,
    "b64": 64,
    "dword": 32,
    "b32": 32,
}
"""How much a lane loads, by the end of the instruction's name before and since gfx11 ("AMDGPU
Instruction Syntax" of LLVM's manual); what is not named loads two bytes or one."""


@dataclass(frozen=True)
class Instruction:
    """One instruction: where it stands in the code object, its name, its operands."""

    address: int
    name: str
    operands: str

    @property
    def back_to(self) -> int | None:
        """Where a branch goes that goes back; none where it is none.

        The operand is a number of words after the instruction, of 16 bits with a sign ("RDNA 3
        Instruction Set Architecture", SOPP).
        """
        if not _BRANCH.match(self.name):
            return None
        words = int(self.operands.split()[0])
        target = self.address + 4 + 4 * (words - 0x10000 if words >= 0x8000 else words)
        return target if target <= self.address else None


@dataclass(frozen=True)
class Counts:
    """What the instructions of a stretch of code are.

    Attributes:
        vector: those of the vector unit that are neither of the next two.
        matrix: products of matrices (WMMA, MFMA).
        dot: products of packed integers or halves.
        lds: accesses of group memory.
        loads: accesses of global memory that read, by bits a lane.
        divisions: of integers and of floats.
        scratch: accesses of private memory.
    """

    vector: int
    matrix: int
    dot: int
    lds: int
    loads: tuple[tuple[int, int], ...]
    divisions: int
    scratch: int

    @property
    def products(self) -> int:
        """Instructions that multiply: of matrices where there are any, else dots."""
        return self.matrix or self.dot


@dataclass(frozen=True)
class Code:
    """The instructions of a kernel, in order."""

    instructions: tuple[Instruction, ...]

    @cached_property
    def innermost(self) -> tuple[Code, ...]:
        """The loops that hold no other loop."""
        ends: dict[int, int] = {}
        for each in self.instructions:
            start = each.back_to
            if start is not None:
                ends[start] = max(ends.get(start, 0), each.address)
        spans = sorted(ends.items())
        return tuple(
            Code(tuple(i for i in self.instructions if start <= i.address <= end))
            for start, end in spans
            if not any(start <= s and e <= end and (s, e) != (start, end) for s, e in spans)
        )

    @property
    def hot(self) -> Code:
        """The innermost loop with the most products, or the whole where no loop has one."""
        most = max(self.innermost, key=lambda loop: loop.counts.products, default=self)
        return most if most.counts.products else self

    @cached_property
    def counts(self) -> Counts:
        """What the instructions are."""
        names = [i.name for i in self.instructions]
        matrix = sum(bool(_MATRIX.match(n)) for n in names)
        dot = sum(bool(_DOT.match(n)) for n in names)
        loads: dict[int, int] = {}
        for name in names:
            if load := _LOAD.match(name):
                bits = _BITS.get(load[1].split("_")[-1], 16)
                loads[bits] = loads.get(bits, 0) + 1
        return Counts(
            vector=sum(n.startswith("v_") for n in names) - matrix - dot,
            matrix=matrix,
            dot=dot,
            lds=sum(n.startswith("ds_") for n in names),
            loads=tuple(sorted(loads.items(), reverse=True)),
            divisions=sum(bool(_DIVISION.match(n)) for n in names),
            scratch=sum(n.startswith("scratch_") for n in names),
        )


def listing(code_object: Path, objdump: str = "llvm-objdump") -> dict[str, Code]:
    """Return the code of each kernel of a code object, by the name it is loaded by.

    Args:
        code_object: the ELF file.
        objdump: LLVM's disassembler.
    """
    text = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", code_object],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return parsed(text)


def parsed(text: str) -> dict[str, Code]:
    """Return the code of each kernel of what the disassembler prints."""
    kernels: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in text.splitlines():
        if (kernel := _KERNEL.match(line)) and not re.fullmatch(r"L\d+", kernel[1]):
            current = kernels.setdefault(kernel[1], [])
        elif instruction := _INSTRUCTION.match(line):
            name, operands, address = instruction.groups()
            current.append(Instruction(int(address, 16), name, operands))
    return {name: Code(tuple(code)) for name, code in kernels.items()}
