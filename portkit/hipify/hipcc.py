"""hipcc, as the kernels stage calls it: found, asked for its version, and its objects cached.

An object stands for the compiler's version, its arguments and every file it could have read, so
that a second run with nothing changed compiles nothing. The cache is the user's; it is safe to
delete and safe for two runs at once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.hipify.errors import HipToolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FLAGS = ("-O3", "-std=c++17", "-Wno-unused-value", "-Wno-deprecated")
"""What the emitted build script compiles kernels with."""

DEVICE_FLAGS = ("--offload-device-only", "--no-gpu-bundle-output")
"""One bare code object for one architecture."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """One source compiled for one architecture.

    Attributes:
        source: relative to the folder of the sources.
        arch: such as ``gfx1100``.
        output: the code object; None when the compiler failed.
        error: the first error that the compiler printed; empty when it succeeded.
        seconds: how long it took; 0 when the object was cached.
    """

    source: str
    arch: str
    output: Path | None
    error: str
    seconds: float


def find_hipcc() -> Path:
    """Return the compiler: ``HIPCC``, then ``ROCM_PATH``, then ``PATH``.

    Raises:
        HipToolError: there is none.
    """
    named = os.environ.get("HIPCC")
    rocm = os.environ.get("ROCM_PATH")
    found = named or (shutil.which("hipcc", path=f"{rocm}/bin") if rocm else None)
    found = shutil.which(found or "hipcc")
    if found is None:
        raise HipToolError("hipcc is not found: run ci/toolchain, or set HIPCC or ROCM_PATH")
    return Path(found)


def compiler_version(hipcc: Path) -> str:
    """Return what ``hipcc --version`` prints.

    Raises:
        HipToolError: it cannot be run.
    """
    try:
        run = subprocess.run(
            [hipcc, "--version"], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise HipToolError(f"{hipcc} cannot be run: {error}") from error
    return run.stdout


def cache_folder() -> Path:
    """Return the user's folder for code objects."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "portkit" / "code-objects"


def compile_matrix(
    folder: Path,
    sources: Sequence[str],
    archs: Sequence[str],
    *,
    jobs: int | None = None,
    hipcc: Path | None = None,
) -> list[Compiled]:
    """Compile sources for architectures.

    Args:
        folder: where the sources and their headers lie.
        sources: paths relative to it.
        archs: architectures.
        jobs: how many compilers at once; the number of processors by default.
        hipcc: the compiler; found by default.

    Returns:
        One result for each pair, by source and architecture as given.

    Raises:
        HipToolError: there is no compiler.
    """
    compiler = hipcc or find_hipcc()
    version = compiler_version(compiler)
    headers = _digest_headers(folder)
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)

    def one(pair: tuple[str, str]) -> Compiled:
        source, arch = pair
        arguments = ["-c", *FLAGS, *DEVICE_FLAGS, f"--offload-arch={arch}", source]
        key = _digest([version, *arguments, headers, (folder / source).read_bytes()])
        output = cache / f"{key}.o"
        if output.exists():
            return Compiled(source, arch, output, "", 0.0)
        started = time.monotonic()
        # Written beside its place and renamed, so that no other run sees a part of it.
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            part = Path(scratch) / "object.o"
            run = subprocess.run(
                [compiler, *arguments, "-o", part],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            seconds = time.monotonic() - started
            if run.returncode != 0:
                return Compiled(source, arch, None, _first_error(run.stderr), seconds)
            part.replace(output)
        return Compiled(source, arch, output, "", seconds)

    pairs = [(source, arch) for source in sources for arch in archs]
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(one, pairs))


def _digest_headers(folder: Path) -> str:
    paths = sorted(path for path in folder.rglob("*.h") if path.is_file())
    parts: list[str | bytes] = []
    for path in paths:
        parts += [path.relative_to(folder).as_posix(), path.read_bytes()]
    return _digest(parts)


def _digest(parts: Iterable[str | bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if "error" in line]
    return lines[0] if lines else (text.strip().splitlines() or ["no output"])[-1]
