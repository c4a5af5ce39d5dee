"""Build, for a machine with an NVIDIA GPU, the tests of ``portkit repairs`` before and after them.

Usage: ``ci/nvidia/repairs.py [--version V] [--output FOLDER]``; ``pack/run.py`` there runs them.

It needs what ``build.py`` needs. Each test is built against the tree as it was published and
against the tree with all repairs, for the GPU's own compute capability; and once more for another
kind of GPU (``OTHER``), since the static library then has no code for this one and its launches
fail.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(HERE)]

from build import cargo, copy_stripped, run  # noqa: E402
from hipcc import capability  # noqa: E402
from portkit.errors import PortkitError  # noqa: E402

OTHER: Final = "80"
"""A compute capability whose machine code the GPU cannot run."""

ALONE: Final = "quantized_alignment_tests"
"""Has an allocator of its own, and so a program."""

MANIFEST: Final = """\
[package]
name = "repairs"
version = "0.1.0"
edition = "2021"

[features]
cuda = ["candle-core/cuda", "candle-nn/cuda"]

[dependencies]
candle-core = {{ path = "{tree}/candle-core" }}
candle-nn = {{ path = "{tree}/candle-nn" }}
float8 = "{float8}"

[workspace]
"""


def main() -> int:
    """Build, and say what to copy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", default="0.11.1", help="of candle (0.11.1)")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "repairs", help="folder")
    arguments = parser.parse_args()
    output = arguments.output.absolute()
    try:
        trees = {name: tree(name, arguments.version, output) for name in ("before", "after")}
        pack = output / "pack"
        shutil.rmtree(pack, ignore_errors=True)
        pack.mkdir(parents=True)
        for name, place in trees.items():
            crate = crate_of(name, place, trees["after"], output)
            own = capability()
            for folder, wanted in ((name, own), (f"{name}-other", OTHER)):
                os.environ["CUDA_COMPUTE_CAP"] = wanted
                build(crate, output, pack / folder)
            os.environ["CUDA_COMPUTE_CAP"] = own
        shutil.copy(HERE / "run_repairs.py", pack / "run.py")
    except (PortkitError, subprocess.CalledProcessError, OSError) as error:
        print(f"ci/nvidia/repairs.py: {error}", file=sys.stderr)
        return 1
    print(f"copy {pack} to the machine with the GPU and run: python3 run.py RESULTS.json")
    return 0


def tree(name: str, version: str, output: Path) -> Path:
    """Return a tree of a version of candle, ``after`` with all repairs."""
    place = output / name
    if not place.exists():
        new = output / f".{name}"
        shutil.rmtree(new, ignore_errors=True)
        portkit = (sys.executable, "-m", "portkit")
        run((*portkit, "fetch", f"candle@{version}", str(new)), ROOT)
        if name == "after":
            for key in ("name", "email"):
                run(("git", "-C", str(new), "config", f"user.{key}", "nobody@example.com"), ROOT)
            run((*portkit, "repairs", str(new)), ROOT)
        new.rename(place)
    return place


def crate_of(name: str, place: Path, repaired: Path, output: Path) -> Path:
    """Make a crate with the tests of the repaired tree against a tree."""
    crate = output / "crates" / name
    shutil.rmtree(crate, ignore_errors=True)
    (crate / "src").mkdir(parents=True)
    (crate / "tests" / "all").mkdir(parents=True)
    (crate / "src" / "lib.rs").touch()
    root = (place / "Cargo.toml").read_text(encoding="utf-8")
    float8 = re.search(r'^float8 = \{ version = "(\d+\.\d+)', root, re.MULTILINE)
    assert float8 is not None
    (crate / "Cargo.toml").write_text(MANIFEST.format(tree=place, float8=float8[1]))
    command = ("git", "-C", str(repaired), "diff", "--name-only", "--diff-filter=A")
    base = subprocess.run(
        ("git", "-C", str(repaired), "rev-list", "--max-parents=0", "HEAD"),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    added = subprocess.run(
        (*command, base), capture_output=True, text=True, check=True
    ).stdout.split()
    # What a package of candle's own calls candle is candle-core.
    modules = ["extern crate candle_core as candle;\n\n"]
    for path in sorted(added):
        stem = Path(path).stem
        text = (repaired / path).read_text(encoding="utf-8")
        folder = crate / "tests" if stem == ALONE else crate / "tests" / "all"
        (folder / f"{stem}.rs").write_text(text, encoding="utf-8")
        if stem != ALONE:
            modules.append(f'#[path = "all/{stem}.rs"]\nmod {stem};\n')
    (crate / "tests" / "every.rs").write_text("".join(modules), encoding="utf-8")
    return crate


def build(crate: Path, output: Path, place: Path) -> None:
    """Build the tests of a crate and put them into the pack."""
    place.mkdir(parents=True)
    for message in cargo(crate, output, "cuda", ("test", "--no-run", "--tests")):
        if message["profile"]["test"] and message["target"]["name"] != "repairs":
            copy_stripped(Path(message["executable"]), place / message["target"]["name"])


if __name__ == "__main__":
    sys.exit(main())
