"""A port that takes the HIP bindings from elsewhere: only manifests differ from one with a copy."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from apply_support import git
from cli_support import add_file, commit, invoke
from kernels_tree_support import make_with_kernels
from msgspec.structs import replace

from portkit.engine.session import scan_tree
from portkit.errors import ConfigError
from portkit.port.hip_bindings import BUILD_CRATE, HOME, list_binding_files
from portkit.port.new_files import PortMark, find_port_mark
from portkit.profiles.profile import Facade, load_vendor
from portkit.profiles.settings import NAME
from portkit.shipped import shipped
from portkit.verify.baseline import find_default_revision

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_with_kernels(tmp_path / "candle")


def ported(candle: Path, bindings: str = "") -> dict[str, str]:
    """The files of a port, by path."""
    if bindings:
        add_file(candle, NAME, f"bindings = {bindings}\n".encode())
    commit(candle)
    done = invoke("apply", candle)
    assert done.code == 0, done.err
    files = [p for p in candle.rglob("*") if p.is_file() and ".git" not in p.parts]
    return {p.relative_to(candle).as_posix(): p.read_text() for p in files}


def manifest(files: dict[str, str], crate: str = "") -> dict[str, Any]:
    return tomllib.loads(files[f"{crate}Cargo.toml"])


def test_only_manifests_differ(candle: Path, tmp_path: Path) -> None:
    with_copy = ported(make_with_kernels(tmp_path / "other"))
    files = ported(candle, '{ git = "https://x.test/portkit", rev = "0123abc" }')
    assert not [path for path in files if path.startswith("candle-hip/")]
    rest = {path: text for path, text in with_copy.items() if not path.startswith("candle-hip/")}
    differ = {path for path in files if files[path] != rest.get(path)} - {NAME}
    assert differ == {
        *("Cargo.toml", "candle-rocm-kernels/Cargo.toml", "candle-rocm-kernels/README.md")
    }
    said: dict[str, object] = {
        "package": "hiprc",
        "git": "https://x.test/portkit",
        "rev": "0123abc",
    }
    root = manifest(files)["workspace"]
    said |= {"features": ["float8"]}
    assert root["dependencies"]["candle-hip"] == said
    assert "candle-hip" not in root["members"]
    kernels = manifest(files, "candle-rocm-kernels/")
    assert kernels["dependencies"]["candle-hip"] == said


def test_a_path_is_seen_from_each_manifest(candle: Path) -> None:
    crate = candle.parent / "hip"
    add_file(crate, "Cargo.toml", b'[package]\nname = "hiprc"\n')
    files = ported(candle, '{ path = "../hip" }')
    found = manifest(files)["workspace"]["dependencies"]["candle-hip"]["path"]
    assert (candle / found).resolve() == crate
    found = manifest(files, "candle-rocm-kernels/")["dependencies"]["candle-hip"]["path"]
    assert (candle / "candle-rocm-kernels" / found).resolve() == crate


def test_a_copy_in_another_port_has_its_own_name(candle: Path, tmp_path: Path) -> None:
    """What the bindings are called there is what Cargo looks for."""
    ported(make_with_kernels(tmp_path / "other"))
    add_file(tmp_path / "other" / "candle-hip", "Cargo.toml", b'[package]\nname = "far-hip"\n')
    files = ported(candle, '{ path = "../other/candle-hip" }')
    for crate in ("", "candle-rocm-kernels/"):
        found = manifest(files, crate)
        dependencies = found.get("dependencies") or found["workspace"]["dependencies"]
        assert dependencies["candle-hip"]["package"] == "far-hip"
    del files[NAME]
    (candle / NAME).unlink()
    assert ported(candle) == files


def test_the_manifest_remembers(candle: Path) -> None:
    """A second run writes nothing, also without what ``portkit.toml`` said."""
    before = ported(candle, '{ version = "0.1" }')
    del before[NAME]
    (candle / NAME).unlink()
    assert ported(candle) == before


def test_a_copy_that_stands_is_not_left_beside(candle: Path) -> None:
    ported(candle)
    add_file(candle, NAME, b'bindings = { version = "0.1" }\n')
    done = invoke("scan", candle)
    assert done.code == ConfigError.exit_code
    assert f"{NAME}:1: the bindings are taken from elsewhere, and the tree has a copy" in done.err


def test_two_places_are_refused(candle: Path) -> None:
    ported(candle, '{ version = "0.1" }')
    add_file(candle, NAME, b'bindings = { version = "0.2" }\n')
    done = invoke("scan", candle)
    assert done.code == ConfigError.exit_code
    assert "the root manifest names another place for candle-hip" in done.err


def test_a_folder_without_a_crate_is_refused(candle: Path) -> None:
    add_file(candle, NAME, b'bindings = { path = "nowhere" }\n')
    done = invoke("scan", candle)
    assert done.code == ConfigError.exit_code
    assert "'nowhere' holds no crate" in done.err


@pytest.mark.parametrize(
    ("float8", "accepted"), [('"0.7.3"', True), ('{ version = "^0.7" }', True), ('"0.6"', False)]
)
def test_types_of_8_bits_have_to_be_those_of_the_crate(
    candle: Path, float8: str, accepted: bool
) -> None:
    root = candle / "Cargo.toml"
    stands = '{ version = "0.7.0", features = ["num-traits"] }'
    text = root.read_text()
    assert stands in text
    root.write_text(text.replace(stands, float8))
    if accepted:
        files = ported(candle, '{ version = "0.1" }')
        entry = manifest(files)["workspace"]["dependencies"]["candle-hip"]
        assert entry == {"package": "hiprc", "version": "0.1", "features": ["float8"]}
        return
    add_file(candle, NAME, b'bindings = { version = "0.1" }\n')
    done = invoke("scan", candle)
    assert done.code == ConfigError.exit_code
    assert "the bindings know the types of float8 0.7, and the workspace has 0.6" in done.err


def test_the_profile_names_the_crate_as_its_manifest_does() -> None:
    own = tomllib.loads((shipped(HOME) / "Cargo.toml").read_text())["package"]["name"]
    assert load_vendor("rocm").facade.package == own


def test_a_value_cannot_end_its_string() -> None:
    source = {"git": 'x", version = "1'}
    said = Facade("a-hip", "hiprc", source).dependency("../", "0.1.0")
    assert tomllib.loads(f"x = {{ {said} }}")["x"] == {"package": "hiprc", **source}


ON_CANDLE = {
    "Cargo.toml": """\
