"""hipcc, as the kernels stage calls it: found, asked for its version, and its objects cached.

An object stands for the compiler's version, its arguments, its source and every header that the
source can see, so that a run compiles only what changed. The cache is the user's; it is safe to
delete and safe for two runs at once.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.hipify.errors import HipToolError
from portkit.hipify.parallel_programs import Programs, run_parallel
from portkit.syntax.value import Value
from portkit.workspace.programs import find_program, find_rocm_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FLAGS = ("-O3", "-std=c++17", "-Wno-unused-value", "-Wno-deprecated")
"""What the emitted build script compiles kernels with."""

DEVICE_FLAGS = ("--offload-device-only", "--no-gpu-bundle-output")
"""One bare code object for one architecture."""

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


class CompileResult(Value, frozen=True):
    """One source compiled for one architecture."""

    source: str  # relative to the folder of the sources
    arch: str  # such as ``gfx1100``
    output: Path | None  # the code object; None when the compiler failed
    error: str  # the first error that the compiler printed; empty when it succeeded
    seconds: float  # how long it took; 0 when the object was cached


_TOOLCHAIN = Path(__file__).parents[2] / "ci" / "toolchain"


def find_hipcc() -> Path:
    """Return the compiler: ``HIPCC``, else where builds look for it.

    Raises:
        HipToolError: there is none.
    """
    named = os.environ.get("HIPCC")
    found = find_program(named) if named else find_rocm_program("hipcc")
    if not found:
        raise HipToolError(
            f"hipcc is not found: {describe_installation()}, or set HIPCC or ROCM_PATH"
        )
    return Path(found)


def describe_installation(script: Path = _TOOLCHAIN) -> str:
    """Return how to come by AMD's programs, as a part of a sentence."""
    if script.is_file():
        here = script.is_relative_to(Path.cwd())
        shown = script.relative_to(Path.cwd()) if here else script
        return f"run {shown} and use what it prints"
    return (
        "install ROCm (https://rocm.docs.amd.com), or run ci/toolchain in a checkout of portkit's"
        " sources"
    )


def read_compiler_version(hipcc: Path) -> str:
    """Return what ``hipcc --version`` prints."""
    try:
        run = subprocess.run(
            [hipcc, "--version"], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise HipToolError(
            f"{hipcc} cannot be run ({error}): put the hipcc of a ROCm installation on PATH"
        ) from error
    return run.stdout


def find_cache_folder() -> Path:
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
) -> list[CompileResult]:
    """Compile sources for architectures."""
    compiler = hipcc or find_hipcc()
    version = read_compiler_version(compiler)
    cache = find_cache_folder()
    cache.mkdir(parents=True, exist_ok=True)

    def one(pair: tuple[str, str], programs: Programs) -> CompileResult:
        source, arch = pair
        arguments = _build_arguments(source, arch)
        output = _find_object(version, folder, source, arch)
        if output.exists():
            return CompileResult(source, arch, output, "", 0.0)
        started = time.monotonic()
        # Written beside its place and renamed, so that no other run sees a part of it.
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            part = Path(scratch) / "object.o"
            run = programs.run([compiler, *arguments, "-o", part], folder)
            seconds = time.monotonic() - started
            if run.returncode != 0:
                return CompileResult(source, arch, None, _find_first_error(run.stderr), seconds)
            part.replace(output)
        return CompileResult(source, arch, output, "", seconds)

    pairs = [(source, arch) for source in sources for arch in archs]
    return run_parallel(one, pairs, jobs or os.cpu_count())


def is_compiled(folder: Path, sources: Sequence[str], arch: str) -> bool:
    """Return whether the object of every source for an architecture is in the cache."""
    version = read_compiler_version(find_hipcc())
    return all(_find_object(version, folder, source, arch).exists() for source in sources)


def _build_arguments(source: str, arch: str) -> list[str]:
    return ["-c", *FLAGS, *DEVICE_FLAGS, f"--offload-arch={arch}", source]


def _find_object(version: str, folder: Path, source: str, arch: str) -> Path:
    """Return the place of an object in the cache."""
    seen = _compute_digest(collect_visible_files(folder, source))
    key = _compute_digest([version, *_build_arguments(source, arch), seen])
    return find_cache_folder() / f"{key}.o"


def collect_visible_files(folder: Path, source: str) -> list[str | bytes]:
    """Return the names and texts of a source and of every header in the folder that it can see."""
    seen: dict[Path, bytes] = {}
    pending = [folder / source]
    while pending:
        path = pending.pop().resolve()
        if path not in seen and path.is_file():
            seen[path] = path.read_bytes()
            pending += [path.parent / name.decode() for name in _INCLUDE.findall(seen[path])]
    root = folder.resolve()
    return [
        part
        for path in sorted(seen)
        for part in (os.path.relpath(path, root).replace(os.sep, "/"), seen[path])
    ]


def _compute_digest(parts: Iterable[str | bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def _find_first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if "error" in line]
    return lines[0] if lines else (text.strip().splitlines() or ["no output"])[-1]
