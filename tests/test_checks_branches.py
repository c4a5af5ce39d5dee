"""Checks of copied branches: the type that each gives, and variants that a macro makes.

Each tree compiles before the port. rustc refuses what the port of the first commit without these
checks wrote: E0308 for a value of the other type, E0599 for a variant that no macro makes.
"""

from __future__ import annotations

import pytest
from tree_support import crate, scan_of

from portkit.workspace.finding import Applicability, Status

DEVICE = """\
#[derive(Clone, Debug)]
pub struct CudaDevice {
    pub id: usize,
}

#[derive(Debug)]
pub struct CudaError;

impl CudaDevice {
    pub fn memory(&self) -> Result<usize, CudaError> {
        Ok(self.id)
    }
}

pub trait Numbered {}
impl Numbered for CudaDevice {}
impl Numbered for u8 {}

#[derive(Clone, Debug)]
pub enum Device {
    Cpu(u8),
    Cuda(CudaDevice),
}

pub enum Location {
    Cpu,
    Cuda(usize),
}

"""
VENDORS = """\
macro_rules! vendors {
    ($($(#[$m:meta])* $name:ident = $s:literal),* $(,)?) => {
        #[derive(Clone, Copy)]
        pub enum Vendor {
            $($(#[$m])* $name),*
        }
        impl Vendor {
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ATTRIBUTES Vendor::$name => $s),*
                }
            }
        }
    };
}

vendors! { Cpu = "cpu", Cuda = "cuda" }

pub fn is_gpu(v: Vendor) -> bool {
    match v {
        Vendor::Cpu => false,
        Vendor::Cuda => true,
    }
}
"""


def decided(text: str, gating: str = "dummy") -> list[tuple[str, Applicability, Status]]:
    """Return what a scan says about a text behind that of the device."""
    scan = scan_of(crate(DEVICE + text), gating=gating)
    found = [f for f in scan.findings if f.span.start >= len(DEVICE)]
    return [(f.code, f.applicability, f.status) for f in found]


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("PK301", "-> Option<&CudaDevice> { match d { Device::Cuda(c) => Some(c), _ => None } }"),
        (
            "PK403",
            "-> Option<&CudaDevice> { if let Device::Cuda(c) = d { Some(c) } else { None } }",
        ),
        (
            "PK301",
            "-> Option<usize> { let c = match d { Device::Cuda(c) => c, _ => return None };"
            " Some(c.id) }",
        ),
        (
            "PK403",
            "-> usize { let g = |d: &Device| -> Option<CudaDevice> { if let Device::Cuda(c) = d {"
            " return Some(c.clone()); } None }; g(d).map_or(0, |c| c.id) }",
        ),
        (
            "PK301",
            "-> Option<CudaDevice> { Some(d).into_iter().find_map(|d| match d {"
            " Device::Cuda(c) => Some(c.clone()), _ => None }) }",
        ),
    ],
)
@pytest.mark.parametrize("gating", ["dummy", "cfg"])
def test_a_branch_of_another_type_is_not_written(code: str, body: str, gating: str) -> None:
    found = decided(f"pub fn first(d: &Device) {body}\n", gating)
    assert found == [(code, Applicability.MANUAL, Status.NONE)]


def test_an_arm_of_another_type_that_its_match_needs_answers_with_an_error() -> None:
    body = "match d { Device::Cuda(c) => c.memory(), Device::Cpu(_) => Ok(0) }"
    found = decided(f"pub fn memory(d: &Device) -> Result<usize, CudaError> {{ {body} }}\n")
    assert found == [("PK301", Applicability.REVIEW, Status.TODO)]


@pytest.mark.parametrize(
    "text",
    [
        "fn any(d: &Device) -> Option<&dyn Numbered> {"
        " match d { Device::Cuda(c) => Some(c), Device::Cpu(c) => Some(c) } }\n",
        "fn id(d: &Device) -> usize { match d { Device::Cuda(c) => c.id, _ => 0 } }\n",
        "fn at(l: &Location) -> Option<&usize> {"
        " match l { Location::Cuda(i) => Some(i), _ => None } }\n",
    ],
)
def test_a_branch_of_the_same_type_is_written(text: str) -> None:
    assert decided(text) == [("PK301", Applicability.SAFE, Status.TODO)]


def test_a_variant_that_no_macro_makes_is_not_named() -> None:
    """With ``--gating cfg`` each use of a variant is under the feature, or none is."""
    lost = VENDORS.replace("ATTRIBUTES ", "")
    assert decided(lost, "cfg") == [
        ("PK411", Applicability.MANUAL, Status.NONE),
        ("PK301", Applicability.MANUAL, Status.NONE),
    ]
    for text, gating in ((lost, "dummy"), (VENDORS.replace("ATTRIBUTES", "$(#[$m])*"), "cfg")):
        assert {status for *_, status in decided(text, gating)} == {Status.TODO}


IMPORTED = """\
pub mod cuda;
#[cfg(feature = "cuda")]
pub use cuda::{CudaCtx, CudaError as GpuError};

pub enum Ctx {
    Host,
    #[cfg(feature = "cuda")]
    Cuda(CudaCtx),
}
"""
CUDA = "pub struct CudaCtx;\npub struct CudaError;\n"
OWN = """\
pub mod driver {
    pub struct DriverError;
    pub struct CudaContext;
    impl CudaContext {
        pub fn new() -> Result<Self, DriverError> {
            Ok(Self)
        }
    }
}
"""


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
@pytest.mark.parametrize(("text", "name"), [(IMPORTED, "RocmCtx"), (OWN, "HipError")])
def test_a_type_that_is_not_in_scope_is_not_named(text: str, name: str, gating: str) -> None:
    """rustc: E0425, "cannot find type .. in this scope"."""
    found = scan_of(crate(text, cuda=CUDA), gating=gating).findings
    assert any(f"would name `{name}`" in f.message for f in found)
    assert not any(name in e.text for f in found if f.path == "src/lib.rs" for e in f.edits)


def test_a_type_that_is_in_scope_is_named() -> None:
    text = IMPORTED.replace(" as GpuError", "")
    found = scan_of(crate(text, cuda=CUDA)).findings
    assert any("pub use rocm::{RocmCtx" in e.text for f in found for e in f.edits)
    assert not any("would name" in f.message for f in found)
