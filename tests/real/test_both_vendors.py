"""Programs with CUDA and ROCm, linked and run: on the CPU device, beside a CUDA without a GPU.

On an NVIDIA GPU ``ci/nvidia`` runs the same program with both backends at work.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_support import environment
from cuda_installation import ROOT, without_gpu
from port_of_candle import PRODUCTS

from portkit.cache import cache_folder
from portkit.codebases.registry import find_codebase
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.device.toolkit import build_toolkit
from portkit.numerics.program_crate import place_program
from portkit.profiles.profile import load_codebase
from portkit.verify.device_choice import ARCH_OF_WAVE, list_build_variables
from portkit.verify.settings import load_settings
from tools.proof.versions.asked import WITHOUT_OPENSSL

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(PRODUCTS)]

VERSION = "0.11.1"
FUNCTIONS = ROOT / "reports" / "kernels" / VERSION / "launchers.txt"
EVERYTHING = "cuda,cudnn,flash-attn,rocm,miopen,rccl,rocm-flash-attn"
"""Each vendor with what a feature adds to it."""
VENDORS = Path(__file__).parent / "vendors"
MANIFEST = """[package]
name = "launchers"
version = "0.1.0"
edition = "2021"

[dependencies]
candle-kernels = {{ path = "{tree}/candle-kernels" }}
candle-rocm-kernels = {{ path = "{tree}/candle-rocm-kernels" }}

[workspace]
"""
PROGRAM = """//! Calls CUDA's launchers, and says which of ROCm's are no other functions.

use candle_rocm_kernels as _;

macro_rules! both {{
    ($($name:ident)*) => {{
        mod rocm {{
            extern "C" {{
                $(#[link_name = concat!("candle_rocm_", stringify!($name))] pub fn $name();)*
            }}
        }}
        fn main() {{
            $(
                let cuda = candle_kernels::ffi::$name as *const ();
                if cuda == rocm::$name as *const () {{
                    println!("one {{}}", stringify!($name));
                }}
                // SAFETY: the stand-in for nvcc makes it so.
                let cuda = unsafe {{ std::mem::transmute::<*const (), extern "C" fn()>(cuda) }};
                cuda();
            )*
        }}
    }};
}}

both! {{
    {names}
}}
"""


def both(cuda: dict[str, str]) -> dict[str, str]:
    """Return the environment for programs with CUDA's stand-in and the CPU device."""
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    settings = load_settings(load_codebase(find_codebase("candle")))
    base = environment() | cuda
    device = build_toolkit().environment(arch=ARCH_OF_WAVE[32], base=base)
    return {
        **device,
        **list_build_variables(settings, ARCH_OF_WAVE.values()),
        "CARGO_TARGET_DIR": str(cache_folder() / "target" / "vendors"),
    }


def run(tree: Path, crate: Path, *arguments: str, **settings: str) -> str:
    """Run the program of a crate beside a port, which succeeds, and return what it printed."""
    told = both(without_gpu(tree, FUNCTIONS)) | settings
    done = subprocess.run(
        ("cargo", "run", "--quiet", "--", *arguments),
        cwd=crate,
        env=told,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
def test_the_linker_gives_each_vendor_its_own_launchers(
    ported: Callable[[str], Path], tmp_path: Path
) -> None:
    tree = ported(VERSION)
    declared = (tree / "candle-kernels/src/ffi.rs").read_text()
    # What cutile alone declares is not linked without it.
    names = [
        name
        for name in re.findall(r"^    pub fn (\w+)\(", declared, re.MULTILINE)
        if name != "candle_launch_moe_align"
    ]
    crate = tmp_path / "launchers"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text(MANIFEST.format(tree=tree))
    (crate / "src/main.rs").write_text(PROGRAM.format(names="\n    ".join(names)))
    assert sorted(run(tree, crate).splitlines()) == sorted(f"cuda {name}" for name in names)


@pytest.mark.slow
@pytest.mark.network
def test_the_whole_workspace_type_checks_with_both_vendors_and_every_library(
    ported: Callable[[str], Path],
) -> None:
    """But NCCL's, with which upstream's example of several processes does not (docs/limits.md).

    Upstream's build script of flash attention clones CUTLASS, or what ``PORTKIT_CUTLASS`` names.
    """
    tree, cutlass = ported(VERSION), "https://github.com/NVIDIA/cutlass.git"
    clone = os.environ.get("PORTKIT_CUTLASS", cutlass)
    asked = subprocess.run(
        ("git", "ls-remote", clone, "HEAD"), capture_output=True, text=True, check=False
    )
    if asked.returncode:
        pytest.skip(f"CUTLASS is not to be had: {asked.stderr.strip()[-300:]}")
    taken = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{clone}.insteadOf",
        "GIT_CONFIG_VALUE_0": cutlass,
    }
    told = both(without_gpu(tree, FUNCTIONS)) | WITHOUT_OPENSSL | taken
    done = subprocess.run(
        ("cargo", "check", "--workspace", "--all-targets", "--features", EVERYTHING),
        cwd=tree,
        env=told | {"CANDLE_ROCM_KERNELS": "none"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]


@pytest.mark.slow
@pytest.mark.parametrize("wave", [32, 64])
def test_rocm_computes_in_a_program_with_cuda_that_finds_no_gpu(
    ported: Callable[[str], Path], tmp_path: Path, wave: int
) -> None:
    tree = ported(VERSION)
    crate = place_program(tree, "candle", tmp_path, VENDORS)
    printed = run(tree, crate, "alone", PORTKIT_DEVICE_ARCH=ARCH_OF_WAVE[wave])
    assert printed.count("computes what it should") == 2
    assert "CUDA_ERROR_NO_DEVICE" in printed
    assert "no CUDA-capable device is detected" in printed
