"""CUDA-only crates: the counterpart of each is a crate beside it.

The tree is a workspace of our own, kiln. ``glow`` takes cudarc whatever features are on, and has
launchers; ``flare`` needs ``glow``; ``slag`` asks for what cudarc has and the bindings have not;
``oven`` builds without CUDA, and takes ``glow`` by its feature. What is expected is what each file
says, under the names that docs/guide-codebase.md gives.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from typing import TYPE_CHECKING

import pytest
from cli_support import add_file, commit, invoke
from tree_support import port_of

from portkit.port.whole_crates import find_whole_crates

if TYPE_CHECKING:
    from pathlib import Path

ROOT = """\
[workspace]
members = ["glow", "flare", "slag", "oven"]
resolver = "2"

[workspace.package]
version = "0.2.0"

[workspace.dependencies]
cudarc = { version = "0.19", features = ["driver"] }
glow = { path = "glow", version = "0.2.0" }
"""
PACKAGE = '[package]\nname = "{}"\nversion.workspace = true\nedition = "2021"\n'
GLOW = (
    PACKAGE.format("glow")
    + """\
description = "Glow on CUDA."
keywords = ["cuda", "glow"]
readme = "README.md"

[dependencies]
cudarc = { workspace = true }

[build-dependencies]
bindgen_cuda = "0.1"
"""
)
LIB = """\
//! Glow on a CUDA device.
mod ffi;
mod cuda;

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE;
use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
use cudarc::driver::CudaContext;

pub fn warp(context: &CudaContext) -> i32 {
    context.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE).unwrap_or(32)
}

pub fn units(context: &CudaContext) -> i32 {
    context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).unwrap_or(1)
}

pub fn glow(n: i32) {
    unsafe { ffi::glow_all(std::ptr::null_mut(), n) }
}
"""
FFI = """\
use core::ffi::c_void;

extern "C" {
    // One thread a value.
    pub(crate) fn glow_all(values: *mut c_void, n: i32);
    pub fn glow_none(n: i32) -> i32;
}
"""
BUILD = """\
fn main() {
    let builder = bindgen_cuda::Builder::default().kernel_paths(vec!["kernels/glow.cu"]);
    builder.build_lib("libglow.a");
    println!("cargo:rustc-link-lib=glow");
    println!("cargo:rustc-link-lib=dylib=stdc++");
}
"""
KERNEL = """\
#include <cuda_fp16.h>
#include "glow.h"

__global__ void glowing(half *values, int n) {
  if (threadIdx.x < n) values[threadIdx.x] = GLOW;
}
extern "C" void glow_all(void *values, int n) {
  cudaStream_t stream = 0;
  glowing<<<1, n, 0, stream>>>((half *)values, n);
}
extern "C" int glow_none(int n) { return n; }
"""
FILES = {
    "Cargo.toml": ROOT,
    "glow/Cargo.toml": GLOW,
    "glow/src/lib.rs": LIB,
    "glow/src/cuda.rs": 'pub const NAME: &str = concat!("a ", stringify!(CudaSlice));\n',
    "glow/src/ffi.rs": FFI,
    "glow/build.rs": BUILD,
    "glow/kernels/glow.cu": KERNEL,
    "glow/kernels/glow.h": "#include <cuda_bf16.h>\n#define GLOW half(1)\n",
    "glow/tests/warps.rs": "#[test]\nfn warps() {\n    glow::glow(0);\n}\n",
    "flare/Cargo.toml": PACKAGE.format("flare") + "\n[dependencies]\nglow.workspace = true\n",
    "flare/src/lib.rs": "pub use glow::glow as flare;\n",
    "slag/Cargo.toml": PACKAGE.format("slag")
    + '\n[dependencies]\ncudarc = { workspace = true, features = ["cublaslt"] }\n',
    "slag/src/lib.rs": "pub use cudarc::cublaslt::CudaBlasLT;\n",
    "oven/Cargo.toml": PACKAGE.format("oven")
    + """\

[features]
cuda = ["dep:glow"]

[dependencies]
glow = { workspace = true, optional = true }
""",
    "oven/src/lib.rs": """\
