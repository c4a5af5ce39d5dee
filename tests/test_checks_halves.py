"""Halves of one thing, readers of a copy, and what a copy asks of devices, fields and other crates.

Each tree compiles before the port. The port of the first commit without these checks compiled no
more, or did nothing, in the builds that are named; those places were called mechanical.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tree_support import PROFILE, crate, scan_of

from portkit.engine.refused_findings import apply_checks
from portkit.report.model import describe_writes, make_report
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


COMM = """
#[cfg(feature = "nccl")]
pub use cudarc::nccl::Comm;
#[cfg(not(feature = "nccl"))]
pub struct Comm {}
#[cfg(not(feature = "nccl"))]
impl Comm {
    pub fn rank(&self) -> usize {
        0
    }
}
"""


def test_an_implementation_belongs_to_its_half_of_the_type() -> None:
    """E0599 with `rccl`, if the type's half is declined: `Comm {}` has no function."""
    scan = scan_of(crate(DEVICE + COMM))
    assert said(scan, Applicability.SAFE, "PK502") == []
    messages = said(scan, Applicability.REVIEW, "PK502")
    assert [m for m in messages if "one half of `Comm`" in m] == messages
    assert len(messages) == 2


def test_an_implementation_stays_with_a_type_that_stays() -> None:
    scan = scan_of(crate(DEVICE + COMM))
    found = excluded(scan, "PK501", "Comm")
    assert said(found, Applicability.SAFE, "PK502") == []
    assert len(said(found, Applicability.MANUAL, "PK502")) == 2


SHARED = """
pub struct Product;

impl Product {
    #[cfg(feature = "cuda")]
    fn cuda_run(&self, device: &CudaDevice) -> usize {
        let _ = device;
        1
    }
}

#[cfg(feature = "cuda")]
pub fn cuda_product(product: &Product, device: &CudaDevice) -> usize {
    product.cuda_run(device)
}
"""


@pytest.mark.parametrize(("value", "is_doubted"), [("1", True), ("self.count(device)", False)])
def test_a_copy_that_calls_what_is_for_review(value: str, *, is_doubted: bool) -> None:
    """E0599 with `rocm`, if the callee's copy, whose value is for review, is declined."""
    text = SHARED.replace("let _ = device;\n        1", value)
    scan = scan_of(crate(DEVICE + text))
    messages = said(scan, Applicability.REVIEW, "PK501")
    found = [m for m in messages if "`rocm_run`, which another finding writes" in m]
    assert len(found) == is_doubted
    assert len(said(scan, Applicability.SAFE, "PK501")) == 2 - 2 * is_doubted
    assert apply_checks(scan) is scan


CAPTURE = """
pub struct Pipeline;

impl Pipeline {
    #[cfg(feature = "cuda")]
    pub fn warm_up(&self) -> usize {
        1
    }
}

#[cfg(feature = "cuda")]
pub fn cuda_capture(pipeline: &Pipeline, device: &CudaDevice) -> usize {
    let _ = device;
    pipeline.warm_up()
}
"""


def test_a_function_of_cuda_alone_is_called_in_no_copy() -> None:
    """E0599 with `rocm`: a person writes the function."""
    scan = scan_of(crate(DEVICE + CAPTURE))
    found = excluded(scan, "PK501", "fn warm_up")
    messages = [m for m in said(found, Applicability.MANUAL, "PK501") if "`warm_up`" in m]
    assert messages == [
        "This line would call `warm_up`, which does not exist in each build that has the line."
        " Such a build would not compile. Write the function and this line by hand."
    ]


def test_a_name_that_other_types_have_proves_nothing() -> None:
    """The call without the feature is of another type's function."""
    text = CAPTURE + "\npub fn idle(other: &foreign::Other) -> usize {\n    other.warm_up()\n}\n"
    found = excluded(scan_of(crate(DEVICE + text)), "PK501", "fn warm_up")
    assert [m for m in said(found, Applicability.MANUAL, "PK501") if "`warm_up`" in m] == []


GUARD = """
pub fn share(shards: usize, device: &CudaDevice) -> usize {
    let _ = device;
    let mut found = shards;
    #[cfg(not(feature = "cuda"))]
    assert!(shards == 1, "one GPU is supported");
    println!("{shards}");
    #[cfg(feature = "cuda")]
    {
        found += usize::from(shards > 1);
    }
    found
}
"""


def test_a_guard_of_code_that_a_person_writes_stays() -> None:
    """With `rocm` two shards would pass the check and be ignored."""
    scan = scan_of(crate(DEVICE + GUARD))
    found = excluded(scan, "PK501", "found += usize")
    (message,) = said(found, Applicability.MANUAL, "PK502")
    assert message.startswith("A build with `rocm` would lose this check, and portkit leaves code")


@pytest.mark.parametrize(("attribute", "is_guard"), [("", True), ("#[test]\n", False)])
def test_a_guard_is_for_review(attribute: str, *, is_guard: bool) -> None:
    """The assertion of a test guards nothing."""
    scan = scan_of(crate(DEVICE + GUARD.replace("pub fn share", f"{attribute}pub fn share")))
    messages = said(scan, Applicability.REVIEW, "PK502")
    assert [m.endswith("Check that what follows works there") for m in messages] == [
        True
    ] * is_guard


ARMS = """
pub fn memory(device: &gpu::Device) -> usize {
    match device {
        gpu::Device::Cpu => 0,
        #[cfg(feature = "cuda")]
        gpu::Device::Cuda(device) => device.memory(),
        #[cfg(not(feature = "cuda"))]
        gpu::Device::Cuda(_) => panic!("no GPU"),
    }
}
"""


def test_an_arm_that_portkit_refuses_answers_with_an_error() -> None:
    """E0004 with `rocm`, since the other crate's port has the variant in each build."""
    text = ARMS.replace("device.memory()", "crate::cuda_memory(device)") + (
        '\n#[cfg(feature = "cuda")]\npub fn cuda_memory(_: &gpu::CudaDevice) -> usize {\n    2\n}\n'
    )
    scan = scan_of(crate(DEVICE + text))
    found = excluded(scan, "PK501", "fn cuda_memory")
    first, second = said(found, Applicability.REVIEW, "PK301")
    assert "`rocm_memory`" in first
    assert first.endswith("Until then an arm answers with an error.")
    assert second.endswith("which is for review. Decide both together")
    assert apply_checks(found) is found
    assert ", 1 of them an arm that answers with an error" in describe_writes(
        make_report(found, ".")
    )


def test_an_arm_whose_other_copy_is_mechanical_is_mechanical() -> None:
    scan = scan_of(crate(DEVICE + ARMS))
    assert len(said(scan, Applicability.SAFE, "PK301")) == 2


def test_a_copy_that_uses_a_library_without_a_counterpart() -> None:
    """Its comment says that `rocblaslt` is tried, and its handle is never there."""
    text = """
pub static CUBLASLT_CONTROLLER: Option<usize> = None;

pub fn multiply(device: &gpu::Device) -> usize {
    match device {
        gpu::Device::Cpu => 0,
        // Try to use cublaslt.
        gpu::Device::Cuda(_) => CUBLASLT_CONTROLLER.unwrap_or(1),
    }
}
"""
    plain = {"plain": [{"path": "src/*", "reason": "its kernels are not ported"}]}
    scan = scan_of(crate(text), {**PROFILE, **plain})
    messages = said(scan, Applicability.REVIEW, "PK301")
    assert [m for m in messages if "uses `CUBLASLT_CONTROLLER`, and portkit knows no" in m]
