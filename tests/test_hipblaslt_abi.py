"""The C declarations of the bindings of hipBLASLt agree with its headers, which are C++.

The headers are looked for as in ``test_facade_abi.py``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from facade_support import include_folders, render_facade
from test_facade_abi import c_type, functions, values

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

HEADER = "hipblaslt/hipblaslt.h"
# Names of fixed sizes that the other declarations do without.
SCALARS = {"u64": "uint64_t", "i64": "int64_t"}


def cxx_type(rust: str) -> str:
    return SCALARS.get(rust) or c_type(rust)


def declared() -> str:
    if not any((folder / HEADER).is_file() for folder in include_folders()):
        pytest.skip(f"no {HEADER}: set ROCM_INCLUDE")
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler")
    return render_facade(frozenset())["src/hipblaslt/sys.rs"]


def structures(text: str) -> list[str]:
    """What the fields of the structures have to be, in C++."""
    asked = []
    for name, body in re.findall(r"(?s)^pub struct (\w+) \{\n(.*?)^\}", text, re.M):
        fields = re.findall(r"^    pub (\w+): ([^,]+),$", body, re.M)
        own = f"struct Own_{name} {{"
        for field, rust in fields:
            array = re.fullmatch(r"\[(\w+); (\d+)\]", rust)
            of = {"u8": "uint8_t", "usize": "size_t", "f32": "float", "c_int": "int"}
            kind = array[1] if array else rust
            own += f" {of.get(kind, kind)} {field}{f'[{array[2]}]' if array else ''};"
        asked += [f"{own} }};", f"static_assert(sizeof(Own_{name}) == sizeof({name}));"]
        for field, _ in fields:
            same = f"offsetof(Own_{name}, {field}) == offsetof({name}, {field})"
            asked.append(f'static_assert({same}, "{name}.{field}");')
            kinds = f"decltype(Own_{name}::{field}), decltype({name}::{field})"
            asked.append(f'static_assert(std::is_same_v<{kinds}>, "{name}.{field}");')
    return asked


def differences(text: str, folder: Path) -> str:
    """What a compiler says of the module where it does not agree with the header."""
    lines = ["#include <cstddef>", "#include <type_traits>", f"#include <{HEADER}>"]
    declarations = functions(text)
    asked = re.findall(r"^ {4}fn \w+\(", text.partition("c_functions!")[2], re.M)
    assert len(declarations) == len(asked) == 13, "a declaration was not understood"
    for name, types, result in declarations:
        own = f"{cxx_type(result)}({', '.join(map(cxx_type, types))})"
        lines.append(f'static_assert(std::is_same_v<decltype({name}), {own}>, "{name}");')
    for name, number in values(text):
        lines.append(f'static_assert((unsigned){name} == {number}u, "{name}");')
    lines += structures(text)
    source = folder / "check.cpp"
    source.write_text("\n".join([*lines, ""]))
    flags = [f"-idirafter{include}" for include in include_folders()]
    command = ["c++", "-std=c++17", "-fsyntax-only", "-w", "-D__HIP_PLATFORM_AMD__", *flags]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    return done.stderr[:4000] if done.returncode != 0 else ""


def test_declarations_are_those_of_the_header(tmp_path: Path) -> None:
    assert differences(declared(), tmp_path) == ""


WRONG = [
    ("rows: u64, columns: u64", "rows: u64, columns: c_int", "hipblasLtMatrixLayoutCreate"),
    ("workspace_size: usize,", "workspace_size: u32,", "hipblasLtMatmul"),
    ("asked: c_int,", "asked: usize,", "hipblasLtMatmulAlgoGetHeuristic"),
    ("pub data: [u8; 16],", "pub data: [u8; 24],", "hipblasLtMatmulAlgo_t"),
    ("pub wavesCount: f32,", "pub wavesCount: c_int,", "hipblasLtMatmulHeuristicResult_t.waves"),
    ("HIP_R_16BF = 14,", "HIP_R_16BF = 15,", "HIP_R_16BF"),
    ("MAX_WORKSPACE_BYTES = 1,", "MAX_WORKSPACE_BYTES = 0,", "HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE"),
]


@pytest.mark.parametrize(("right", "wrong", "named"), WRONG, ids=lambda said: said[:20])
def test_a_wrong_declaration_is_noticed(right: str, wrong: str, named: str, tmp_path: Path) -> None:
    text = declared()
    assert text.count(right) == 1
    assert named in differences(text.replace(right, wrong), tmp_path)
