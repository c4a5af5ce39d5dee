"""How fast ``portkit hipify`` is beside hipify-clang and hipify-perl, on the same files.

Usage: PYTHONPATH=. python benches/hipify.py CUDA_FOLDER [--perl]; the tools come from ci/toolchain,
CUDA_HOME for hipify-clang from ci/cuda-headers. hipify-perl takes minutes, so it runs when asked
for. Times are processor seconds of the whole process tree, so that a busy machine does not change
the ratios; those of the other tools contain our rules, which run over what they write.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from portkit.hipify.engines import Engine, find_engine, translate_with

OURS = (
    "import sys, pathlib; from portkit.hipify.stage import hipify;"
    "hipify([pathlib.Path(sys.argv[1])], pathlib.Path(sys.argv[2]))"
)


def processor_seconds() -> float:
    """Return what this process and its ended children have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main() -> int:
    """Print a table."""
    folder = Path(sys.argv[1])
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.cu*")}
    rows = []
    with tempfile.TemporaryDirectory() as out:
        start = processor_seconds()
        subprocess.run([sys.executable, "-c", OURS, folder, Path(out) / "out"], check=True)
        ours = processor_seconds() - start
    rows.append((Engine.PORTKIT.value, ours))
    engines = [Engine.HIPIFY_CLANG, *([Engine.HIPIFY_PERL] if "--perl" in sys.argv else [])]
    for engine in engines:
        start = processor_seconds()
        translate_with(find_engine(engine), files)
        rows.append((engine.value, processor_seconds() - start))
    print(f"{len(files)} files, {sum(map(len, files.values()))} bytes")
    for name, seconds in rows:
        print(f"{name:14} {seconds:8.2f} s {seconds / ours:8.1f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
