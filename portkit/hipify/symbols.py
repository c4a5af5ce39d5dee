"""The names that a program finds in HIP sources: kernels loaded by name, functions that it links.

Sources make many of them with macros, so a C preprocessor says what they are: the compiler that
links Rust programs is enough for that, no HIP compiler is needed. System headers are left out; they
define no name of ours.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.errors import ToolError
from portkit.hipify.kernel_source import KernelSource
from portkit.syntax.cxx_tokens import match_brackets
from portkit.syntax.value import Value
from portkit.workspace.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from portkit.syntax.cxx_tokens import Token

DEFINED = (
    *("__HIPCC__", "__HIP__", "__HIP_PLATFORM_AMD__", "__AMDGCN__", "__HIP_DEVICE_COMPILE__=1"),
    # Any architecture would do: no source gives a kernel to some of them only.
    *("__gfx1100__", "__GFX11__"),
)
"""What a HIP compiler defines in the device pass (clang documentation, "HIP Support")."""

_SYSTEM_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<[^>\n]*>", re.MULTILINE)


class Symbols(Value, frozen=True):
    """What a source defines with C linkage."""

    kernels: frozenset[str] = frozenset()  # names of ``__global__`` functions
    functions: frozenset[str] = frozenset()  # names of functions of the host


def read_symbols(files: Mapping[str, str], sources: Iterable[str]) -> dict[str, Symbols]:
    """Return what each source defines."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            place = Path(folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_SYSTEM_INCLUDE.sub("", text), encoding="utf-8")
        return {source: parse_symbols(_preprocess(Path(folder), source)) for source in sources}


def parse_symbols(text: str) -> Symbols:
    """Return what a preprocessed text defines."""
    kernels, functions = set(), set()
    for declaration in _find_c_functions(KernelSource("", text).tokens):
        name = _read_function_name(declaration)
        if any(token.text == "__global__" for token in declaration):
            kernels.add(name)
        else:
            functions.add(name)
    return Symbols(frozenset(kernels - {""}), frozenset(functions - {""}))


def _preprocess(folder: Path, source: str) -> str:
    named = shlex.split(os.environ.get("CC", "")) or ["cc"]
    program = find_program(named[0])
    if not program:
        raise ToolError(f"the C compiler {named[0]} is not found: install one, or set CC")
    # The rest is no C++ that the compiler knows, but the preprocessor does not ask.
    macros = (f"-D{name}" for name in DEFINED)
    command = [program, *named[1:], "-E", "-P", "-nostdinc", "-x", "c++", *macros, source]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "no output")
        raise ToolError(f"{named[0]} cannot preprocess {source} ({first}): mend the source")
    return done.stdout


def _find_c_functions(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the head of each function with C linkage that has a body, up to its ``(``."""
    blocks: list[bool] = []  # of each open bracket, whether it belongs to `extern "C" {`
    linked = False
    head: list[Token] = []
    for index, token in enumerate(tokens):
        if token.text == "extern" and index + 1 < len(tokens) and tokens[index + 1].text == '"C"':
            linked, head = True, []
        elif token.text == "{":
            namespace = linked and not head
            texts = {each.text for each in head}
            is_function = "(" in texts and "=" not in texts
            if all(blocks) and not namespace and (linked or blocks) and is_function:
                yield head
            blocks.append(namespace)
            linked, head = False, []
        elif token.text == "}":
            if blocks:
                blocks.pop()
            linked, head = False, []
        elif token.text == ";":
            linked, head = False, []
        elif token.text != '"C"':
            head.append(token)


def _read_function_name(head: Sequence[Token]) -> str:
    """Return the name of a function: what stands before the brackets of its parameters."""
    index, brackets = 0, match_brackets([token.text for token in head])
    while index < len(head):
        if head[index].text == "(" and index:
            name = head[index - 1].text
            if not name.startswith("__"):
                return name
            index = brackets.get(index, len(head))  # an attribute, such as __launch_bounds__(128)
        index += 1
    return ""
