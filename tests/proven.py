"""Tests of minutes that are not run again while everything that decides their result is the same.

A test names its inputs, and is skipped if it has passed with the same inputs in this week. A change
seldom touches the bindings, the CPU device or the port of candle. ``PORTKIT_PROVEN=no`` runs every
test, and `make test-all` sets it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from turns import today

from portkit.cache import cache_folder
from portkit.device.hipcc.cxx import find_cxx
from portkit.device.toolkit import compute_sources_key
from portkit.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE: Final = "PORTKIT_PROVEN"
ROOT: Final = Path(__file__).parents[1]
SETTINGS: Final = ("CANDLE_", "CARGO_", "HIP", "MIOPEN_", "PORTKIT_DEVICE_", "ROCM_", "RUST")
"""How the names of variables begin that change a result."""
_OUTSIDE: Final = frozenset({"CARGO_TARGET_DIR", "HIPCC", "ROCM_INCLUDE", "ROCM_PATH"})
"""Variables that name folders. The inputs hold what lies there."""
_MADE: Final = frozenset({".git", "target", "__pycache__"})


class Proofs:
    """The inputs of one test, and where its success is remembered."""

    def __init__(self, test: str) -> None:
        self.test = test
        self.place: Path | None = None

    def need(self, *inputs: Path | str) -> None:
        """Skip the test if it has passed with the same inputs.

        Args:
            inputs: files and folders, of which names and contents count, and texts.
        """
        if os.environ.get(VARIABLE) == "no":
            return
        place = cache_folder() / "proven" / digest(self.test, *_machine(), *inputs)
        if place.is_file():
            pytest.skip(f"it has passed with the same inputs, on {place.read_text()}")
        self.place = place

    def remember(self) -> None:
        """Remember that the test has passed with its inputs."""
        if self.place is not None:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            new = self.place.with_name(f"{self.place.name}.{os.getpid()}")
            new.write_text(datetime.now(UTC).date().isoformat())
            new.replace(self.place)


def device_inputs() -> tuple[Path | str, ...]:
    """Return the inputs that the CPU device has: its sources, and what builds and runs programs."""
    cxx = find_cxx()
    code = ("portkit/device", "portkit/verify", "tools/proof", "portkit/cli/device.py")
    shared = ("portkit/syntax/cxx_tokens.py", "portkit/workspace/process.py")
    support = ("tests/verify_support.py", "tests/facade_support.py")
    return (
        *(compute_sources_key(), *cxx.command, cxx.version, *cxx.machine, _version("rustc")),
        *(ROOT / name for name in (*code, *shared, *support)),
    )


def port_inputs(tree: Path) -> tuple[Path | str, ...]:
    """Return the inputs of a port of candle whose tests run on the CPU device.

    Args:
        tree: the port.
    """
    return (*device_inputs(), tree, ROOT / "portkit" / "codebases" / "candle" / "verify.toml")


def bindings_inputs(test: str) -> tuple[Path | str, ...]:
    """Return the inputs of a test of the bindings on the CPU device.

    Args:
        test: the path of the test.
    """
    return (*device_inputs(), shipped("crates/hip"), Path(test))


def digest(*inputs: Path | str) -> str:
    """Return a digest of texts, and of the names and contents of files."""
    found = hashlib.sha256()
    for part in inputs:
        for text in _texts(part):
            found.update(len(text).to_bytes(8, "little") + text)
    return found.hexdigest()[:32]


def _texts(part: Path | str) -> Iterator[bytes]:
    if isinstance(part, str):
        yield part.encode()
    elif part.is_dir():
        paths = (path for path in part.rglob("*") if not _MADE & {*path.relative_to(part).parts})
        for path in sorted(path for path in paths if path.is_file() and path.name != "Cargo.lock"):
            yield path.relative_to(part).as_posix().encode()
            yield path.read_bytes()
    else:
        yield part.read_bytes()


def _machine() -> Iterator[str]:
    """Yield the Python, the machine and the settings that a result depends on, and the week.

    Versions of dependencies are not among the inputs: cargo takes those that are the newest.
    """
    yield from (sys.version, platform.machine(), platform.system(), str(today() // 7))
    for name, value in sorted(os.environ.items()):
        if name.startswith(SETTINGS) and name not in _OUTSIDE:
            yield f"{name}={value}"


@cache
def _version(program: str) -> str:
    done = subprocess.run([program, "-vV"], capture_output=True, text=True, check=False)
    return done.stdout
