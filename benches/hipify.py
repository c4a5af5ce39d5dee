"""How fast ``portkit hipify`` is beside hipify-clang and hipify-perl, on the same files.

Usage: python benches/hipify.py CUDA_FOLDER [--clang] [--perl] [--profile NAME]. The tools come from
ci/toolchain, CUDA_HOME for hipify-clang from ci/cuda-headers; hipify-perl takes minutes. Each file
is given to the other tools as their users would, without our rules after it; ours gets all of them
in one command, start-up included. Times are processor seconds of the whole process tree,
so that a busy machine does not change the ratios.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.hipify.external_engines import Engine, build_clang_arguments, find_engine
from portkit.hipify.paths import is_cuda

if TYPE_CHECKING:
    from collections.abc import Sequence


def processor_seconds(commands: Sequence[Sequence[str | Path]], folder: Path) -> float:
    """Return what commands use; what they print is thrown away, and so is how they end."""

    def run(command: Sequence[str | Path]) -> None:
        subprocess.run(command, cwd=folder, capture_output=True, check=False)

    before = os.times()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, commands))
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def ours(folder: Path, out: Path, options: Sequence[str]) -> list[list[str | Path]]:
    """Return our one command."""
    program: list[str | Path] = [sys.executable, "-m", "portkit", "hipify", folder]
    return [[*program, "-o", out / "ours", *options]]


def theirs(
    engine: Engine, folder: Path, sources: Sequence[str], out: Path
) -> list[list[str | Path]]:
    """Return a command for each source."""
    external = find_engine(engine)
    more = build_clang_arguments(external, [folder]) if engine is Engine.HIPIFY_CLANG else []
    return [
        [external.program, folder / source, f"-o={out / source.replace('/', '_')}", *more]
        for source in sources
    ]


def main() -> int:
    """Print a table."""
    folder = Path(sys.argv[1]).resolve()
    options = [arg for arg in sys.argv[2:] if arg not in ("--clang", "--perl")]
    sources = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if is_cuda(path.name)
    )
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        rows = [("portkit", processor_seconds(ours(folder, out, options), folder))]
        for flag, engine in (("--clang", Engine.HIPIFY_CLANG), ("--perl", Engine.HIPIFY_PERL)):
            if flag in sys.argv:
                commands = theirs(engine, folder, sources, out)
                rows.append((engine.value, processor_seconds(commands, folder)))
    size = sum((folder / source).stat().st_size for source in sources)
    print(f"{len(sources)} files, {size} bytes, processor seconds")
    for name, seconds in rows:
        print(f"{name:14} {seconds:8.2f} s {seconds / rows[0][1]:8.1f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
