"""The bindings that a codebase below a tree hands out, and what paths to them become."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tree_support import MANIFEST, PROFILE, workspace_of

from portkit.context.port_job import Gating, PortJob
from portkit.engine.dependency_ports import add_dependency_ports
from portkit.engine.scan import scan_workspace
from portkit.port.adapted_profiles import adapt_to_cudarc
from portkit.port.reexported_bindings import adapt_to_file, find_reexported_bindings
from portkit.profiles.profile import load_vendor, parse_codebase
from portkit.rules.file_rules import COPIED_FILE_CODE as COPIED
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from pathlib import Path

OWN = 'cudarc = "0.17"\n'
NEW = 'candle-core = "0.9.1"\n'
OLD = 'candle-core = "0.8.4"\n'
FORK = 'candle-core = { git = "https://example.org/candle", version = "0.8.4" }\n'
LOCK = """
[[package]]
name = "candle-core"
version = "0.8.4"
dependencies = ["cudarc VERSION", "half"]

[[package]]
name = "cudarc"
version = "VERSION"

[[package]]
name = "cudarc"
version = "0.9.15"
"""


def job_of(
    dependencies: str,
    code: str = "",
    *,
    root: Path | None = None,
    bindings: str = "own-hip",
    words: dict[str, str] | None = None,
) -> PortJob:
    """Return the job of porting a crate on candle, whose bindings are candle's or its own."""
    manifest = MANIFEST + b"[dependencies]\n" + dependencies.encode()
    tree = {"Cargo.toml": manifest, "src/lib.rs": code.encode()}
    said = {**PROFILE, "uses": ["candle"], "bindings": bindings, "names": {"words": words or {}}}
    codebase = add_dependency_ports(parse_codebase(said), "rocm")
    workspace = workspace_of(tree, *([root] if root else []))
    vendor = find_reexported_bindings(
        adapt_to_cudarc(load_vendor("rocm", codebase), workspace), workspace, codebase
    )
    return PortJob(workspace, vendor, codebase, Gating.DUMMY)


def renamed(dependencies: str, code: str, text: str) -> str:
    """Return what a text of a file with some code becomes."""
    job = job_of(dependencies, code)
    return adapt_to_file(job, job.workspace.sources["src/lib.rs"]).rename(text)


@pytest.mark.parametrize(
    ("path", "copy"),
    [
        (
            "candle_core::cuda_backend::cudarc::driver::DevicePtr",
            "candle_core::rocm_backend::candle_hip::driver::DevicePtr",
        ),
        ("use candle_core::cuda::cudarc;", "use candle_core::rocm::candle_hip;"),
        (
            "use candle_core::cuda_backend::{cudarc, WrapErr};",
            "use candle_core::rocm_backend::{candle_hip, WrapErr};",
        ),
        (
            "use ::candle_core::{Device, cuda_backend::{WrapErr, cudarc::{driver::CudaSlice}}};",
            "use ::candle_core::{Device, rocm_backend::{WrapErr, candle_hip::{driver::HipSlice}}};",
        ),
        # What is the tree's own stays so.
        ("cudarc::driver::CudaSlice", "own_hip::driver::HipSlice"),
        ("crate::cudarc::driver::X", "crate::own_hip::driver::X"),
        ("f(candle_core::x, cudarc::y)", "f(candle_core::x, own_hip::y)"),
        ("candle_core::f({ cudarc::y })", "candle_core::f({ own_hip::y })"),
        ("use {candle_core::x, cudarc::y};", "use {candle_core::x, own_hip::y};"),
        ("other::cuda_backend::cudarc::driver", "other::rocm_backend::own_hip::driver"),
    ],
)
def test_behind_a_crate_from_below_the_bindings_are_those_from_there(path: str, copy: str) -> None:
    assert renamed(NEW + OWN, "", path) == copy


def test_a_crate_may_have_another_name_in_the_tree() -> None:
    called = 'candle = { package = "candle-core", version = "0.9" }\n'
    path = "candle::cuda_backend::cudarc::driver"
    assert renamed(called + OWN, "", path) == "candle::rocm_backend::candle_hip::driver"


@pytest.mark.parametrize(
    ("imports", "text", "copy"),
    [
        ("use candle_core::cuda_backend::cudarc;", "cudarc::driver::X", "candle_hip::driver::X"),
        (
            "use candle_core::cuda_backend;",
            "cuda_backend::cudarc::x",
            "rocm_backend::candle_hip::x",
        ),
        ("use candle_core::{cuda_backend as c, Device};", "c::cudarc::x", "c::candle_hip::x"),
        (
            "use candle_core as a; use a::cuda_backend::{self as b};",
            "b::cudarc::x",
            "b::candle_hip::x",
        ),
        ("use crate::x; // use candle_core::cuda_backend::cudarc;", "cudarc::x", "own_hip::x"),
        ("use cudarc::driver;", "cudarc::x", "own_hip::x"),
    ],
)
def test_imports_of_a_file_tell_whose_the_bindings_are(imports: str, text: str, copy: str) -> None:
    assert renamed(NEW + OWN, f"{imports} fn f() {{ cudarc::x() }}", text) == copy


def test_a_crate_without_such_a_dependency_has_those_from_below() -> None:
    use = "use candle_core::cuda_backend::*;\n"
    assert renamed(NEW, f"{use}fn f() {{ cudarc::x() }}", "cudarc::x()") == "candle_hip::x()"
    own = "use gpu::cudarc;\nfn f() { cudarc::x() }"
    assert renamed(NEW, own, "cudarc::x()") == "own_hip::x()"


