"""The command ``hipcc`` of the device."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from portkit.device.hipcc.arguments import UsageError, read_arguments
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.device.hipcc.passes import CompileError, Passes
from portkit.device.hipcc.tokens import SourceError

if TYPE_CHECKING:
    from pathlib import Path


def main(root: Path, *, checked: bool) -> int:
    """Do what the command line asks for and return the exit status.

    Args:
        root: the tree of the device.
        checked: whether kernels are compiled for the checker.
    """
    words = sys.argv[1:]
    try:
        cxx = find_cxx()
        if words in (["--version"], ["-version"]):
            print(f"HIP version: 7.0.0 (portkit CPU device{' with checks' if checked else ''})")
            print(f"{root.name}, {cxx.version}")
            return 0
        optimize = os.environ.get("PORTKIT_DEVICE_OPTIMIZE", "-O2")
        Passes(cxx, root, optimize, checked).make(read_arguments(words))
    except CompileError:
        return 1
    except (UsageError, SourceError, NoCompilerError, OSError) as error:
        print(f"hipcc: error: {error}", file=sys.stderr)
        return 1
    return 0
