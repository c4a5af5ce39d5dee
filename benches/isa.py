"""The port's kernels beside llama.cpp's, of the same compiler, instruction by instruction.

Usage: ci/with-hipcc python benches/isa.py CANDLE [--arch A]... [--only TEXT] [--report FILE]

CANDLE is a pristine candle (`portkit fetch candle@0.11.1 CANDLE`). llama.cpp comes from the crate
that carries its sources, by version. Both are compiled by the same hipcc with the same flags, and
what is compared is a kernel of each that does the same work: vector instructions for each
instruction that multiplies, in the loop that has the most of these, and how many wavefronts a SIMD
holds. Neither needs a GPU; neither is a time.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from isa.listing import Code, listing
from isa.waves import SIMDS, waves

from portkit.cache import cached_folder
from portkit.fetch.crate import fetch_crate
from portkit.hipify.code_object import KernelUse, read_kernels
from portkit.hipify.hipcc import (
    DEVICE_FLAGS,
    FLAGS,
    compile_matrix,
    find_hipcc,
    read_compiler_version,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LLAMA: Final = ("llama-cpp-sys-2", "0.1.161")
"""The crate that carries llama.cpp's sources, of September 2026."""

HIPBLAS: Final = Path(__file__).with_name("isa") / "include"
"""What ggml's common header asks of hipBLAS, where none is installed."""


@dataclass(frozen=True)
class Family:
    """Kernels that do the same work.

    Attributes:
        name: what they do.
        ours: the port's source, and a pattern for one kernel's name.
        theirs: llama.cpp's, likewise.
    """

    name: str
    ours: tuple[str, str]
    theirs: tuple[str, str]


def tiles(kind: str, number: int, columns: int) -> Family:
    """Return the product of a quantized matrix with one of some columns.

    Args:
        kind: the format of the blocks, such as ``q4_k``.
        number: ggml's number of it (``ggml_type``).
        columns: of a tile; the largest is 128 where there are matrix instructions, else 64.
    """
    kernel = rf"mul_mat_q<\(ggml_type\){number}, {columns}, false\b"
    return Family(
        f"{kind}, {columns} columns",
        (f"mmq_gguf/mmq_instance_{kind}.hip", kernel),
        (f"template-instances/mmq-instance-{kind}.cu", kernel),
    )


def row(kind: str, number: int) -> Family:
    """Return the product of a quantized matrix with one column, as a step of decoding has it."""
    return Family(
        f"{kind}, one column",
        ("mmvq_gguf.hip", rf"^mmvq_gguf_{kind}_f32_plain_cuda1$"),
        ("mmvq.cu", rf"mul_mat_vec_q<\(ggml_type\){number}, 1, false, false, false"),
    )


QUANTIZED: Final = {"q4_0": 2, "q5_1": 7, "q8_0": 8, "q4_k": 12, "q5_k": 13, "q6_k": 14}
"""Formats of blocks, and ggml's numbers of them (``ggml.h``)."""

FAMILIES: Final = (
    *(tiles(kind, number, 128) for kind, number in QUANTIZED.items()),
    *(tiles(kind, number, 64) for kind, number in QUANTIZED.items()),
    *(row(kind, number) for kind, number in QUANTIZED.items()),
)


@dataclass(frozen=True)
class Side:
    """One side's kernel of a family: what it uses, and its code."""

    use: KernelUse
    code: Code

    def cells(self, arch: str) -> tuple[str, ...]:
        """Return what the table says of it."""
        hot = self.code.hot.counts
        products = hot.products or 1
        return (
            f"{hot.vector / products:.1f}" if hot.products else "-",
            f"{hot.lds / products:.1f}" if hot.products else "-",
            " ".join(f"{number}x{bits}" for bits, number in hot.loads) or "0",
            str(hot.divisions),
            str(hot.scratch),
            str(waves(self.use, arch)),
            str(self.use.vgpr),
            str(self.use.vgpr_spills),
        )


def main() -> None:
    """Compile, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("candle", type=Path)
    parser.add_argument("--arch", action="append", choices=SIMDS, help="all by default")
    parser.add_argument("--only", default="", help="kernels whose name in the table has this text")
    parser.add_argument("--report", type=Path, help="a file for the table in Markdown")
    arguments = parser.parse_args()
    archs = arguments.arch or list(SIMDS)
    families = [family for family in FAMILIES if arguments.only in family.name]
    with tempfile.TemporaryDirectory() as scratch:
        translated = Path(scratch) / "hip"
        translate(arguments.candle.resolve(), translated)
        rows = list(
            table(families, ours(translated, families, archs), theirs(families, archs), archs)
        )
    shown = markdown(rows)
    print(shown)
    if arguments.report:
        day = datetime.now(UTC).date()
        compiler = read_compiler_version(find_hipcc()).splitlines()[0]
        arguments.report.write_text(HEAD.format(day=day, compiler=compiler) + shown + "\n")


def translate(candle: Path, out: Path) -> None:
    """Write the port's HIP sources."""
    command = ("hipify", candle / "candle-kernels/src", "-o", out, "--profile", "candle")
    subprocess.run([Path(sys.executable).with_name("portkit"), *command], check=True)


