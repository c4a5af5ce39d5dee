"""The programs that portkit uses: their paths and versions on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from portkit.syntax.value import Value

NOWHERE: Final = Path(Path(__file__).anchor)
"""A folder in which no tree lies: there no file of a tree says which toolchain is run."""
ROCM: Final = "/opt/rocm"
"""Where AMD's packages install ROCm, or link to its newest release."""
_PATIENCE: Final = 20.0  # How long a program may take to say its version, or the like, in seconds.
_NAMES: Final = ("cargo", "rustc", "rustfmt", "git", "hipcc", "hipify-clang")


class Tool(Value, frozen=True):
    """A program."""

    name: str
    path: str
    version: str  # The numbers that it states; empty where it states none.


def find_program(name: str, path: str | None = None) -> str:
    """Return the absolute path of a program, or an empty string.

    Args:
        path: the folders to look in, as in ``PATH``, which they are by default. Relative ones are
            passed over: they would lead into the tree that portkit is run in.
    """
    return shutil.which(name, path=absolute_folders(path)) or ""


def absolute_folders(path: str | None = None) -> str:
    """Return the absolute folders of a search path, ``PATH`` by default."""
    path = os.environ.get("PATH", os.defpath) if path is None else path
    return os.pathsep.join(f for f in path.split(os.pathsep) if Path(f).is_absolute())


def find_tools() -> tuple[Tool, ...]:
    """Return the programs that portkit works with, found or not."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(_NAMES)) as pool:
        return tuple(pool.map(_tool, _NAMES))


def _tool(name: str) -> Tool:
    path = _locate_tool(name)
    return Tool(name, path, _version(path) if path else "")


def find_rocm_program(name: str) -> str:
    """Return the absolute path of a program of ROCm, or an empty string.

    It is looked for below ``ROCM_PATH`` and ``HIP_PATH``, on ``PATH``, and below ``/opt/rocm``, as
    the build scripts of ports do.
    """
    configured = [os.environ.get(variable, "") for variable in ("ROCM_PATH", "HIP_PATH")]
    below = [f"{root}/bin" for root in configured if root]
    places = (*below, None, f"{ROCM}/bin")
    return next(filter(None, (find_program(name, place) for place in places)), "")


def _locate_tool(name: str) -> str:
    """Return the path of a program; for hipcc, ``HIPCC`` comes first, as in builds."""
    if name == "hipcc" and os.environ.get("HIPCC"):
        return os.environ["HIPCC"]
    return find_rocm_program(name) if name.startswith("hip") else find_program(name)


def query_program(*command: str) -> subprocess.CompletedProcess[str] | None:
    """Run a program outside of any tree; return None if it does not run, or not in time."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=NOWHERE,
            # A program may be a script, which looks for others.
            env={**os.environ, "PATH": absolute_folders()},
        )
    except (OSError, subprocess.SubprocessError):
        return None


def _version(path: str) -> str:
    done = query_program(path, "--version")
    if done is None:
        return ""
    found = re.search(r"\d+(?:\.\d+)+[\w.+-]*", done.stdout or done.stderr)
    return found.group() if found else ""
