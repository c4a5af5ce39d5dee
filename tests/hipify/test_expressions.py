"""Preprocessor expressions against the preprocessor, and what they keep from AMD's compiler."""

from __future__ import annotations

import random
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.preprocessor_conditions import find_amd_excluded
from portkit.hipify.preprocessor_expressions import evaluate_expression
from portkit.hipify.translator import translate

if TYPE_CHECKING:
    from pathlib import Path

MACROS = {"ONE": 1, "ZERO": 0, "LEVEL": 890, "BIG": 0x1000}
OPERATORS = ("||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*")


def drawn(chance: random.Random, depth: int = 4) -> str:
    """An expression by chance."""
    if depth == 0 or chance.random() < 0.2:
        name = chance.choice([*MACROS, "NONE"])
        return chance.choice([name, f"defined({name})", f"defined {name}", "7", "0x10", "900", "0"])
    if chance.random() < 0.2:
        return chance.choice(["!", "-"]) + f" ({drawn(chance, depth - 1)})"
    left, right = drawn(chance, depth - 1), drawn(chance, depth - 1)
    text = f"{left} {chance.choice(OPERATORS)} {right}"
    return f"({text})" if chance.random() < 0.5 else text


def test_they_are_what_the_preprocessor_says(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    chance = random.Random(3)
    asked = [drawn(chance) for _ in range(400)]
    source = tmp_path / "asked.cpp"
    source.write_text("".join(f"#if {each}\n1\n#else\n0\n#endif\n" for each in asked))
    macros = [f"-D{name}={value}" for name, value in MACROS.items()]
    done = subprocess.run(
        [compiler, "-E", "-P", "-w", *macros, source], capture_output=True, text=True, check=True
    )
    said = [line == "1" for line in done.stdout.split()]
    found = [
        evaluate_expression(each, lambda name: name in MACROS, lambda n: MACROS.get(n, 0))
        for each in asked
    ]
    assert None not in found
    assert [bool(each) for each in found] == said


def test_what_is_not_known_decides_nothing_unless_the_rest_does() -> None:
    def known(text: str) -> int | None:
        return evaluate_expression(
            text, lambda n: None if n == "X" else n == "A", lambda n: {"A": 5}.get(n)
        )

    assert known("X > 3") is None
    assert known("defined(X) && A > 7") == 0
    assert known("X || A") == 1
    assert known("X && A") is None
    assert known("!X") is None
    for unread in ("__has_include(<a>)", "A ? 1 : 0", "A &", "(A", "", "A / 0", "defined"):
        assert known(unread) is None


BRANCHES = """\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
hopper
#elif (__CUDACC_VER_MAJOR__ * 100 >= 1200) && \\
    (__CUDA_ARCH__ < 800)
old
#elif __CUDA_ARCH__ < 800
host
#else
others
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
both
#endif
#if __CUDA_ARCH__ > LEAST
unknown
#endif
"""


def test_what_is_false_in_both_passes_is_never_seen() -> None:
    source = KernelSource("a.cu", BRANCHES)
    hidden = [BRANCHES[low:high].split()[-1] for low, high in find_amd_excluded(source)]
    assert hidden == ["hopper", "old"]
    # What stands for older devices of CUDA's is AMD's as well, and so is its assembly.
    text = '#if __CUDA_ARCH__ >= 900\nasm("wgmma;");\n#else\nasm("membar.gl;");\n#endif\n'
    result = translate("a.cu", text.encode())
    assert b'asm("wgmma;");\n#else\nhipx::ptx::membar_gl();' in result.content
    assert [f.code for f in result.findings] == ["PH101", "PH103", "PH113"]