[package]
name = "layers"
version = "0.1.0"
edition = "2021"

[dependencies]
candle-core = "0.11"

[features]
cuda = ["candle-core/cuda"]
""",
    "src/lib.rs": """\
#[cfg(feature = "cuda")]
pub fn cuda_len(slice: &candle_core::cuda_backend::cudarc::driver::CudaSlice<f32>) -> usize {
    slice.len()
}
""",
    NAME: 'profile = "port"\n',
    "port/codebase.toml": 'name = "layers"\ncrate = "layers"\nfirst_version = "0.1.0"\n',
}


def make_layers(root: Path) -> Path:
    """A crate that reaches cudarc through candle, and has a profile of its own."""
    for path, text in ON_CANDLE.items():
        add_file(root, path, text.encode())
    commit(root)
    return root


def test_a_tree_on_candle_has_the_bindings_of_candles_port(tmp_path: Path) -> None:
    """It got ten thousand lines of its own, whose types are others."""
    root = make_layers(tmp_path / "layers")
    done = invoke("apply", root, "--no-format")
    assert done.code == 0, done.err
    assert {p.name for p in root.iterdir()} == {".git", "Cargo.toml", NAME, "port", "src"}
    ported = (root / "src/lib.rs").read_text()
    assert "rocm_len(slice: &candle_core::rocm_backend::candle_hip::driver::HipSlice<" in ported


@pytest.mark.parametrize(
    "asked", ['cudarc = "0.19"', 'cuda-bindings = { package = "cudarc", version = "0.19" }']
)
def test_a_tree_with_cudarc_of_its_own_has_bindings_of_its_own(tmp_path: Path, asked: str) -> None:
    root = make_layers(tmp_path / "layers")
    manifest = root / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("candle-core =", f"{asked}\ncandle-core ="))
    commit(root)
    assert invoke("apply", root, "--no-format").code == 0
    assert (root / "layers-hip/Cargo.toml").is_file()
    assert find_port_mark(scan_tree(root).job) == PortMark("layers-hip/Cargo.toml")


def test_a_port_that_adds_no_file_is_told_by_its_feature(tmp_path: Path) -> None:
    root = make_layers(tmp_path / "layers")
    upstream = git(root, "rev-parse", "HEAD").strip()
    told = find_port_mark(scan_tree(root).job)
    assert told is not None
    assert find_default_revision(root, told) == upstream
    assert invoke("apply", root, "--no-format").code == 0
    assert find_default_revision(root, told) == upstream
    commit(root)
    assert find_default_revision(root, told) == upstream
    # The line changes, and is the port's all the same.
    manifest = root / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("rocm = []", 'rocm = ["candle-core/rocm"]'))
    commit(root)
    assert find_default_revision(root, told) == upstream


def test_the_copy_names_what_makes_launchers_in_the_tree(candle: Path) -> None:
    files = ported(candle)
    for path in ("candle-hip/README.md", "candle-hip/src/launchers.rs"):
        assert "the build script of `candle-rocm-kernels` has" in " ".join(files[path].split())
    assert not [
        p for p, text in files.items() if p.startswith("candle-hip") and BUILD_CRATE in text
    ]


@pytest.mark.parametrize("unused", [(), ("miopen",), ("miopen", "rccl"), ("rccl",)])
def test_the_page_tells_of_what_the_copy_has(unused: tuple[str, ...]) -> None:
    made = list_binding_files(replace(load_vendor("rocm").facade, name="toy-hip", unused=unused))
    page, library = made["README.md"](), made["src/lib.rs"]()
    for module, title in (("miopen", "MIOpen"), ("rccl", "RCCL")):
        has = module not in unused
        assert any(path.startswith(f"src/{module}/") for path in made) == has
        assert (title in page, title in library) == (has, has)
    listed = page.split("\n\n")[1].split(" for Rust")[0]
    assert listed.startswith("AMD's HIP runtime, rocBLAS, hipBLASLt, hipRAND")
    assert listed.endswith(" and hipRTC")
    assert "\n\n## Building and running\n\n" in page
