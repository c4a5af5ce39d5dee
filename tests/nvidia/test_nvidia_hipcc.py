"""hipcc over nvcc: what it asks nvcc for, and what it makes of the answer."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HARNESS = ROOT / "ci" / "nvidia"
FACADE = ROOT / "crates" / "hip" / "src"

# Writes what it is asked for beside itself, and an object where it is told to.
NVCC = """\
#!/bin/sh
for word in "$@"; do echo "$word"; done > "$(dirname "$0")/asked"
echo once >> "$(dirname "$0")/calls"
while [ "$1" != -o ]; do shift; done
cp "$(dirname "$0")/object" "$2"
"""

KERNEL = ("-c", "-O3", "-std=c++17", "--offload-device-only", "--no-gpu-bundle-output")
LAUNCHER = ("-c", "-O3", "-std=c++17", "-fPIC", "--offload-host-only", "-Xclang")


@pytest.fixture
def cuda(tmp_path: Path) -> Path:
    """A CUDA toolkit whose compiler copies a file."""
    home = tmp_path / "cuda"
    (home / "bin").mkdir(parents=True)
    (home / "include").mkdir()
    (home / "include" / "cuda.h").write_text("#define CUDA_VERSION 13000\n")
    nvcc = home / "bin" / "nvcc"
    nvcc.write_text(NVCC)
    nvcc.chmod(0o755)
    (home / "bin" / "object").write_text("code")
    source = tmp_path / "crate" / "src" / "sort.hip"
    source.parent.mkdir(parents=True)
    source.write_text("__global__ void k() {}\n")
    return home


def hipcc(cuda: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "CUDA_HOME": str(cuda), **variables}
    command = (sys.executable, "-S", "-E", str(HARNESS / "hipcc.py"), *words)
    folder = cuda.parent / "crate"
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def asked(cuda: Path) -> list[str]:
    return (cuda / "bin" / "asked").read_text().splitlines()


def test_kernels_become_machine_code_of_the_gpu(cuda: Path) -> None:
    done = hipcc(cuda, *KERNEL, "--offload-arch=gfx1030", "src/sort.hip", "-o", "sort.o")
    assert done.returncode == 0, done.stderr
    assert (cuda.parent / "crate" / "sort.o").read_text() == "code"
    words = asked(cuda)
    assert "-cubin" in words and "-arch=sm_90" in words
    assert {"-D__HIP_PLATFORM_AMD__=1", "-D__gfx1030__=1"} <= set(words)


def test_the_capability_is_the_users(cuda: Path) -> None:
    hipcc(cuda, *KERNEL, "src/sort.hip", "-o", "sort.o", CUDA_COMPUTE_CAP="80")
    assert "-arch=sm_80" in asked(cuda)


def test_objects_are_kept_by_what_they_are_made_from(cuda: Path) -> None:
    kept = {"PORTKIT_NVIDIA_OBJECTS": str(cuda.parent / "kept")}
    calls = cuda / "bin" / "calls"
    for _ in range(2):
        hipcc(cuda, *KERNEL, "src/sort.hip", "-o", "sort.o", **kept)
    assert calls.read_text() == "once\n"
    header = cuda.parent / "crate" / "src" / "sort.h"
    header.write_text("// one more\n")
    hipcc(cuda, *KERNEL, "src/sort.hip", "-o", "sort.o", **kept)
    assert calls.read_text() == "once\nonce\n"


def test_it_knows_one_architecture(cuda: Path) -> None:
    words = ("-x", "hip", "--offload-device-only", "-E", "/dev/null")
    assert hipcc(cuda, *words, "--offload-arch=gfx1030").returncode == 0
    assert hipcc(cuda, *words, "--offload-arch=gfx12-generic").returncode == 1


def test_what_is_not_understood_is_an_error(cuda: Path) -> None:
    done = hipcc(cuda, "-c", "--no-such-option", "src/sort.hip")
    assert done.returncode == 1
    assert "--no-such-option" in done.stderr


@pytest.mark.real
def test_launchers_call_hip_and_hold_the_bundle(cuda: Path) -> None:
    text = """
    extern void __cudaRegisterFatBinary(void), __cudaRegisterFunction(void), cudaLaunchKernel(void);
    __attribute__((section(".nv_fatbin"))) char code[] = "unoptimized";
    void f(void) { __cudaRegisterFatBinary(); __cudaRegisterFunction(); cudaLaunchKernel(); }
    """
    source = cuda.parent / "host.c"
    source.write_text(text)
    subprocess.run(["gcc", "-c", source, "-o", cuda / "bin" / "object"], check=True)
    bundle = cuda.parent / "bundle"
    bundle.write_text("the bundle, longer than what it replaces")
    words = ("-fcuda-include-gpubinary", "-Xclang", str(bundle), "src/sort.hip", "-o", "sort.o")
    done = hipcc(cuda, *LAUNCHER, *words)
    assert done.returncode == 0, done.stderr
    made = cuda.parent / "crate" / "sort.o"
    needed = subprocess.run(["nm", "-u", made], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"U (\w+)", needed) == [
        "__hipRegisterFatBinary",
        "__hipRegisterFunction",
        "hipLaunchKernel",
    ]
    dump = ("objcopy", "--dump-section", ".nv_fatbin=/dev/stdout", str(made), "/dev/null")
    section = subprocess.run(dump, capture_output=True, check=True).stdout
    assert section == bundle.read_bytes()


def functions(library: str) -> set[str]:
    """The functions that the facade looks up in a library."""
    folder = {"amdhip64": "driver", "rocblas": "rocblas", "hiprand": "hiprand"}[library]
    text = (FACADE / folder / "sys.rs").read_text()
    return set(re.findall(r"^    fn ((?:hip|rocblas)\w+)\(", text, re.MULTILINE))


@pytest.mark.parametrize("library", ["amdhip64", "rocblas", "hiprand"])
def test_every_function_that_the_facade_calls_is_there(library: str) -> None:
    sources = [*(HARNESS / "src").glob("*.cpp")]
    sources.append(ROOT / "device" / "src" / "runtime" / "error.cpp")
    text = "\n".join(path.read_text() for path in sources)
    text = text.replace("hipGetDeviceProperties", "hipGetDevicePropertiesR0600")
    for letter in "sd":  # one macro makes a function of each precision
        text += text.replace("rocblas_##s##", f"rocblas_{letter}")
    defined = set(re.findall(r"\b((?:hip|rocblas|hiprand)\w+) ?\(", text))
    wanted = functions(library)
    assert len(wanted) > 10
    assert wanted <= defined
