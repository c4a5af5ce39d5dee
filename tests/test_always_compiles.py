"""Crates whose build script has CUDA's compiler run, whatever is built.

The tree is our own: ``hearth`` takes ``coal`` by its feature ``cuda``, and ``coal`` has kernels and
no bindings. docs/guide-codebase.md says under "CUDA-only crates" what is expected.
"""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest
from cli_support import add_file, commit, invoke

if TYPE_CHECKING:
    from pathlib import Path

BUILD = """\
fn main() {
    // cfg(feature = "cuda") is asked nowhere.
    bindgen_cuda::Builder::default().build_lib("libcoal.a");
    println!("cargo:rustc-link-lib=coal");
}
"""
FILES = {
    "Cargo.toml": """\
[package]
name = "hearth"
version = "0.1.0"
edition = "2021"

[dependencies]
coal = { path = "coal", version = "0.1.0", optional = true }
cudarc = { version = "0.19", optional = true }

[features]
cuda = ["dep:coal", "dep:cudarc"]
""",
    "src/lib.rs": """\
#[cfg(feature = "cuda")]
pub fn burn_cuda(slice: &cudarc::driver::CudaSlice<f32>) {
    unsafe { coal::burn(slice.len() as i64) }
}
""",
    "coal/Cargo.toml": """\
[package]
name = "coal"
version = "0.1.0"
edition = "2021"

[build-dependencies]
bindgen_cuda = "0.1.5"
""",
    "coal/build.rs": BUILD,
    "coal/src/lib.rs": 'extern "C" {\n    pub fn burn(n: i64);\n}\n',
    "coal/src/burn.cu": """\
__global__ void burning(long n) {}
extern "C" void burn(long n) { burning<<<1, 1>>>(n); }
""",
}
PROFILE = 'name = "hearth"\ncrate = "hearth"\nfirst_version = "0.1.0"\n'


def hearth(root: Path, *, profile: str = PROFILE, **changed: str) -> Path:
    """Make the tree, committed.

    Args:
        root: a folder that is not there yet.
        profile: the codebase's.
        changed: files with another text, called as in their path without what is no letter.
    """
    for path, text in FILES.items():
        name = "".join(c for c in path if c.isalpha())
        add_file(root, path, changed.get(name, text).encode())
    add_file(root, "port/codebase.toml", profile.encode())
    add_file(root, "portkit.toml", b'profile = "port"\n')
    commit(root)
    return root


def ported(root: Path) -> dict[str, dict[str, object]]:
    """Port a tree; return its manifest."""
    done = invoke("apply", root, "--no-format")
    assert done.code == 0, done.err
    return tomllib.loads((root / "Cargo.toml").read_text())


def sites(root: Path, applicability: str) -> list[tuple[str, str]]:
    """Return what a scan has of an applicability: the file, and what is said."""
    document = json.loads(invoke("scan", root, "--format", "json").out)
    found = [each for each in document["sites"] if each["applicability"] == applicability]
    return [(each["path"], each["message"]) for each in found]


def test_it_has_a_counterpart_with_the_bindings_of_the_port(tmp_path: Path) -> None:
    root = hearth(tmp_path / "hearth")
    assert ported(root)["features"]["rocm"] == ["dep:coal-rocm", "dep:hearth-hip"]
    made = tomllib.loads((root / "coal-rocm/Cargo.toml").read_text())
    assert made["dependencies"] == {"hearth-hip": {"path": "../hearth-hip", "version": "0.1.0"}}
    assert "hearth_hip::launchers! {\n" in (root / "coal-rocm/src/lib.rs").read_text()
    assert "coal_rocm::burn(slice.len() as i64)" in (root / "src/lib.rs").read_text()
    assert (root / "coal-rocm/src/burn.hip").is_file()
    assert not (root / "coal/src/burn.hip").exists()
    assert sites(root, "manual") == sites(root, "review") == []


@pytest.mark.parametrize("cudarc", ['cudarc = { version = "0.19", optional = true }\n', ""])
def test_without_bindings_its_build_script_is_for_a_person(tmp_path: Path, cudarc: str) -> None:
    manifest = FILES["Cargo.toml"].replace(', "dep:cudarc"', "")
    manifest = manifest.replace('cudarc = { version = "0.19", optional = true }\n', cudarc)
    code = FILES["src/lib.rs"].replace("&cudarc::driver::CudaSlice<f32>", "&[f32]")
    root = hearth(tmp_path / "hearth", Cargotoml=manifest, srclibrs=code)
    assert ported(root)["features"]["rocm"] == ["dep:coal-rocm"]
    # What nothing takes is not written.
    assert not (root / "hearth-hip").exists()
    [(path, said)] = sites(root, "manual")
    assert path == "coal/build.rs"
    assert "portkit.toml may say where they are: write coal-rocm/build.rs" in said


@pytest.mark.parametrize(
    "condition",
    ['if cfg!(feature = "kernels")', 'if std::env::var("CARGO_FEATURE_KERNELS").is_ok()'],
)
def test_what_asks_what_is_built_is_taken_as_it_is(tmp_path: Path, condition: str) -> None:
    build = BUILD.replace("bindgen_cuda", f"{condition} {{ return }}\n    bindgen_cuda", 1)
    root = hearth(tmp_path / "hearth", coalbuildrs=build)
    assert ported(root)["features"]["rocm"] == ["dep:coal", "dep:hearth-hip"]
    assert not (root / "coal-rocm").exists()


def test_cc_may_run_the_compiler(tmp_path: Path) -> None:
    build = 'fn main() {\n    cc::Build::new().cuda(true).file("src/burn.cu").compile("coal");\n}\n'
    manifest = FILES["coal/Cargo.toml"].replace("bindgen_cuda", "cc")
    root = hearth(tmp_path / "hearth", coalbuildrs=build, coalCargotoml=manifest)
    assert ported(root)["features"]["rocm"] == ["dep:coal-rocm", "dep:hearth-hip"]


def test_without_a_counterpart_the_feature_is_for_a_person(tmp_path: Path) -> None:
    beside = f'{PROFILE}\n[[hip_sources]]\nsource = "coal/src/*.cu"\nreason = "beside them"\n'
    root = hearth(tmp_path / "hearth", profile=beside)
    found = [said for path, said in sites(root, "review") if path == "Cargo.toml"]
    assert found == [
        "the feature rocm asks for the counterparts; coal compiles for CUDA in every build: see"
        " what ROCm has in its place, by hand"
    ]
    assert ported(root)["features"]["rocm"] == ["dep:hearth-hip"]
    assert not (root / "coal-rocm").exists()


def test_a_patch_of_the_profile_s_has_decided(tmp_path: Path) -> None:
    said = 'find = "fn main() {"\nwrite = "fn main() {\\n    // ROCm"\nreason = "ours"\n'
    patched = f'{PROFILE}\n[[patch]]\ncode = "PK109"\npath = "coal/build.rs"\n{said}'
    root = hearth(tmp_path / "hearth", profile=patched)
    assert ported(root)["features"]["rocm"] == ["dep:coal", "dep:hearth-hip"]
