"""Checks of written Rust: operands of `||`, and macros that are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tree_support import crate, scan_of

from portkit.scan.refused import with_refusals
from portkit.tree.finding import Applicability

if TYPE_CHECKING:
    from portkit.scan.scan import Scan

DEVICE = """\
pub enum Device {
    Cpu,
    Cuda(usize),
}

impl Device {
    pub fn is_cuda(&self) -> bool {
        matches!(self, Self::Cuda(_))
    }
}

"""


def scan_with(text: str, old: str, new: str) -> Scan:
    """Return the scan of a crate in which findings write another text."""
    scan = scan_of(crate(DEVICE + text))
    findings = [
        replace(f, edits=tuple(e._replace(text=e.text.replace(old, new)) for e in f.edits))
        for f in scan.findings
    ]
    assert findings != [*scan.findings]
    return replace(scan, findings=tuple(findings))


@pytest.mark.parametrize(
    "condition",
    [
        "flag & d.is_cuda()",
        "d.is_cuda() as usize > 0",
        "!d.is_cuda()",
        "!{ dbg!(flag & d.is_cuda()) }",
        "{ assert!(d.is_cuda() == flag); flag }",
    ],
)
def test_an_operand_that_is_torn_apart_is_not_written(condition: str) -> None:
    text = f"pub fn f(d: &Device, flag: bool) -> bool {{ {condition} }}\n"
    wide = "d.is_cuda() || d.is_rocm()"
    assert with_refusals(scan := scan_of(crate(DEVICE + text))) is scan
    found = with_refusals(scan_with(text, f"({wide})", wide))
    (manual,) = (f for f in found.findings if f.applicability is Applicability.MANUAL)
    assert (manual.edits, "different operands" in manual.message) == ((), True)


def test_a_call_of_a_macro_that_nothing_defines_is_not_written() -> None:
    text = (
        "macro_rules! cuda_one {\n    ($n:ident) => {\n        pub fn $n() {}\n    };\n}\n\n"
        "cuda_one!(cuda_rows);\n"
    )
    assert with_refusals(scan := scan_of(crate(DEVICE + text))) is scan
    found = with_refusals(scan_with(text, "macro_rules! rocm_one", "macro_rules! rocm_two"))
    (manual,) = (f for f in found.findings if f.applicability is Applicability.MANUAL)
    assert "calls rocm_one!, and nothing defines that" in manual.message
