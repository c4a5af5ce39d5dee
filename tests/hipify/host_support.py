"""Compiles the C++ programs beside the tests against the prelude headers and runs them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from portkit.hipify.prelude import PRELUDE_FOLDER
from portkit.shipped import shipped

PRELUDE = shipped(f"{PRELUDE_FOLDER}/src/device")
HOST = Path(__file__).parent / "host"
FLAGS = ("-std=c++20", "-O0", "-Wall", "-Werror", "-Wno-attributes", "-Wno-unknown-pragmas")


def build(name: str, folder: Path, *flags: str) -> Path:
    """Return the program made of ``host/NAME.cpp`` by the host's compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    program = folder / name
    subprocess.run(
        [compiler, *FLAGS, *flags, f"-I{PRELUDE}", HOST / f"{name}.cpp", "-pthread", "-o", program],
        check=True,
    )
    return program


def run(program: Path, text: str = "") -> list[str]:
    """Return the lines that the program prints."""
    output = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return output.stdout.splitlines()