def ours(
    folder: Path, families: Sequence[Family], archs: Sequence[str]
) -> dict[tuple[str, str], Path]:
    """Return the port's code objects by source and architecture."""
    sources = sorted({family.ours[0] for family in families})
    done = compile_matrix(folder, sources, archs)
    return {(each.source, each.arch): each.output for each in done if each.output}


def theirs(families: Sequence[Family], archs: Sequence[str]) -> dict[tuple[str, str], Path]:
    """Return llama.cpp's code objects by source and architecture; they are kept in the cache."""
    ggml = fetch_crate(*LLAMA) / "llama.cpp/ggml"
    sources = sorted({family.theirs[0] for family in families})
    hipcc = find_hipcc()
    folders = (HIPBLAS, ggml / "include", ggml / "src", ggml / "src/ggml-cuda")
    # What ggml's own build for HIP defines (src/ggml-hip/CMakeLists.txt).
    flags = [*FLAGS, *DEVICE_FLAGS, "-DGGML_USE_HIP", "-DGGML_HIP_NO_VMM", "-w"]
    flags += [f"-I{folder}" for folder in folders]
    version = read_compiler_version(hipcc)

    def one(source: str, arch: str) -> Path:
        parts = (version, *LLAMA, *flags, source, arch)
        key = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]

        def make(folder: Path) -> None:
            command: list[str | Path] = [hipcc, "-x", "hip", "-c", *flags, f"--offload-arch={arch}"]
            file = ggml / "src/ggml-cuda" / source
            subprocess.run([*command, file, "-o", folder / "object.o"], check=True)

        return cached_folder("beside", key, make) / "object.o"

    pairs = [(source, arch) for source in sources for arch in archs]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(pairs, pool.map(lambda pair: one(*pair), pairs), strict=True))


def table(
    families: Sequence[Family],
    port: dict[tuple[str, str], Path],
    llama: dict[tuple[str, str], Path],
    archs: Sequence[str],
) -> Iterator[tuple[str, ...]]:
    """Yield the rows: a family on an architecture, and both sides' figures."""
    for family in families:
        for arch in archs:
            one = side(port[family.ours[0], arch], family.ours[1])
            other = side(llama[family.theirs[0], arch], family.theirs[1])
            if not one.code.hot.counts.products and not other.code.hot.counts.products:
                continue  # a tile that neither side has on the architecture
            pairs = zip(one.cells(arch), other.cells(arch), strict=True)
            yield (family.name, arch, *(f"{a} / {b}" for a, b in pairs))


def side(code_object: Path, pattern: str) -> Side:
    """Return the one kernel of a code object whose name, as C++ writes it, is like a pattern."""
    uses = {use.name: use for use in read_kernels(code_object.read_bytes())}
    written = subprocess.run(
        ["c++filt"], input="\n".join(uses), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = [name for name, shown in zip(uses, written, strict=True) if re.search(pattern, shown)]
    if len(found) != 1:
        raise SystemExit(f"{len(found)} kernels of {code_object} are like {pattern}")
    return Side(uses[found[0]], listing(code_object)[found[0]])


def markdown(rows: Sequence[tuple[str, ...]]) -> str:
    """Return the table."""
    loop = ("vector / product", "LDS / product", "loads x bits", "divisions", "scratch")
    head = ("kernel", "architecture", *loop, "waves", "registers", "spilled")
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


HEAD: Final = """\
# The port's kernels beside llama.cpp's

Made by `benches/isa.py` on {day} with {compiler}. Each pair is the port's figure and llama.cpp's.
*vector / product*: vector instructions for each instruction that multiplies (a matrix instruction
where there are any, else a dot product), in the innermost loop that has the most of these; a dash
is a kernel that has none, as where llama.cpp does without that tile on an architecture. *LDS*,
*loads*, *divisions* and *scratch* are of the same loop. *waves*: wavefronts that a SIMD holds, as
far as registers limit them. *registers* and *spilled* are vector registers of a lane.

"""

if __name__ == "__main__":
    main()
