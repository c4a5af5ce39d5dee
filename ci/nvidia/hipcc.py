"""The command ``hipcc`` of the stand-in: HIP sources to machine code of an NVIDIA GPU, by nvcc.

It takes the arguments that portkit's CPU device takes. Kernels are compiled as for gfx1030, the
architecture that is nearest to an NVIDIA GPU without tensor cores: 32 lanes, dot products of bytes.

A host object is compiled with the launchers' kernels unoptimized, for nobody runs those: the code
objects of the bundle are put in their place, as clang does it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path.insert(0, str(ROOT))

from portkit.device.hipcc.arguments import Mode, UsageError, read_arguments  # noqa: E402

if TYPE_CHECKING:
    from portkit.device.hipcc.arguments import Arguments

ARCH: Final = "gfx1030"
INCLUDE: Final = (HERE / "include", ROOT / "device" / "include")

_HIP: Final = ("-D__HIP__=1", "-D__HIPCC__=1", "-D__HIP_PLATFORM_AMD__=1")
_ARCH: Final = (f"-D__{ARCH}__=1", "-D__GFX10__=1")

_NVCC: Final = (
    "-x=cu",
    "-std=c++17",
    "--expt-relaxed-constexpr",  # clang lets kernels call constexpr functions of the host
    "-Xcompiler=-fPIC,-fno-exceptions,-fno-rtti,-w",
    "-w",
)

# What nvcc's host code calls by CUDA's names. The last one is what launches call when there is no
# newer one, which HIP lacks (crt/host_runtime.h, __NV_LEGACY_LAUNCH).
_HIP_OF_CUDA: Final = {
    "__cudaRegisterFatBinary": "__hipRegisterFatBinary",
    "__cudaUnregisterFatBinary": "__hipUnregisterFatBinary",
    "__cudaRegisterFunction": "__hipRegisterFunction",
    "__cudaRegisterVar": "__hipRegisterVar",
    "__cudaPushCallConfiguration": "__hipPushCallConfiguration",
    "__cudaPopCallConfiguration": "__hipPopCallConfiguration",
    "cudaLaunchKernel": "hipLaunchKernel",
}


def main() -> int:
    """Do what the command line asks for and return the exit status."""
    words = sys.argv[1:]
    try:
        if words in (["--version"], ["-version"]):
            print(f"HIP version: 7.0.0 (over CUDA {release()})")
            print(f"{_digest(_headers())}, sm_{capability()}")
            return 0
        return make(read_arguments(words))
    except subprocess.CalledProcessError as error:
        return error.returncode or 1
    except (UsageError, OSError) as error:
        print(f"hipcc: error: {error}", file=sys.stderr)
        return 1


def make(arguments: Arguments) -> int:
    """Compile one source.

    Raises:
        UsageError: more than one source, or something that is not compiled here.
        CalledProcessError: a compiler refuses; it has said why.
        OSError: there is no compiler, or a file cannot be read or written.
    """
    if arguments.mode is Mode.PREPROCESS:
        return 0 if set(arguments.archs) <= {ARCH} else 1
    if len(arguments.inputs) != 1:
        raise UsageError("one source at a time")
    source, output = Path(arguments.inputs[0]), Path(arguments.output)
    if arguments.has_no_kernels(str(source)):
        include = [f"-I{folder}" for folder in INCLUDE]
        options = ("-x", "c++", _HIP[-1], *arguments.compiling, *arguments.preprocessing, *include)
        subprocess.run(["g++", "-O2", "-w", *options, "-c", source, "-o", output], check=True)
    elif arguments.mode is Mode.DEVICE:
        compiled(source, ("-O3", f"-arch=sm_{capability()}", "-cubin"), output)
    elif arguments.mode is Mode.HOST:
        virtual = f"compute_{capability()}"
        legacy = "-Xcompiler=-D__NV_LEGACY_LAUNCH"
        host = ("-G", f"-gencode=arch={virtual},code={virtual}", "-c", legacy)
        compiled(source, host, output)
        embed(output, Path(arguments.bundle))
    else:
        raise UsageError(f"{arguments.mode.value} is not made here")
    return 0


def compiled(source: Path, options: tuple[str, ...], output: Path) -> None:
    """Let nvcc write ``output``, or take it from ``PORTKIT_NVIDIA_OBJECTS``, a folder.

    Objects in that folder are named after what they were made from, so that they may come from
    another machine.
    """
    include = [f"-I{folder}" for folder in (*INCLUDE, cuda() / "include" / "cccl")]
    flags = (*_NVCC, *_HIP, *_ARCH, *options)
    kept = os.environ.get("PORTKIT_NVIDIA_OBJECTS")
    place = None
    if kept:
        crate = next(each for each in source.resolve().parents if each.name == "src")
        seen = [*_headers(), source, *sorted(crate.rglob("*.h"))]
        key = _digest(seen, release(), *flags)
        place = Path(kept) / f"{source.stem}-{key}.o"
        if place.exists():
            shutil.copyfile(place, output)
            return
    nvcc = os.environ.get("NVCC", str(cuda() / "bin" / "nvcc"))
    subprocess.run([nvcc, *flags, *include, source, "-o", output], check=True)
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as part:
            part.write(output.read_bytes())
        Path(part.name).rename(place)


def embed(host_object: Path, bundle: Path) -> None:
    """Put a bundle in the place of the object's own code, and HIP's names in that of CUDA's."""
    renamed = [f"--redefine-sym={cuda}={hip}" for cuda, hip in _HIP_OF_CUDA.items()]
    update = f"--update-section=.nv_fatbin={bundle}"
    subprocess.run(["objcopy", update, *renamed, host_object], check=True)


def cuda() -> Path:
    """Return where the CUDA toolkit is: ``CUDA_HOME``, or the usual place."""
    return Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))


def capability() -> str:
    """Return for which GPUs code is made: ``CUDA_COMPUTE_CAP``, such as 90."""
    return os.environ.get("CUDA_COMPUTE_CAP", "90")


def release() -> str:
    """Return the release of the toolkit, such as 13.0, from the version of its headers."""
    for line in (cuda() / "include" / "cuda.h").read_text(encoding="utf-8").splitlines():
        if line.startswith("#define CUDA_VERSION "):
            number = int(line.split()[2])
            return f"{number // 1000}.{number % 1000 // 10}"
    raise UsageError(f"{cuda()}: cuda.h does not say which CUDA it is of")


def _headers() -> list[Path]:
    own, shared = INCLUDE
    api = (shared / "hip" / "hip_runtime_api.h", shared / "hipcpu" / "errors.def")
    return [*sorted(path for path in own.rglob("*") if path.is_file()), *api]


def _digest(files: list[Path], *words: str) -> str:
    digest = hashlib.sha256()
    for content in (*(word.encode() for word in words), *(path.read_bytes() for path in files)):
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