#[cfg(feature = "cuda")]
pub fn bake_cuda(n: i32) {
    glow::glow(n)
}
""",
}
PROFILE = 'name = "kiln"\ncrate = "oven"\nfirst_version = "0.2.0"\n'


def kiln(root: Path, **changed: str) -> Path:
    """Make the tree, committed; files are named by their path, with ``__`` for what is no letter.

    Args:
        root: a folder that is not there yet.
        changed: files with another text.
    """
    for path, text in FILES.items():
        name = "".join(c if c.isalpha() else "__" for c in path)
        add_file(root, path, changed.get(name, text).encode())
    add_file(root, "port/codebase.toml", PROFILE.encode())
    add_file(root, "portkit.toml", b'profile = "port"\n')
    commit(root)
    return root


@pytest.fixture(scope="module")
def ported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the port of kiln; not to be written to."""
    root = kiln(tmp_path_factory.mktemp("kiln") / "kiln")
    done = invoke("apply", root, "--no-format")
    assert done.code == 0, done.err
    return root


def manifest(root: Path, crate: str) -> dict[str, object]:
    return tomllib.loads((root / crate / "Cargo.toml").read_text())


def test_every_mention_is_accounted_for_and_nothing_is_for_a_person(tmp_path: Path) -> None:
    done = invoke("scan", kiln(tmp_path / "kiln"), "--format", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    assert [s for s in document["sites"] if s["applicability"] in ("manual", "review")] == []


def test_the_crate_itself_stays_as_it_is(ported: Path) -> None:
    for path, text in FILES.items():
        if path.startswith(("glow/", "flare/", "slag/")):
            assert (ported / path).read_text() == text, path
    assert not (ported / "glow" / "kernels" / "glow.hip").exists()


def test_a_second_apply_writes_nothing(ported: Path) -> None:
    done = invoke("apply", ported, "--allow-dirty", "--check")
    assert (done.code, done.err) == (0, ""), done.out


def test_cargo_builds_what_it_built_before(ported: Path) -> None:
    workspace = manifest(ported, ".")["workspace"]
    assert isinstance(workspace, dict)
    before = ["glow", "flare", "slag", "oven"]
    assert workspace["default-members"] == before
    assert workspace["members"] == [*before, "kiln-hip", "flare-rocm", "glow-rocm"]


def test_the_manifest_asks_for_the_counterparts(ported: Path) -> None:
    assert manifest(ported, "glow-rocm") == {
        "package": {
            "name": "glow-rocm",
            "version": {"workspace": True},
            "edition": "2021",
            "description": "Glow on ROCm.",
            "keywords": ["glow"],
        },
        "dependencies": {"kiln-hip": {"path": "../kiln-hip", "version": "0.2.0"}},
    }
    assert manifest(ported, "flare-rocm")["dependencies"] == {
        "glow-rocm": {"path": "../glow-rocm", "version": "0.2.0"}
    }


def test_rust_files_are_copies(ported: Path) -> None:
    copy = (ported / "glow-rocm/src/lib.rs").read_text()
    assert "//! Glow on a ROCm device.\nmod ffi;\nmod rocm;\n" in copy
    assert "use kiln_hip::driver::HipContext;" in copy
    assert "stringify!(HipSlice)" in (ported / "glow-rocm/src/rocm.rs").read_text()
    assert not (ported / "glow-rocm/src/cuda.rs").exists()
    assert "glow_rocm::glow(0)" in (ported / "glow-rocm/tests/warps.rs").read_text()
    assert (ported / "flare-rocm/src/lib.rs").read_text() == "pub use glow_rocm::glow as flare;\n"


def test_a_value_of_an_enum_is_named_through_its_type(ported: Path) -> None:
    copy = (ported / "glow-rocm/src/lib.rs").read_text()
    assert copy.count("use kiln_hip::driver::sys::hipDeviceAttribute_t;\n") == 1
    assert ".attribute(hipDeviceAttribute_t::hipDeviceAttributeMultiprocessorCount)" in copy
    assert ".attribute(hipDeviceAttribute_t::hipDeviceAttributeWarpSize)" in copy


def test_launchers_are_declared_with_a_prefix_of_their_own(ported: Path) -> None:
    copy = (ported / "glow-rocm/src/ffi.rs").read_text()
    head = 'kiln_hip::launchers! {\n    "glow_rocm_", built::ARCHS, built::ADVICE;\n'
    assert head in copy
    assert "    pub fn glow_all(values: *mut c_void, n: i32);\n" in copy
    assert "    pub fn glow_none(n: i32) -> i32;\n" in copy
    assert "extern" not in copy


def test_the_build_script_has_hipcc_compile_the_translations(ported: Path) -> None:
    script = (ported / "glow-rocm/build.rs").read_text()
    assert 'variables: "GLOW_ROCM"' in script
    assert '    "glow",\n    "launchers",\n' in script
    assert "rustc-link-lib=dylib=stdc++" in script
    # What is said for the codebase counts for each of its crates.
    assert '"KILN_ROCM_{name}"' in script
    kernels = ported / "glow-rocm/kernels"
    assert "hipStream_t stream" in (kernels / "glow.hip").read_text()
    assert "#include <hip/hip_bf16.h>" in (kernels / "glow.h").read_text()
    for name in ("hip_runtime.cpp", "launchers.hip", "hipx.h"):
        assert (kernels / name).is_file()
    assert (ported / "glow-rocm/kernels/mod.rs").is_file()


def test_who_takes_it_by_a_feature_takes_the_counterpart(ported: Path) -> None:
    said = manifest(ported, "oven")
    assert said["features"] == {"cuda": ["dep:glow"], "rocm": ["dep:glow-rocm"]}
    dependencies = said["dependencies"]
    assert isinstance(dependencies, dict)
    assert dependencies["glow-rocm"]["optional"] is True
    assert "    glow_rocm::glow(n)\n" in (ported / "oven/src/lib.rs").read_text()


def test_a_counterpart_is_asked_for_where_it_lies(tmp_path: Path) -> None:
    package = '[package]\nname = "{}"\nversion = "{}"\nedition = "2021"\n\n'
    files = {
        "Cargo.toml": '[workspace]\nmembers = ["apps/oven", "lib/deep/glow"]\nresolver = "2"\n',
        "lib/deep/glow/Cargo.toml": package.format("glow", "0.1.5")
        + '[features]\nhot = []\n\n[dependencies]\ncudarc = { version = "0.19" }\n',
        "lib/deep/glow/src/lib.rs": "pub use cudarc::driver::CudaContext;\n",
        "apps/oven/Cargo.toml": package.format("oven", "0.2.0")
        + '[features]\ncuda = ["dep:glow"]\n\n[dependencies]\n'
        'glow = { path = "../../lib/deep/glow", version = "0.1", default-features = false,'
        ' features = ["hot"], optional = true }\n',
        "apps/oven/src/lib.rs": FILES["oven/src/lib.rs"].replace("glow::glow(n)", "glow::glow(n);"),
        "port/codebase.toml": PROFILE,
        "portkit.toml": 'profile = "port"\n',
    }
    for path, text in files.items():
        add_file(tmp_path, path, text.encode())
    commit(tmp_path)
    done = invoke("apply", tmp_path, "--no-format")
    assert done.code == 0, done.err
    dependencies = manifest(tmp_path, "apps/oven")["dependencies"]
    assert isinstance(dependencies, dict)
    asked = {k: v for k, v in dependencies["glow"].items() if k != "path"}
    place = "../../lib/deep/glow-rocm"
    assert dependencies["glow-rocm"] == {"path": place, **asked}
    assert manifest(tmp_path / "apps/oven" / place, ".")["package"] == {
        "name": "glow-rocm",
        "version": "0.1.5",
        "edition": "2021",
    }


def test_what_has_no_counterpart_is_left_alone_for_a_reason(tmp_path: Path) -> None:
    done = invoke("scan", kiln(tmp_path / "kiln"), "--format", "json", "--all")
    sites = [s for s in json.loads(done.out)["sites"] if s["path"].startswith("slag/")]
    assert {site["applicability"] for site in sites} == {"keep"}
    assert all("cuBLASLt" in site["message"] for site in sites)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"glow__build__rs": BUILD.replace("kernels/glow.cu", "kernels/dim.cu")}, "in one folder"),
        ({"glow__src__ffi__rs": FFI.replace("pub fn", '#[link_name = "none"] pub fn')}, "own"),
        ({"glow__src__ffi__rs": "\n"}, "not one of its files alone declares"),
    ],
)
def test_a_build_script_that_nothing_is_derived_from_is_for_a_person(
    tmp_path: Path, changed: dict[str, str], said: str
) -> None:
    root = kiln(tmp_path / "kiln", **changed)
    done = invoke("scan", root, "--format", "json")
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    [manual] = [site for site in document["sites"] if site["applicability"] == "manual"]
    assert manual["path"] == "glow/build.rs"
    assert said in manual["message"]
    assert "write glow-rocm/build.rs" in manual["message"]


