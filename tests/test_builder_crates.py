"""CUDA-only crates that declare CUDA's API themselves and are built by a crate of the workspace.

The tree is a workspace of our own, forge. ``anvil`` builds CUDA sources for others, ``tongs``
declares functions of CUDA's runtime, and ``hammer`` has kernels and needs ``tongs``. None has a
feature for CUDA. Names of HIP's functions are those of HIP's porting tables.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from cli_support import add_file, commit, invoke
from tree_support import port_of

from portkit.port.whole_crates import find_whole_crates

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = '[package]\nname = "{}"\nversion = "0.3.0"\nedition = "2021"\n'
FILES = {
    "Cargo.toml": '[workspace]\nmembers = ["anvil", "tongs", "hammer", "shop"]\nresolver = "2"\n',
    "anvil/Cargo.toml": PACKAGE.format("forge-cuda-anvil") + '\n[dependencies]\ncc = "1"\n',
    "anvil/src/lib.rs": """\
use std::process::Command;

/// Whether CUDA is there.
pub fn has_cuda() -> bool {
    Command::new("nvcc").arg("--version").output().is_ok()
}

pub fn strike(name: &str, folder: &str) {
    let mut build = cc::Build::new();
    build.cuda(true);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "cu") {
            build.file(path);
        }
    }
    build.compile(name);
}
""",
    "tongs/Cargo.toml": PACKAGE.format("forge-cuda-tongs").replace(
        "edition", 'links = "cuda-tongs"\nedition'
    )
    + '\n[build-dependencies]\nforge-cuda-anvil = { path = "../anvil" }\n',
    "tongs/build.rs": """\
fn main() {
    forge_cuda_anvil::strike("grip", "cuda");
    println!("cargo::metadata=include=include");
}
""",
    "tongs/cuda/grip.cu": """\
#include "grip.cuh"
extern "C" int grip(void *p) { return cudaFree(p) == cudaSuccess; }
""",
    "tongs/cuda/grip.cuh": "#include <cuda_runtime.h>\n",
    "tongs/src/lib.rs": """\
use std::ffi::c_void;

#[link(name = "cudart")]
extern "C" {
    fn cudaFree(pointer: *mut c_void) -> i32;
    fn cudaStreamDestroy(stream: *mut c_void) -> i32;
}

pub fn release(pointer: *mut c_void) -> i32 {
    unsafe { cudaFree(pointer) }
}

pub fn end(stream: *mut c_void) -> i32 {
    unsafe { cudaStreamDestroy(stream) }
}
""",
    "hammer/Cargo.toml": PACKAGE.format("forge-hammer")
    + '\n[dependencies]\nforge-cuda-tongs = { path = "../tongs" }\n'
    + '\n[build-dependencies]\nforge-cuda-anvil = { path = "../anvil" }\n',
    "hammer/build.rs": """\
fn main() {
    let hot = std::env::var("CARGO_FEATURE_HOT").is_ok();
    println!("{:?} {hot}", std::env::var("DEP_CUDA_TONGS_INCLUDE"));
    forge_cuda_anvil::strike("blow", "cuda/src");
    println!("cargo::rerun-if-changed=cuda/src/blow.cu");
}
""",
    "hammer/cuda/src/blow.cu": """\
#include "../include/weight.h"
__global__ void blow(float *x) { x[threadIdx.x] *= WEIGHT; }
extern "C" void run_blow(float *x, cudaStream_t s) { blow<<<1, 32, 0, s>>>(x); }
""",
    "hammer/cuda/include/weight.h": "#define WEIGHT 2.0f\n",
    "hammer/src/lib.rs": """\
pub const SOURCE: &str = include_str!("../cuda/src/blow.cu");

extern "C" {
    fn run_blow(x: *mut f32, stream: *mut std::ffi::c_void);
}

pub fn blow(x: *mut f32) {
    unsafe { run_blow(x, std::ptr::null_mut()) }
}
""",
    "shop/Cargo.toml": PACKAGE.format("forge-shop")
    + """\

[features]
cuda = ["dep:forge-hammer"]

[dependencies]
forge-hammer = { path = "../hammer", optional = true }
""",
    "shop/src/lib.rs": """\
#[cfg(feature = "cuda")]
pub fn blow_cuda(x: *mut f32) {
    forge_hammer::blow(x)
}
""",
}


def forge(root: Path, **more: str) -> Path:
    for path, text in {**FILES, **more}.items():
        add_file(root, path, text.encode())
    commit(root)
    return root


@pytest.fixture(scope="module")
def ported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the port of forge; not to be written to."""
    root = forge(tmp_path_factory.mktemp("forge") / "forge")
    assert invoke("init", root, "--yes").code == 0
    commit(root)
    done = invoke("apply", root, "--no-format")
    assert done.code == 0, done.err
    return root