@pytest.mark.parametrize(
    ("asked", "module"),
    [
        (OLD, "candle_hip::older"),
        (NEW, "candle_hip"),
        ('candle-core = "0.8"\n', "candle_hip::older"),
        ('candle-core = "=0.9.0"\n', "candle_hip"),
        ('candle-core = "~0.8.1"\n', "candle_hip::older"),
        ('[workspace.dependencies]\ncandle-core = "0.8"\n', "candle_hip::older"),
        (
            'candle-core = { version = "0.8", optional = true }\ncandle-nn = "0.8.4"\n',
            "candle_hip::older",
        ),
    ],
)
def test_the_version_below_tells_the_shape(asked: str, module: str) -> None:
    job = job_of(asked)
    assert job.rename("candle_core::cuda::cudarc::driver::X") == (
        f"candle_core::rocm::{module}::driver::X"
    )
    assert not job.vendor.unsettled
    # With none of its own, the tree has the same by whatever way.
    assert (
        job_of(asked, bindings="candle-hip").rename("cudarc::driver::X") == f"{module}::driver::X"
    )


@pytest.mark.parametrize(
    "asked",
    [
        FORK,
        'candle-core = { path = "../nowhere" }\n',
        'candle-core = "*"\n',
        'candle-core = ">=0.8, <0.10"\n',
        'candle-core = "0"\n',
        'candle-core = "0.6"\n',
        'candle-core = "0.8.4"\ncandle-nn = "0.9.1"\n',
        f'{OLD}[patch.crates-io]\ncandle-core = {{ git = "https://example.org" }}\n',
    ],
)
def test_what_tells_no_shape_is_for_a_person(asked: str) -> None:
    code = "pub fn f(_: candle_core::cuda::cudarc::driver::CudaSlice<u8>) {}\n"
    job = job_of(asked, f'#[cfg(feature = "cuda")]\n{code}')
    assert "candle_hip::older, and no Cargo.lock tells" in job.vendor.unsettled["candle_hip"]
    workspace, vendor = job.workspace, job.vendor
    [found] = [
        f
        for f in scan_workspace(workspace, vendor, job.codebase).findings
        if f.path == "src/lib.rs"
    ]
    assert found.applicability is Applicability.REVIEW
    assert found.message.endswith(
        "no Cargo.lock tells which cudarc candle asks for: see which it is"
    )
    settled = job_of(OLD, f'#[cfg(feature = "cuda")]\n{code}')
    [found] = [
        f
        for f in scan_workspace(settled.workspace, settled.vendor, settled.codebase).findings
        if f.path == "src/lib.rs"
    ]
    assert found.applicability is Applicability.SAFE


def test_a_file_that_is_copied_whole_is_for_a_person_too() -> None:
    job = job_of(FORK)
    source = b"pub type S = candle_core::cuda::cudarc::driver::CudaSlice<u8>;\n"
    tree = {"Cargo.toml": job.workspace.sources["Cargo.toml"].data, "src/cuda.rs": source}
    found = scan_workspace(workspace_of(tree), job.vendor, job.codebase).findings
    [copied] = [f for f in found if f.code == COPIED]
    assert copied.applicability is Applicability.REVIEW
    assert "no Cargo.lock tells" in copied.message


@pytest.mark.parametrize(
    ("version", "module"), [("0.13.9", "candle_hip::older"), ("0.16.1", "candle_hip")]
)
def test_a_lock_file_tells_of_a_fork(tmp_path: Path, version: str, module: str) -> None:
    (tmp_path / "Cargo.lock").write_text(LOCK.replace("VERSION", version))
    job = job_of(FORK, root=tmp_path)
    assert job.rename("candle_core::cuda::cudarc::x") == f"candle_core::rocm::{module}::x"
    assert not job.vendor.unsettled


@pytest.mark.parametrize("shared", [True, False])
def test_a_manifest_beside_the_tree_tells(tmp_path: Path, shared: bool) -> None:
    below = tmp_path / "candle/candle-core"
    below.mkdir(parents=True)
    said = "cudarc.workspace = true" if shared else 'cudarc = "0.13.5"'
    (below / "Cargo.toml").write_text(f'[package]\nname = "candle-core"\n[dependencies]\n{said}\n')
    (below.parent / "Cargo.toml").write_text(
        '[workspace]\nmembers = ["candle-core"]\n[workspace.dependencies]\ncudarc = "0.13.5"\n'
    )
    (tmp_path / "tree").mkdir()
    path = '[patch.crates-io]\ncandle-core = { path = "../candle/candle-core" }\n'
    for asked in (NEW + path, 'candle-core = { path = "../candle/candle-core" }\n'):
        job = job_of(asked, root=tmp_path / "tree")
        assert job.rename("candle_core::cuda::cudarc::x").endswith("::candle_hip::older::x")


def test_the_profile_counts_more() -> None:
    job = job_of(FORK, bindings="candle-hip", words={"cudarc": "hip::older"})
    assert job.rename("candle_core::cuda::cudarc::x") == "candle_core::rocm::hip::older::x"
    assert not job.vendor.unsettled


def test_devices_of_candle_and_of_the_bindings_are_told_apart() -> None:
    both = OLD + 'cudarc = "0.13"\n'
    bound = "candle_core::cuda::cudarc::driver::CudaDevice"
    assert renamed(both, "", bound) == "candle_core::rocm::candle_hip::older::driver::HipDevice"
    assert renamed(both, "", "cudarc::driver::CudaDevice") == "own_hip::older::driver::HipDevice"
    assert renamed(both, "", "candle_core::CudaDevice") == "candle_core::RocmDevice"
    assert renamed(both, "use candle_core::CudaDevice;", "&CudaDevice") == "&RocmDevice"
    assert renamed(OLD, f"use {bound};", "&CudaDevice") == "&HipDevice"
    assert renamed(OLD, "use candle_core::CudaDevice;", "&CudaDevice") == "&RocmDevice"
