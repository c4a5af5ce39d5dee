"""What stands with CUDA's feature and ROCm's both on, where no fixture says it."""

from __future__ import annotations

from tree_support import crate, scan_of

from portkit.engine.parity import find_missing_counterparts
from portkit.engine.plan import build_plan
from portkit.workspace.finding import Applicability

OF_BOTH_KINDS = """pub struct Kernel;

#[cfg(feature = "cuda")]
impl Kernel {
    pub fn cuda_streams(&self) -> usize {
        gpu::cuda::streams()
    }

    pub fn devices(&self) -> usize {
        gpu::cuda::devices().len()
    }
}
"""
OF_A_LIBRARY = """#[cfg(feature = "cudnn")]
pub type Convolution = gpu::CudnnConvolution;
#[cfg(not(feature = "cudnn"))]
pub type Convolution = ();
"""
APART = """pub struct Kernel<T>(T);

#[cfg(feature = "cuda")]
impl Kernel<f32> {
    pub fn cuda_streams(&self) {}
}

#[cfg(feature = "rocm")]
impl Kernel<f32> {
    pub fn rocm_streams(&self) {}
}

#[cfg(feature = "cuda")]
impl Kernel<f64> {
    pub fn cuda_streams(&self) {}
}
"""


def test_an_implementation_that_neither_gives_way_nor_is_for_both_is_for_a_person() -> None:
    scan = scan_of(crate(OF_BOTH_KINDS))
    (found,) = scan.findings
    assert found.applicability is Applicability.MANUAL
    assert found.message == (
        "with both features on devices would be implemented twice: set what is ROCm's beside what"
        " is CUDA's in it, each under its feature, by hand"
    )
    assert build_plan(scan).changes == ()


def test_a_copy_under_a_library_s_feature_gives_way_to_that_library() -> None:
    (change,) = build_plan(scan_of(crate(OF_A_LIBRARY)), rustfmt=False).changes
    assert '#[cfg(all(feature = "miopen", not(feature = "cudnn")))]' in change.after.decode()


def test_parity_looks_through_all_implementations_of_a_type() -> None:
    assert [(u.line, u.wanted) for u in find_missing_counterparts(scan_of(crate(APART)))] == [
        (15, "rocm_streams")
    ]
