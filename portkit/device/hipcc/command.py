"""The command ``hipcc`` of the device."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from portkit.device.hipcc.arguments import UsageError, read_arguments
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.device.hipcc.passes import CompileError, Passes
from portkit.device.hipcc.source import SourceError

if TYPE_CHECKING:
    from pathlib import Path

COMPILER: Final = "libexec/compiler"
"""The file in the tree that says what decides what the compiler makes."""


def main(root: Path, *, checked: bool) -> int:
    """Do what the command line asks for and return the exit status."""
    words = sys.argv[1:]
    optimize = os.environ.get("PORTKIT_DEVICE_OPTIMIZE", "-O2")
    try:
        cxx = find_cxx()
        if words in (["--version"], ["-version"]):
            print(f"HIP version: 7.0.0 (portkit CPU device{' with checks' if checked else ''})")
            # Builds keep objects under what is said here.
            compiler = (root / COMPILER).read_text(encoding="utf-8").strip()
            print(f"{compiler}, {cxx.version}, {optimize}")
            return 0
        Passes(cxx, root, optimize, checked).make(read_arguments(words))
    except CompileError:
        return 1
    except (UsageError, SourceError, NoCompilerError, OSError) as error:
        print(f"hipcc: error: {error}", file=sys.stderr)
        return 1
    return 0
