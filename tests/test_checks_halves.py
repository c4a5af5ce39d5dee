"""Halves of one thing, readers of a copy, and what a copy asks of devices, fields and other crates.

Each tree compiles before the port. The port of the first commit without these checks compiled no
more, or did nothing, in the builds that are named; those places were called mechanical.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tree_support import crate, scan_of

from portkit.engine.refusals import apply_checks
from portkit.workspace.finding import Applicability, Status

if TYPE_CHECKING:
    from portkit.engine.scan import Scan
    from portkit.workspace.finding import Finding

DEVICE = """\
pub struct CudaDevice;

pub enum Device {
    Cpu,
    Cuda(CudaDevice),
}

impl Device {
    pub fn is_cuda(&self) -> bool {
        matches!(self, Self::Cuda(_))
    }

    pub fn as_cuda_device(&self) -> Option<&CudaDevice> {
        match self {
            Self::Cuda(device) => Some(device),
            Self::Cpu => None,
        }
    }
}

"""
VARIABLE = """\
pub fn ranks(device: &Device) -> usize {
    #[cfg(feature = "cuda")]
    let (ranks, first) = (usize::from(device.is_cuda()), "cuda");
    #[cfg(not(feature = "cuda"))]
    let (ranks, first) = (1, "");
    ranks + first.len()
}
"""


def excluded(scan: Scan, code: str, text: str) -> Scan:
    """Return a scan in which a person writes what one rule would write at a text."""

    def left(finding: Finding) -> Finding:
        source = scan.job.workspace.sources[finding.path]
        if finding.code != code or text not in source.slice(finding.span):
            return finding
        return replace(finding, applicability=Applicability.MANUAL, status=Status.NONE, edits=())

    changed = replace(scan, findings=tuple(map(left, scan.findings)))
    assert changed != scan
    return apply_checks(changed)


def said(scan: Scan, applicability: Applicability, code: str) -> list[str]:
    """Return the messages of some findings."""
    return [f.message for f in scan.findings if (f.applicability, f.code) == (applicability, code)]


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
def test_a_half_stays_where_nobody_writes_the_other(gating: str) -> None:
    """E0425 with `rocm`: `ranks` had no definition there."""
    scan = scan_of(crate(DEVICE + VARIABLE), gating=gating)
    found = excluded(scan, "PK501", "let (ranks")
    (reason,) = said(found, Applicability.MANUAL, "PK502")
    assert reason.startswith("A build with `rocm` would lose `first`: this condition excludes it")


def test_halves_are_one_decision() -> None:
    scan = scan_of(crate(DEVICE + VARIABLE))
    assert said(scan, Applicability.SAFE, "PK502") == []
    (message,) = said(scan, Applicability.REVIEW, "PK502")
    assert message.endswith(
        "It is one half of `first` and `ranks`, and the other half is for review. Decide both"
        " together"
    )
    assert apply_checks(scan) is scan


@pytest.mark.parametrize(
    "body",
    [
        """
    #[cfg(feature = "cuda")]
    let order = ranks * 2;
    #[cfg(not(feature = "cuda"))]
    let order = ranks;
    let order: Vec<usize> = vec![order];
    order.len()
""",
        """
    #[cfg(not(feature = "cuda"))]
    panic!("no GPU");
    #[cfg(feature = "cuda")]
    ranks.count_ones() as usize
""",
    ],
)
def test_halves_before_a_variable_of_their_name_or_at_a_block_s_end(body: str) -> None:
    scan = scan_of(crate(DEVICE + f"pub fn f(ranks: usize) -> usize {{{body}}}\n"))
    assert said(scan, Applicability.SAFE, "PK502") == []
    (message,) = said(scan, Applicability.REVIEW, "PK502")
    assert message.endswith("and the other half is for review. Decide both together")


def test_a_half_whose_other_is_mechanical_is_mechanical() -> None:
    text = """
#[cfg(feature = "cuda")]
pub fn route(device: &Device) -> bool {
    device.as_cuda_device().is_some()
}

#[cfg(not(feature = "cuda"))]
pub fn route(_: &Device) -> bool {
    false
}
"""
    scan = scan_of(crate(DEVICE + text))
    assert len(said(scan, Applicability.SAFE, "PK511")) == 1
    assert len(said(scan, Applicability.SAFE, "PK502")) == 1
    assert said(scan, Applicability.REVIEW, "PK502") == []


def test_a_condition_that_has_no_other_half_is_widened() -> None:
    text = """
pub fn warn() {
    #[cfg(not(feature = "cuda"))]
    eprintln!("built without a GPU");
}
"""
    scan = scan_of(crate(DEVICE + text))
    assert len(said(scan, Applicability.SAFE, "PK502")) == 1


def test_a_variable_that_nothing_reads_is_not_copied() -> None:
    """A warning in each build, and a value that does nothing."""
    text = """
