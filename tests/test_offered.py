"""What code asks the bindings for, and whether they have it."""

from __future__ import annotations

import re

import pytest
from tree_support import Tree, crate, scan_of

from portkit.port.bindings_api import BindingsApi
from portkit.port.hip_bindings import HOME
from portkit.shipped import shipped
from portkit.syntax.imports import find_import_paths
from portkit.syntax.source_file import SourceFile
from portkit.workspace.finding import Applicability

OFFERED = BindingsApi(shipped(HOME) / "src")


def asked() -> list[tuple[str, ...]]:
    """Return what the crate's own tests and pages ask it for, which rustc has accepted."""
    home = shipped(HOME)
    texts = [path.read_text() for path in (home / "tests").glob("*.rs")]
    pages = [*(home / "src").rglob("*.rs"), home / "README.md"]
    shown = "\n".join(re.findall(r"(?m)^//[/!] ?(.*)", "\n".join(p.read_text() for p in pages)))
    found = []
    for text in (*texts, shown):
        for use in re.findall(r"\buse hiprc::[^;]*;", text):
            (node,) = SourceFile("use.rs", use.encode()).tree.root_node.children
            found += list(find_import_paths(node))
        found += re.findall(r"\bhiprc::\w+(?:::\w+)*", text)
    parts = (re.findall(r"\w+", path.partition(" as ")[0])[1:] for path in found)
    return sorted({tuple(part for part in each if part != "self") for each in parts})


def test_what_the_bindings_are_asked_for_by_their_own_tests_is_there() -> None:
    known = asked()
    assert len(known) > 50
    assert [path for path in known if OFFERED.lacks(path) is not None] == []


@pytest.mark.parametrize(
    ("path", "lacking"),
    [
        ("cusolver::sys::cusolverDnCreate", 0),
        ("rocblas::sys::rocblasDgemv_v2", 2),
        ("rocblas::sys::rocblas_operation::rocblas_operation_none", None),
        ("rocblas::sys::rocblas_operation::rocblas_operation_other", 3),
        ("driver::sys::hipError_t::hipSuccess", None),
        ("driver::safe::HipContext", None),
        ("driver::safe::HipWindow", 2),
        ("driver::HipContext::anything", None),
        ("driver::kept::this_thread", 1),  # the module is private
        ("older::driver::HipDevice", None),
        ("older::driver::HipContext", 2),
        ("older::types::HipTypeName", None),
        ("driver::result::stream::synchronize", None),
    ],
)
def test_a_path_is_followed_as_far_as_files_say(path: str, lacking: int | None) -> None:
    assert OFFERED.lacks(tuple(path.split("::"))) == lacking


CUDA = """use cudarc::cublas::sys as cublas;
pub fn of(handle: cublas::cublasHandle_t) -> bool {
    unsafe { cublas::cublasDnrm2_v2(handle) == cublas::cublasStatus_t::CUBLAS_STATUS_SUCCESS }
}
"""
DECLARED = '#[cfg(feature = "cuda")]\npub mod cuda;\n'
MENDED = {"rocm": CUDA.replace("cublasDnrm2_v2", "rocblas_dnrm2").replace("cuda", "rocm")}


def said(tree: Tree) -> list[tuple[Applicability, str]]:
    return [(f.applicability, f.message) for f in scan_of(tree).findings if f.code == "PK101"]


def test_a_copy_that_names_what_is_not_there_is_for_a_person_until_it_is_mended() -> None:
    ((applicability, message),) = said(crate(DECLARED, cuda=CUDA))
    assert applicability is Applicability.REVIEW
    assert "the bindings have no rocblasDnrm2_v2 in rocblas::sys" in message
    mended = said(crate(DECLARED, cuda=CUDA, **MENDED))
    assert mended[0] == (Applicability.SAFE, "src/rocm.rs is its copy")


IN_A_SITE = """use cudarc::cublas::sys::{self, cublasStatus_t};

pub fn names() -> &'static str {
    "cudarc::cusolver" // as cudarc::cusolver has it
}

#[cfg(feature = "cuda")]
pub fn cuda_status() -> cublasStatus_t {
    my_cudarc::made();
    cublasStatus_t::CUBLAS_STATUS_SUCCESS
}

#[cfg(feature = "cuda")]
pub fn cuda_rotated() -> cublasStatus_t {
    unsafe { sys::cublasSrotmg_v2() }
}
"""


def test_a_site_is_told_by_what_its_own_text_names() -> None:
    found = scan_of(crate(IN_A_SITE)).findings
    said = {f.symbol: (f.applicability, f.message) for f in found if f.code == "PK501"}
    assert said["cuda_status"][0] is Applicability.SAFE
    assert said["cuda_rotated"][0] is Applicability.MANUAL
    assert "cublasSrotmg_v2, which is hipblasSrotmg on AMD's platform," in said["cuda_rotated"][1]
