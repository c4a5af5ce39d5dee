"""Which version of cudarc a codebase is written against, and what its names become."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tree_support import MANIFEST, PROFILE, workspace_of

from portkit.port.adapted_profiles import adapt_to_cudarc, is_version_before
from portkit.port.hip_bindings import list_binding_files
from portkit.profiles.profile import load_vendor, parse_codebase

OWN = "pub struct CudaDevice(cudarc::driver::CudaDevice);\n"
USE = "use cudarc::driver::CudaDevice;\n"


def renamed(
    manifest: str, code: str = USE, words: dict[str, str] | None = None, word: str = "CudaDevice"
) -> str:
    tree = {"Cargo.toml": MANIFEST + manifest.encode(), "src/lib.rs": code.encode()}
    codebase = parse_codebase({**PROFILE, "names": {"words": words or {}}})
    return adapt_to_cudarc(load_vendor("rocm", codebase), workspace_of(tree)).names.word(word)


@pytest.mark.parametrize(
    ("manifest", "device"),
    [
        # The last version with a CudaDevice is 0.13.9.
        ('[dependencies]\ncudarc = "0.13"\n', "HipDevice"),
        ('[dependencies]\ncudarc = "0.14.0"\n', "RocmDevice"),
        ('[dependencies]\ncudarc = { version = "=0.9.15", optional = true }\n', "HipDevice"),
        ('[dependencies.cudarc]\nversion = "^0.11"\n', "HipDevice"),
        ('[workspace.dependencies]\ncudarc = "0.12"\n', "HipDevice"),
        ('[target."cfg(unix)".dependencies]\ncudarc = "0.12"\n', "HipDevice"),
        ('[dependencies]\ngpu = { package = "cudarc", version = "0.12" }\n', "HipDevice"),
        ('[dependencies]\ncudarc = { package = "other", version = "0.12" }\n', "RocmDevice"),
        # A commit says no version, and a crate of the same tree may.
        ('[dependencies]\ncudarc = { git = "https://example.org" }\n', "RocmDevice"),
        ("", "RocmDevice"),
        # Of another form than cargo takes.
        ("[dependencies]\ncudarc = 3\n", "RocmDevice"),
        ("[dependencies]\ncudarc = { version = [] }\n", "RocmDevice"),
        ("[target]\nunix = 3\n[target.any]\ndependencies = 3\n", "RocmDevice"),
    ],
)
def test_the_device_is_the_bindings_before_a_version(manifest: str, device: str) -> None:
    assert renamed(manifest) == device


OLD = '[dependencies]\ncudarc = "0.9.14"\n'


def test_a_codebase_s_own_device_is_its_own() -> None:
    assert renamed(OLD, OWN) == "RocmDevice"
    assert renamed(OLD, "use cudarc::driver::X as CudaDevice;\n") == "RocmDevice"
    assert renamed(OLD, "// no struct of it: CudaDevice\n" + USE) == "HipDevice"


@pytest.mark.parametrize(
    ("code", "copy"),
    [
        ("cudarc::driver::CudaDevice::new(0)", "candle_hip::older::driver::HipDevice::new(0)"),
        (
            "Arc<cudarc::driver::safe::CudaDevice>",
            "Arc<candle_hip::older::driver::safe::HipDevice>",
        ),
        ("cudarc :: driver :: CudaDevice", "candle_hip::older :: driver :: HipDevice"),
        # What is far away is not looked at for each word.
        (f"cudarc::{' ' * 2000}CudaDevice", f"candle_hip::older::{' ' * 2000}RocmDevice"),
        # These begin at no crate of that name.
        ("CudaDevice::new(0)", "RocmDevice::new(0)"),
        ("super::cuda::CudaDevice", "super::rocm::RocmDevice"),
        ("my_cudarc::CudaDevice", "my_rocmrc::RocmDevice"),
        # What is brought in whole is the crate; paths below its name say the module.
        ("pub use cudarc;", "pub use candle_hip;"),
        ("use {cudarc, half};", "use {candle_hip, half};"),
        ("pub use cudarc as gpu;", "pub use candle_hip::older as gpu;"),
        ("use cudarc::driver::LaunchAsync;", "use candle_hip::older::driver::LaunchAsync;"),
        ("f(cudarc, x)", "f(candle_hip::older, x)"),
        (
            "use crate::cuda_backend::cudarc::driver::X;",
            "use crate::rocm_backend::candle_hip::older::driver::X;",
        ),
    ],
)
def test_beside_a_device_of_its_own_a_path_tells_whose_it_is(code: str, copy: str) -> None:
    tree = {"Cargo.toml": MANIFEST + OLD.encode(), "src/lib.rs": OWN.encode()}
    names = adapt_to_cudarc(load_vendor("rocm", parse_codebase(PROFILE)), workspace_of(tree)).names
    assert names.rust(code) == copy


@pytest.mark.parametrize(
    ("requirement", "before"),
    [
        ("0.0.2", True),
        ("^0.0.2", True),
        ("0.1", False),
        ("0.1.0", False),
        ("=0.2", False),
        ("*", False),
    ],
)
def test_what_is_asked_for_may_be_too_old(requirement: str, before: bool) -> None:
    assert is_version_before(requirement, "0.1") is before


def test_the_profile_counts_more() -> None:
    assert renamed(OLD, words={"CudaDevice": "AmdDevice"}) == "AmdDevice"


def test_other_names_stay_as_they_are() -> None:
    assert renamed(OLD, word="CudaTypeName") == "HipTypeName"
    assert renamed(OLD, word="CudaStream") == "HipStream"
    assert renamed(OLD, word="CudaThing") == "RocmThing"


def test_a_codebase_of_older_bindings_alone_gets_their_shape() -> None:
    mixed = OLD + 'gpu = { package = "cudarc", version = "0.17" }\n'
    assert renamed(OLD, word="cudarc") == "candle_hip::older"
    assert renamed(mixed, word="cudarc") == "candle_hip"
    assert renamed(mixed) == "HipDevice"
    assert renamed("", word="cudarc") == "candle_hip"
    assert renamed(OLD, words={"cudarc": "hip"}, word="cudarc") == "hip"


def test_a_copy_has_the_shape_that_the_tree_uses() -> None:
    facade = load_vendor("rocm").facade
    without, whole = list_binding_files(facade), list_binding_files(replace(facade, shape="older"))
    assert {path.split("/")[1] for path in whole.keys() - without.keys()} == {"older"}
    assert "pub mod older;" in whole["src/lib.rs"]()
    assert "older" not in without["src/lib.rs"]()