def test_a_function_of_the_runtime_that_is_not_handed_on_is_named(tmp_path: Path) -> None:
    called = KERNEL.replace(
        "cudaStream_t stream = 0;", "cudaStream_t stream = 0; cudaDeviceReset();"
    )
    root = kiln(tmp_path / "kiln", glow__kernels__glow__cu=called)
    done = invoke("scan", root, "--kernels", "--format", "json")
    found = [s for s in json.loads(done.out)["sites"] if s["symbol"] == "hipDeviceReset"]
    [manual] = [site for site in found if site["applicability"] == "manual"]
    assert manual["path"] == "glow/kernels/glow.cu"
    assert "does not hand hipDeviceReset on" in manual["message"]


def test_init_says_what_is_derived(tmp_path: Path) -> None:
    root = kiln(tmp_path / "kiln")
    (root / "portkit.toml").unlink()
    shutil.rmtree(root / "port")
    done = invoke("init", root, "--yes")
    assert done.code == 0, done.err
    profile = (root / "port/codebase.toml").read_text()
    assert "glow is CUDA's as a whole: glow-rocm is its counterpart" in profile
    assert "slag is CUDA's as a whole: what cuBLASLt is asked for" in profile
    assert "hip_sources" not in profile


def whole_of(tree: dict[str, str]) -> dict[str, str]:
    """Return the crates of a tree that are CUDA's as a whole, each with its counterpart."""
    job = port_of({path: text.encode() for path, text in tree.items()})
    return {w.name: w.copy for w in find_whole_crates(job.workspace, job.vendor, job.codebase)}


