"""Build what ``run.py`` runs on a machine with an NVIDIA GPU.

For a port and for CUDA's own backend: their tests, a bench and the cross-check; and a program that
has both.

Usage: ``ci/nvidia/build.py [--version V] [--tree PORTED] [--output FOLDER] [--no-cuda]``.

It needs Rust, g++, binutils, and a CUDA toolkit below ``CUDA_HOME``: nvcc, headers, and for CUDA's
own backend the libraries to link with. There need not be a GPU: code is made for compute capability
``CUDA_COMPUTE_CAP``, 90 by default. Nothing that stands is built again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(HERE)]

from hipcc import ARCH, capability, cuda, release  # noqa: E402
from portkit.errors import PortkitError  # noqa: E402
from portkit.numerics.program_crate import place_program  # noqa: E402
from portkit.profiles.settings import NAME  # noqa: E402
from toolkit import build as build_toolkit  # noqa: E402

PACKAGES: Final = ("candle-core", "candle-nn")
EXAMPLE: Final = "nvidia_bench"
VENDORS: Final = ROOT / "tests" / "real" / "vendors"
BOTH: Final = "both"
DATA: Final = (".npy", ".npz", ".pt", ".pth")
"""Files beside the tests that they read."""

OPTIMIZED: Final = tuple(
    f"--config=profile.dev.package.{name}.opt-level=3"
    for name in ("candle-core", "candle-nn", "candle-hip", "cudarc")
)
"""What a call passes through on its way to the GPU; the rest is built as `cargo test` builds it."""


def main() -> int:
    """Build, and say what to copy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", default="0.11.1", help="of candle (0.11.1)")
    parser.add_argument("--tree", type=Path, help="a tree that is ported already")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "nvidia", help="folder")
    parser.add_argument("--no-cuda", action="store_true", help="without CUDA's own backend")
    arguments = parser.parse_args()
    output = arguments.output.absolute()
    try:
        tree = arguments.tree.absolute() if arguments.tree else ported(arguments.version, output)
        rocm = output / "rocm"
        if not rocm.exists():
            build_toolkit(rocm)
        pack = output / "pack"
        shutil.rmtree(pack, ignore_errors=True)
        shutil.copytree(rocm / "lib", pack / "lib", symlinks=True)
        shutil.copy(HERE / "run.py", pack)
        (pack / "built.json").write_text(json.dumps(built()), encoding="utf-8")
        for backend in ("rocm",) if arguments.no_cuda else ("rocm", "cuda"):
            pack_tests(backend, tree, output, pack)
            pack_bench(backend, tree, output, pack)
            pack_crosscheck(backend, tree, output, pack)
        if not arguments.no_cuda:
            pack_vendors(tree, output, pack)
    except (PortkitError, subprocess.CalledProcessError, OSError) as error:
        print(f"ci/nvidia/build.py: {error}", file=sys.stderr)
        return 1
    print(f"copy {pack} to the machine with the GPU and run: python3 run.py RESULTS")
    return 0


def ported(version: str, output: Path) -> Path:
    """Return a tree of a version of candle to which the port is applied."""
    tree = output / f"candle-{version}"
    if not tree.exists():
        new = output / f".candle-{version}"
        shutil.rmtree(new, ignore_errors=True)
        portkit = (sys.executable, "-m", "portkit")
        run((*portkit, "fetch", f"candle@{version}", str(new)), ROOT)
        # nvcc has CUDA's own headers, which the macros for sources as they stand would rename.
        (new / NAME).write_text('kernels = "translated"\n', encoding="utf-8")
        run((*portkit, "apply", str(new)), ROOT)
        new.rename(tree)
    return tree


def built() -> dict[str, str]:
    """Return what a page tells of how it was built: which portkit, CUDA and kind of GPU."""
    asked = ("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return {"portkit": said, "cuda": release(), "capability": capability()}


def pack_tests(backend: str, tree: Path, output: Path, pack: Path) -> None:
    """Build all tests for a backend and put them, with what they read, into the pack."""
    for crate in PACKAGES:
        place = pack / "tests" / crate
        (place / backend).mkdir(parents=True)
        (place / "tests").mkdir(exist_ok=True)
        for path in sorted((tree / crate / "tests").iterdir()):
            if path.suffix in DATA:
                shutil.copy(path, place / "tests")
    packages = [f"--package={name}" for name in PACKAGES]
    command = ("test", "--no-run", "--tests", *packages, *OPTIMIZED)
    for message in cargo(tree, output, backend, command):
        if message["profile"]["test"]:
            crate = Path(message["manifest_path"]).parent.name
            place = pack / "tests" / crate / backend / message["target"]["name"]
            copy_stripped(Path(message["executable"]), place)


def pack_bench(backend: str, tree: Path, output: Path, pack: Path) -> None:
    """Build the bench for a backend and put it into the pack."""
    example = tree / "candle-nn" / "examples" / f"{EXAMPLE}.rs"
    if not example.exists() or example.read_bytes() != (HERE / "bench.rs").read_bytes():
        shutil.copy(HERE / "bench.rs", example)
    (pack / "bench").mkdir(exist_ok=True)
    command = ("build", "--package=candle-nn", f"--example={EXAMPLE}", *OPTIMIZED)
    for message in cargo(tree, output, backend, command):
        copy_stripped(Path(message["executable"]), pack / "bench" / backend)


def pack_crosscheck(backend: str, tree: Path, output: Path, pack: Path) -> None:
    """Build the cross-check of a backend and put it into the pack.

    It is not optimized like the rest: candle's ``F8E4M3::to_f64`` calls itself, which ends in a
    full stack, but at higher levels in a loop without end.
    """
    (pack / "crosscheck").mkdir(exist_ok=True)
    crate = place_program(tree, "candle", output / "proof")
    for message in cargo(crate, output, backend, ("build", "--no-default-features")):
        copy_stripped(Path(message["executable"]), pack / "crosscheck" / backend)


def pack_vendors(tree: Path, output: Path, pack: Path) -> None:
    """Build the program that has both backends and put it into the pack."""
    (pack / "vendors").mkdir(exist_ok=True)
    crate = place_program(tree, "candle", output / "vendors", VENDORS)
    for message in cargo(crate, output, BOTH, ("build",)):
        copy_stripped(Path(message["executable"]), pack / "vendors" / BOTH)


def cargo(
    folder: Path, output: Path, backend: str, command: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Run cargo with the feature of a backend and return its messages about programs.

    What has both backends has no features.
    """
    environment = dict(os.environ, CUDA_COMPUTE_CAP=capability(), CUDA_HOME=str(cuda()))
    environment["PATH"] = os.pathsep.join([str(cuda() / "bin"), environment["PATH"]])
    environment.setdefault("CARGO_TARGET_DIR", str(output / "target"))
    if backend in ("rocm", BOTH):
        environment["HIPCC"] = str(output / "rocm" / "bin" / "hipcc")
        environment["CANDLE_ROCM_ARCHS"] = ARCH
    features = () if backend == BOTH else (f"--features={backend}",)
    words = ("cargo", *command, *features, "--message-format=json")
    done = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    lines = done.stdout.decode().splitlines()
    messages = [json.loads(line) for line in lines if line.startswith("{")]
    return [message for message in messages if message.get("executable")]


def copy_stripped(program: Path, place: Path) -> None:
    """Copy a program without what only debuggers read."""
    run(("strip", "--strip-debug", "-o", str(place), str(program)), place.parent)


def run(command: tuple[str, ...], folder: Path) -> None:
    """Run a command."""
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    sys.exit(main())
