"""The C declarations of the emitted bindings agree with the headers of an installed ROCm.

The headers are looked for in the folders of ``ROCM_INCLUDE`` (separated like ``PATH``), then
below ``ROCM_PATH`` and ``/opt/rocm``; without any the tests are skipped.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from facade_support import include_folders, render_facade

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

HEADERS = {
    "driver": "hip/hip_runtime_api.h",
    "hiprtc": "hip/hiprtc.h",
    "rocblas": "rocblas/rocblas.h",
    "hiprand": "hiprand/hiprand.h",
    "rccl": "rccl/rccl.h",
    "miopen": "miopen/miopen.h",
}
# A function that a `sys` module declares; an argument may be a function itself.
DECLARATION = re.compile(
    r"^ {4}fn (\w+)\(([^)]*(?:\([^)]*\)[^)]*)*)\) -> ([\w* ]+);$", re.MULTILINE
)
# Rust types whose names are not C's.
SCALARS = {
    "c_char": "char",
    "c_uchar": "unsigned char",
    "c_int": "int",
    "c_uint": "unsigned int",
    "c_ulonglong": "unsigned long long",
    "c_void": "void",
    "bool": "bool",
    "usize": "size_t",
    "i32": "int32_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "i64": "int64_t",
    "f32": "float",
    "f64": "double",
    # Flags are macros in the header, and integers in the signatures.
    "hipEventFlags": "unsigned int",
    "hipStreamFlags": "unsigned int",
    "hipDeviceFlags": "unsigned int",
    "hipOccupancyFlags": "unsigned int",
    "hipLimit_t": "enum hipLimit_t",
}
# Include guards of headers that hiprand.h asks for.
HIPRAND_NEEDS = ["HIP_INCLUDE_HIP_HIP_RUNTIME_H", "HIP_INCLUDE_HIP_HIP_FP16_H", "HIPRAND_ROCM_H_"]
# And of those that rccl.h asks for.
RCCL_NEEDS = ["HIP_INCLUDE_HIP_HIP_RUNTIME_H", "HIP_INCLUDE_HIP_HIP_FP16_H"]
# Structs of MIOpen, and the types whose names are not C's: what a solution's algorithm is called.
LAYOUTS = {
    "miopenConvAlgoPerf_t": {},
    "miopenConvSolution_t": {"miopenConvFwdAlgorithm_t": "miopenConvAlgorithm_t"},
}
# What a version of a library brought: a header of an older one need not have it.
SINCE = {
    "ncclCommFinalize": "NCCL_VERSION_CODE >= 21400",
    "ncclInProgress": "NCCL_VERSION_CODE >= 21400",
}
# Enumerations that another library or the crate itself has.
OWN_VALUES = {"NOT_LOADED"}
# hipFuncSetAttribute takes hipFuncAttribute, which numbers the two attributes in the same way.
OTHER_TYPES = {("hipFuncSetAttribute", 1): "hipFuncAttribute"}
# Pointers that gained a const from one release to another.
GAINED_CONST = {
    ("hipMemcpyHtoD", 1),
    ("hipMemcpyHtoDAsync", 1),
    ("hiprtcCreateProgram", 4),
    ("hiprtcCreateProgram", 5),
    ("hiprtcCompileProgram", 2),
}


def c_type(rust: str) -> str:
    if rust == 'unsafe extern "C" fn(*mut c_void)':
        return "hipHostFn_t"
    if pointer := re.fullmatch(r"\*(mut|const) (.+)", rust):
        target = c_type(pointer[2])
        return f"{target} const *" if pointer[1] == "const" else f"{target} *"
    return SCALARS.get(rust, rust)


def functions(text: str) -> list[tuple[str, list[str], str]]:
    """Names, argument types and result types of the functions that a ``sys`` module declares."""
    found = []
    for name, arguments, result in DECLARATION.findall(text):
        parts = re.split(r",\s*(?![^()]*\))", arguments.strip().rstrip(","))
        types = [part.split(":", 1)[1].strip() for part in parts if part.strip()]
        found.append((name, types, result.strip()))
    return found


def prototypes(name: str, types: list[str], result: str) -> list[str]:
    """The C types of a function that are accepted."""
    choices = []
    for position, rust in enumerate(types):
        c = OTHER_TYPES.get((name, position)) or c_type(rust)
        choice = [c]
        if (name, position) in GAINED_CONST:
            bare = c.replace(" const", "")
            choice = [c, bare, re.sub(r" \*$", " const *", bare), bare.replace(" *", " const *")]
        choices.append(choice)
    return [
        f"{c_type(result)} ({', '.join(arguments) or 'void'})"
        for arguments in itertools.product(*choices)
    ]


def values(text: str) -> list[tuple[str, int]]:
    blocks = re.findall(r"c_enum! \{.*?\n\}", text, re.S)
    pairs = [p for block in blocks for p in re.findall(r"^ {8}(\w+) = (\d+),", block, re.M)]
    return [(name, int(number)) for name, number in pairs if name not in OWN_VALUES]


def where_it_is(name: str, line: str) -> list[str]:
    return [f"#if {SINCE[name]}", line, "#endif"] if name in SINCE else [line]


def layout_of(name: str, fields: dict[str, str], text: str) -> list[str]:
    """Assertions that a struct of a ``sys`` module has the header's fields, in order and in size.

    Rust lays out such a struct as C does (the Rust reference, "The C representation"), so that the
    types of the fields, one after the other, tell the offsets.
    """
    (body,) = re.findall(
        rf"#\[repr\(C\)\]\n(?:#.*\n)*pub struct {name} \{{\n(.*?)\n\}}", text, re.S
    )
    found = re.findall(r"^ {4}pub (\w+): (\w+),$", body, re.M)
    own = " ".join(f"{fields.get(type_, c_type(type_))} {field};" for field, type_ in found)
    lines = [f"struct own_{name} {{ {own} }};"]
    lines.append(f'_Static_assert(sizeof({name}) == sizeof(struct own_{name}), "{name}");')
    for field, _ in found:
        place = f"offsetof({name}, {field}) == offsetof(struct own_{name}, {field})"
        size = f"sizeof((({name} *)0)->{field}) == sizeof(((struct own_{name} *)0)->{field})"
        lines.append(f'_Static_assert({place} && {size}, "{name}.{field}");')
    return lines


def compile_c(lines: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    source = folder / "check.c"
    source.write_text("\n".join([*lines, ""]))
    flags = [f"-idirafter{include}" for include in include_folders()]
    command = ["cc", "-std=gnu11", "-fsyntax-only", "-w", "-D__HIP_PLATFORM_AMD__", *flags]
    return subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)


def declared_in(module: str) -> str:
    """The text of a ``sys`` module, where the header that it declares is here."""
    header = HEADERS[module]
    if not any((folder / header).is_file() for folder in include_folders()):
        pytest.skip(f"no {header}: set ROCM_INCLUDE")
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    return render_facade(frozenset())[f"src/{module}/sys.rs"]


def differences(module: str, text: str, folder: Path) -> str:
    """What a compiler says of a ``sys`` module that does not agree with the header."""
    header = HEADERS[module]
    start = ["#include <stddef.h>", "#include <stdint.h>"]
    if module == "hiprand":
        # The header asks for rocRAND's and for C++ headers of HIP, of which it uses these types.
        start += ["#include <hip/hip_runtime_api.h>", "typedef unsigned short __half;"]
        start += [f"#define {guard}" for guard in HIPRAND_NEEDS]
        start += ["typedef struct generator hiprandGenerator_st;"]
        start += ["typedef struct distribution hiprandDiscreteDistribution_st;"]
        start += ["typedef unsigned int hiprandDirectionVectors32_t[32];"]
        start += ["typedef unsigned long long hiprandDirectionVectors64_t[64];"]
    if module == "rccl":
        start += ["#include <hip/hip_runtime_api.h>"]
        start += [f"#define {guard}" for guard in RCCL_NEEDS]
    if module == "miopen":
        # In C the header names a type that it declares for C++ alone.
        start += ["#include <stdbool.h>", "typedef struct argument miopenTensorArgument_t;"]
    lines = [*start, f"#include <{header}>"]
    declared = functions(text)
    assert len(declared) == len(
        re.findall(r"^ {4}fn \w+\(", text.partition("c_functions!")[2], re.M)
    ), "a declaration was not understood"
    for name, types, result in declared:
        accepted = [
            f"__builtin_types_compatible_p(__typeof__({name}), {p})"
            for p in prototypes(name, types, result)
        ]
        lines += where_it_is(name, f'_Static_assert({" || ".join(accepted)}, "{name}");')
    for name, number in values(text):
        lines += where_it_is(name, f'_Static_assert((unsigned){name} == {number}u, "{name}");')
    if module == "driver":
        place = "offsetof(hipDeviceProp_tR0600, gcnArchName)"
        lines.append(f'_Static_assert({place} == 1160, "gcnArchName");')
        lines.append('_Static_assert(sizeof(hipDeviceProp_tR0600) == 1472, "hipDeviceProp");')
        lines.append('_Static_assert((size_t)hipStreamPerThread == 2, "hipStreamPerThread");')
        lines.append('_Static_assert(hipHostMallocWriteCombined == 4, "WriteCombined");')
    if module == "miopen":
        lines += [line for name, rust in LAYOUTS.items() for line in layout_of(name, rust, text)]
    if module == "rccl":
        (size,) = re.findall(r"pub internal: \[c_char; (\d+)\],", text)
        lines.append(f'_Static_assert(sizeof(ncclUniqueId) == {size}, "ncclUniqueId");')
        lines.append('_Static_assert(_Alignof(ncclUniqueId) == 1, "ncclUniqueId");')
    checked = compile_c(lines, folder)
    return checked.stderr[:4000] if checked.returncode != 0 else ""


@pytest.mark.parametrize("module", sorted(HEADERS))
def test_declarations_are_those_of_the_header(module: str, tmp_path: Path) -> None:
    assert differences(module, declared_in(module), tmp_path) == ""


WRONG = [
    ("driver", "fn hipInit(flags: c_uint)", "fn hipInit(flags: *mut c_int)", "hipInit"),
    ("rccl", "comm: ncclComm_t, count: *mut c_int", "comm: ncclComm_t, count: c_int", "CommCount"),
    ("rccl", "id: ncclUniqueId, rank: c_int", "rank: c_int, id: ncclUniqueId", "ncclCommInitRank"),
    ("rccl", "ncclAvg = 4,", "ncclAvg = 5,", "ncclAvg"),
    ("rccl", "ncclBfloat16 = 9,", "ncclBfloat16 = 8,", "ncclBfloat16"),
    ("rccl", "[c_char; 128]", "[c_char; 64]", "ncclUniqueId"),
    ("miopen", "y: *mut c_void, most: c_int", "y: *mut c_void, most: usize", "FindConvolution"),
    ("miopen", "miopenBFloat16 = 5,", "miopenBFloat16 = 4,", "miopenBFloat16"),
    (
        "miopen",
        "pub time: f32,\n    /// The workspace that it needs, in bytes.\n    pub memory",
        "pub time: f64,\n    /// The workspace that it needs, in bytes.\n    pub memory",
        "miopenConvAlgoPerf_t",
    ),
    ("miopen", "pub solution_id: u64,", "pub solution_id: u32,", "miopenConvSolution_t"),
]


@pytest.mark.parametrize(("module", "right", "wrong", "named"), WRONG, ids=lambda said: said[:20])
def test_a_wrong_declaration_is_noticed(
    module: str, right: str, wrong: str, named: str, tmp_path: Path
) -> None:
    text = declared_in(module)
    assert text.count(right) == 1
    assert named in differences(module, text.replace(right, wrong), tmp_path)
