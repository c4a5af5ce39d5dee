"""What a port changes for who uses a tree's crates, told from the files before and after."""

from __future__ import annotations

from portkit.report.public_api import ApiChanges, find_api_changes

BEFORE = {
    "a/Cargo.toml": b'[package]\nname = "a"\n[features]\ndefault = []\ncuda = []\n',
    "a/src/lib.rs": b"""
pub mod cuda;
struct Rows;
pub enum Device { Cpu, Cuda }
#[non_exhaustive]
pub enum Error { Cuda }
enum Own { Cuda }
pub trait Run { fn cuda(&self) {} }
impl Device { pub fn is_cuda(&self) -> bool { false } }
""",
}
AFTER = {
    "a/Cargo.toml": BEFORE["a/Cargo.toml"].replace(b"[]", b'["cuda"]', 1) + b"rocm = []\n",
    "a/src/lib.rs": b"""
pub mod cuda;
pub mod rocm;
pub use rocm::{RocmRows, is_cuda};
pub struct Rows;
pub enum Device { Cpu, Cuda, Rocm }
#[non_exhaustive]
pub enum Error { Cuda, Rocm }
enum Own { Cuda, Rocm }
pub trait Run { fn cuda(&self) {} fn rocm(&self) {} }
impl Device {
    pub fn is_cuda(&self) -> bool { false }
    pub fn is_rocm(&self) -> bool { false }
    fn attention_rocm(&self) {}
    pub(crate) fn within(&self) {}
    #[doc(hidden)]
    pub fn hidden(&self) {}
}
mod tests { pub fn of_tests() {} }
impl Run for Device { fn rocm(&self) {} }
""",
    "a/src/rocm.rs": b"pub fn own() {}\n#[macro_export]\nmacro_rules! rocm_arg { () => {} }\n",
    "a/tests/rocm.rs": b"#[macro_export]\nmacro_rules! of_a_test { () => {} }\n",
    "hip/Cargo.toml": b'[package]\nname = "hip"\n[features]\ndefault = []\n',
    "hip/src/lib.rs": b"#[macro_export]\nmacro_rules! of_a_crate { () => {} }\n",
}


def test_what_is_new_is_what_is_public_now() -> None:
    assert find_api_changes(BEFORE, AFTER) == ApiChanges(
        features={"rocm": ["a"]},
        defaults={"cuda": ["a"]},
        names={
            "functions": ["Run::rocm", "Device::is_rocm"],
            "types": ["Rows"],
            "modules": ["rocm"],
            "macros": ["rocm_arg"],
            "re-exports": ["RocmRows", "is_cuda"],
        },
        enums=("Device", "Error"),
        closed=("Device",),
    )


def test_a_variant_under_the_feature_closes_nothing() -> None:
    before = {"src/lib.rs": b"pub enum Device { Cpu }\n"}
    after = {"src/lib.rs": b'pub enum Device { Cpu, #[cfg(feature = "rocm")] Rocm }\n'}
    assert find_api_changes(before, after) == ApiChanges(enums=("Device",))


def test_a_manifest_that_is_none_says_nothing() -> None:
    assert (
        find_api_changes({"Cargo.toml": b"["}, {"Cargo.toml": b'features = "rocm"'}) == ApiChanges()
    )
