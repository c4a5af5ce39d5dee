"""Checks of written Rust: operands of `||`, and macros that are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tree_support import crate, scan_of

from portkit.engine.refused_findings import apply_checks
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from portkit.engine.scan import Scan

TESTS = """\
macro_rules! device_test {
    ($run:ident, $cpu:ident, $cuda:ident, $after:FRAGMENT) => {
        #[cfg(feature = "cuda")]
        pub fn $cuda() -> usize {
            $run(1) + 1
        }
        pub fn $cpu() -> usize {
            $cuda()
        }
    };
}

pub fn twice(index: usize) -> usize {
    2 * index
}

device_test!(twice, twice_cpu, twice_cuda, last);
"""
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
    assert apply_checks(scan := scan_of(crate(DEVICE + text))) is scan
    found = apply_checks(scan_with(text, f"({wide})", wide))
    (manual,) = (f for f in found.findings if f.applicability is Applicability.MANUAL)
    assert (manual.edits, "different operands" in manual.message) == ((), True)


def test_a_call_of_a_macro_that_nothing_defines_is_not_written() -> None:
    text = (
        "macro_rules! cuda_one {\n    ($n:ident) => {\n        pub fn $n() {}\n    };\n}\n\n"
        "cuda_one!(cuda_rows);\n"
    )
    assert apply_checks(scan := scan_of(crate(DEVICE + text))) is scan
    found = apply_checks(scan_with(text, "macro_rules! rocm_one", "macro_rules! rocm_two"))
    (manual,) = (f for f in found.findings if f.applicability is Applicability.MANUAL)
    assert "calls rocm_one!, and nothing defines that" in manual.message


@pytest.mark.parametrize("fragment", ["ident", "item"])
def test_a_call_gains_an_argument_only_with_its_macro(fragment: str) -> None:
    scan = scan_of(crate(DEVICE + TESTS.replace("FRAGMENT", fragment)))
    assert apply_checks(scan) is scan
    assert [f.code for f in scan.findings if "device_test!" in f.symbol + f.construct] == [
        "PK601",
        "PK602",
    ]
    rest = tuple(f for f in scan.findings if f.code != "PK601")
    found = apply_checks(replace(scan, findings=rest)).findings
    (call,) = (f for f in found if f.code == "PK602")
    assert (call.applicability, call.edits) == (Applicability.MANUAL, ())
    assert "No rule of device_test! accepts this call after the port." in call.message


def test_a_call_keeps_its_argument_if_the_macro_has_the_parameter_already() -> None:
    text = TESTS.replace("FRAGMENT", "item")
    rule = "    ($run:ident, $cpu:ident, $cuda:ident, $rocm:ident, $after:item) => {};\n"
    begin = "macro_rules! device_test {\n"
    scan = scan_of(crate(DEVICE + text.replace(begin, begin + rule)))
    assert "twice_rocm" in {e.text.strip(", ") for f in scan.findings for e in f.edits}
    assert apply_checks(scan) is scan


def test_a_call_that_writes_a_call_is_read_to_its_end() -> None:
    inner = TESTS.replace("FRAGMENT", "ident").partition("device_test!(twice")[0]
    outer = (
        "macro_rules! both {\n    ($run:ident, $cpu:ident, $cuda:ident) => {\n"
        "        device_test!($run, $cpu, $cuda, last);\n    };\n}\n\n"
        "both!(twice, twice_cpu, twice_cuda);\n"
    )
    scan = scan_of(crate(DEVICE + inner + outer))
    assert apply_checks(scan) is scan
    rest = tuple(f for f in scan.findings if f.symbol != "device_test!")
    found = apply_checks(replace(scan, findings=rest)).findings
    assert [f.applicability for f in found if f.code == "PK602"] == [Applicability.MANUAL]