def whole_of(changed: dict[str, str]) -> dict[str, str]:
    job = port_of({path: text.encode() for path, text in {**FILES, **changed}.items()})
    return {w.name: w.copy for w in find_whole_crates(job.workspace, job.vendor, job.codebase)}


def test_a_crate_is_cuda_only_by_what_it_does() -> None:
    assert whole_of({}) == {
        "forge-cuda-anvil": "forge-rocm-anvil",
        "forge-cuda-tongs": "forge-rocm-tongs",
        "forge-hammer": "forge-hammer-rocm",
    }


def test_a_builder_that_another_crate_takes_too_is_shared() -> None:
    taken = FILES["shop/Cargo.toml"] + 'forge-cuda-anvil = { path = "../anvil" }\n'
    assert "forge-cuda-anvil" not in whole_of({"shop/Cargo.toml": taken})


def test_a_crate_of_tests_is_cuda_only_by_its_name() -> None:
    tested = '\n[dev-dependencies]\nforge-hammer = { path = "../hammer" }\n'
    members = FILES["Cargo.toml"].replace('"shop"', '"shop", "a", "b"')
    crates = {"a": "check-cuda", "b": "check-all"}
    manifests = {f"{n}/Cargo.toml": PACKAGE.format(c) + tested for n, c in crates.items()}
    found = whole_of({"Cargo.toml": members, **manifests, "a/src/lib.rs": "", "b/src/lib.rs": ""})
    assert found["check-cuda"] == "check-rocm"
    assert "check-all" not in found


@pytest.mark.parametrize(
    "library",
    [
        FILES["tongs/src/lib.rs"].replace("#[link", '#[cfg(feature = "gpu")]\n#[link'),
        '#[cfg(feature = "gpu")]\npub mod raw;\n',
    ],
    ids=["block", "module"],
)
def test_a_declaration_under_a_condition_makes_no_crate_cuda_only(library: str) -> None:
    changed = {
        "tongs/src/lib.rs": library,
        "tongs/src/raw.rs": FILES["tongs/src/lib.rs"] if "mod raw" in library else "",
        "tongs/build.rs": "fn main() {}\n",
        "tongs/Cargo.toml": PACKAGE.format("forge-cuda-tongs") + "\n[features]\ngpu = []\n",
    }
    found = whole_of(changed)
    assert "forge-cuda-tongs" not in found


def test_a_second_apply_writes_nothing(ported: Path) -> None:
    done = invoke("apply", ported, "--allow-dirty", "--check")
    assert (done.code, done.err) == (0, ""), done.out
    assert "-rocm-rocm" not in invoke("scan", ported, "--format", "json").out


def test_a_declared_function_is_hips(ported: Path) -> None:
    copy = ported / "rocm-tongs" if (ported / "rocm-tongs").is_dir() else ported / "tongs-rocm"
    text = (copy / "src/lib.rs").read_text()
    assert '#[link(name = "amdhip64")]' in text
    assert "fn hipFree(pointer: *mut c_void) -> i32;" in text
    assert "fn hipStreamDestroy(stream: *mut c_void) -> i32;" in text
    assert "unsafe { hipFree(pointer) }" in text


def test_kernels_are_translated_where_the_copies_name_them(ported: Path) -> None:
    hammer = ported / "hammer-rocm"
    assert 'include_str!("../rocm/src/blow.hip")' in (hammer / "src/lib.rs").read_text()
    assert "hipStream_t s" in (hammer / "rocm/src/blow.hip").read_text()
    assert (hammer / "rocm/include/weight.h").read_text() == "#define WEIGHT 2.0f\n"
    script = (hammer / "build.rs").read_text()
    assert 'forge_rocm_anvil::strike("blow", "rocm/src");' in script
    assert "rerun-if-changed=rocm/src" in script
    assert (ported / "tongs-rocm/rocm/grip.h").read_text().startswith("#include")
    assert 'ending == "hip"' in (ported / "anvil-rocm/src/lib.rs").read_text()


def test_a_build_script_finds_the_variables_of_the_counterpart(ported: Path) -> None:
    manifest = tomllib.loads((ported / "tongs-rocm/Cargo.toml").read_text())
    assert manifest["package"]["links"] == "rocm-tongs"
    assert "DEP_ROCM_TONGS_INCLUDE" in (ported / "hammer-rocm/build.rs").read_text()


def test_a_copy_that_runs_nvcc_is_for_a_person(tmp_path: Path) -> None:
    root = forge(tmp_path / "forge")
    assert invoke("init", root, "--yes").code == 0
    done = invoke("scan", root)
    assert "it runs nvcc" in " ".join(done.out.split())