pub fn launches() -> usize {
    let mut count = 1;
    #[cfg(feature = "cuda")]
    let use_cuda_graph = count > 0;
    #[cfg(feature = "cuda")]
    if use_cuda_graph {
        count += 1;
    }
    count
}
"""
    scan = scan_of(crate(DEVICE + text))
    found = excluded(scan, "PK501", "if use_cuda_graph {")
    messages = said(found, Applicability.MANUAL, "PK501")
    assert any(m.startswith("Nothing would read `use_rocm_graph`") for m in messages), messages


def test_a_field_that_nothing_reads_is_not_copied() -> None:
    text = """
pub struct Options {
    pub disable_cuda_graph: bool,
}

pub fn has_graph(options: &Options) -> bool {
    #[cfg(feature = "cuda")]
    return !options.disable_cuda_graph;
    #[cfg(not(feature = "cuda"))]
    return false;
}
"""
    scan = scan_of(crate(DEVICE + text))
    found = excluded(scan, "PK501", "return !options")
    (message,) = said(found, Applicability.MANUAL, "PK506")
    assert message.startswith("Nothing would read `disable_rocm_graph`, since portkit leaves")


@pytest.mark.parametrize(
    ("statement", "is_doubted"),
    [
        ("{ found += usize::from(device.as_cuda_device().is_some()); }", True),
        ("if device.is_cuda() { found += usize::from(device.as_cuda_device().is_some()); }", False),
        ("if let Some(_) = device.as_cuda_device() { found += 1; }", False),
    ],
)
def test_a_statement_that_every_device_reaches(statement: str, is_doubted: bool) -> None:
    """With both features the copy fails on a CUDA device, and the original on ROCm's."""
    text = f"""
pub fn count(device: &Device) -> usize {{
    let mut found = 0;
    #[cfg(feature = "cuda")]
    {statement}
    found
}}
"""
    scan = scan_of(crate(DEVICE + text))
    messages = [f.message for f in scan.findings if "on another vendor's device" in f.message]
    assert len(messages) == is_doubted
    assert apply_checks(scan) is scan


def test_a_field_of_cuda_alone_is_read_in_no_copy() -> None:
    """E0609 with `rocm`: the field's type is left to a person."""
    text = """
pub struct Pipeline {
    #[cfg(feature = "cuda")]
    pub capturer: foreign::GraphCapturer<foreign::Unknown>,
}

pub fn captured(pipeline: &Pipeline) -> bool {
    #[cfg(feature = "cuda")]
    if pipeline.capturer.is_captured() {
        return true;
    }
    false
}
"""
    scan = scan_of(crate(DEVICE + text))
    found = excluded(scan, "PK501", "pub capturer")
    messages = [m for m in said(found, Applicability.MANUAL, "PK501") if "`capturer`" in m]
    assert messages == [
        "This line would read the field `capturer`, which does not exist in each build that has"
        " the line. Such a build would not compile. Write the field and this line by hand."
    ]


@pytest.mark.parametrize(("member", "is_doubted"), [("sampler/cuda", True), ("dep:other", False)])
def test_a_method_of_a_crate_whose_port_is_unknown(member: str, is_doubted: bool) -> None:
    """E0599 with `rocm`: the crate has no method of the new name."""
    manifest = f"""\
[package]
name = "fixture"
version = "0.1.0"
edition = "2021"

[features]
cuda = ["{member}"]

[dependencies]
sampler = "1"
other = {{ version = "1", optional = true }}
"""
    text = """
pub fn sample(sampler: &sampler::Sampler) -> usize {
    #[cfg(feature = "cuda")]
    return sampler.sample_cuda(1);
    #[cfg(not(feature = "cuda"))]
    return 0;
}
"""
    tree = {**crate(DEVICE + text), "Cargo.toml": manifest.encode()}
    messages = [f.message for f in scan_of(tree).findings if "is another crate's" in f.message]
    assert len(messages) == is_doubted


@pytest.mark.parametrize(("declared", "is_doubted"), [("&'static str", True), ("&[u8]", False)])
def test_a_compiled_kernel_that_is_declared_as_text(declared: str, is_doubted: bool) -> None:
    """E0308 or a wrong file with `rocm`: PTX is text, and a code object is bytes."""
    text = f"""
#[cfg(feature = "cuda")]
pub fn load_cuda(device: &CudaDevice, ptx_file: {declared}) -> usize {{
    let _ = device;
    ptx_file.len()
}}
"""
    messages = [f.message for f in scan_of(crate(DEVICE + text)).findings]
    found = [m for m in messages if "`hsaco_file` is text, as `ptx_file` is" in m]
    assert len(found) == is_doubted