SERVE = {
    "Cargo.toml": '[workspace]\nmembers = ["core", "serve"]\n\n'
    '[workspace.dependencies]\ncore = { path = "core", features = ["cuda"] }\n',
    "core/Cargo.toml": '[package]\nname = "core"\n\n[features]\ncuda = []\n',
    "core/src/lib.rs": "pub enum Device {\n    Cuda(usize),\n}\n",
    "serve/Cargo.toml": '[package]\nname = "serve"\n\n[dependencies]\ncore.workspace = true\n',
}


def test_an_arm_for_cuda_makes_no_crate_cuda_only() -> None:
    """A copy of it would lack the arm for CUDA, and it the arm for ROCm (rustc: E0004)."""
    arm = "pub fn f(d: core::Device) {\n    match d {\n        core::Device::Cuda(_) => {}\n    }\n"
    assert whole_of({**SERVE, "serve/src/lib.rs": arm + "}\n"}) == {}
    use = "pub fn f() {\n    core::cuda_backend::start()\n}\n"
    assert whole_of({**SERVE, "serve/src/lib.rs": use}) == {"serve": "serve-rocm"}


def test_two_crates_have_counterparts_of_two_names() -> None:
    manifest = '[package]\nname = "{}"\n\n[dependencies]\ncudarc = "0.19"\n'
    crates = ("tract", "tract-cuda")
    found = whole_of(
        {
            "Cargo.toml": '[workspace]\nmembers = ["tract", "tract-cuda"]\n',
            **{f"{name}/Cargo.toml": manifest.format(name) for name in crates},
            **{f"{name}/src/lib.rs": "" for name in crates},
        }
    )
    assert found == {"tract": "rocm-tract", "tract-cuda": "tract-rocm"}
