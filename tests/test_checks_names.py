"""A name that a written line uses exists after the port, or the line is a finding for a person.

Each tree compiles before the port. At the first commit without these checks its port did not, in
the builds that are named (rustc's code is in the test).
"""

from __future__ import annotations

import pytest
from tree_support import Tree, crate, scan_of

from portkit.engine.refused_findings import apply_checks
from portkit.workspace.finding import Applicability

DEVICE = """\
#[derive(Debug)]
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
FEATURES = """\
[package]
name = "fixture"
version = "0.1.0"
edition = "2021"

[features]
cuda = []
"""


def refused(text: str, manifest: str = FEATURES, gating: str = "dummy", **files: str) -> list[str]:
    """Return what is said of what the checks do not let through in a crate."""
    return refused_in({**crate(text, **files), "Cargo.toml": manifest.encode()}, gating)


def refused_in(tree: Tree, gating: str = "dummy") -> list[str]:
    """Return what is said of what the checks do not let through in a tree."""
    scan = apply_checks(scan_of(tree, gating=gating))
    manual = (f for f in scan.findings if f.applicability is Applicability.MANUAL)
    return [f.message for f in manual if "would" in f.message]


def test_a_variable_that_is_not_copied() -> None:
    """E0425: the copy of the branch is renamed, and the parameter is not."""
    text = """
pub fn pick(device: &Device, cuda_blocks: usize, other: usize) -> usize {
    if device.is_cuda() {
        cuda_blocks * 2
    } else {
        other
    }
}
"""
    (said,) = refused(DEVICE + text)
    assert said.startswith("This line would name `rocm_blocks`, which nothing defines")


def test_a_variable_that_a_guard_names() -> None:
    text = """
pub fn count(device: &Device, cuda_graph: bool) -> usize {
    match device {
        Device::Cuda(i) if cuda_graph => *i,
        Device::Cuda(_) => 1,
        Device::Cpu => 0,
    }
}
"""
    (said,) = refused(DEVICE + text)
    assert "`rocm_graph`" in said


def test_a_variable_in_a_text_that_is_formatted() -> None:
    text = """
pub fn show(device: &Device, cuda_blocks: usize) -> String {
    match device {
        Device::Cuda(i) => format!("{i} {cuda_blocks}"),
        Device::Cpu => String::new(),
    }
}
"""
    assert len(refused(DEVICE + text)) <= 1


def test_a_variable_that_the_copy_binds_itself() -> None:
    text = """
pub fn count(device: &Device) -> usize {
    match device {
        Device::Cuda(cuda_ordinal) => *cuda_ordinal,
        Device::Cpu => 0,
    }
}
"""
    assert refused(DEVICE + text) == []


def test_a_field_of_a_struct_of_another_crate() -> None:
    """E0560, in every build."""
    text = "pub fn meta() -> ext::Meta {\n    ext::Meta { use_cuda_graph: true, other: 3 }\n}\n"
    (said,) = refused(DEVICE + text)
    assert said.startswith("This line would name the field `use_rocm_graph` of `Meta`")


@pytest.mark.parametrize(
    "place",
    [
        "pub fn new(cuda_graph: bool) -> Opts {\n    Opts { cuda_graph, n: 1 }\n}\n",
        "pub fn take(o: Opts) -> usize {\n    let Opts { cuda_graph: _, n } = o;\n    n\n}\n",
    ],
)
def test_a_field_that_some_place_does_not_name(place: str) -> None:
    """E0063 and E0027, in every build."""
    text = "pub struct Opts {\n    pub cuda_graph: bool,\n    pub n: usize,\n}\n"
    said = refused(DEVICE + text + place)
    assert any(each.startswith("Opts would gain the field `rocm_graph`") for each in said)


def test_a_field_that_each_place_names() -> None:
    text = """
pub struct Opts {
    pub cuda_graph: bool,
    pub n: usize,
}

pub fn new() -> Opts {
    Opts { cuda_graph: true, n: 1 }
}

pub fn take(Opts { n, .. }: Opts) -> usize {
    n
}
"""
    assert refused(DEVICE + text) == []


def test_a_field_under_the_feature() -> None:
    text = """
pub struct Opts {
    pub n: usize,
    #[cfg(feature = "cuda")]
    pub cuda_graph: bool,
}

#[cfg(not(feature = "cuda"))]
pub fn new() -> Opts {
    Opts { n: 1 }
}
"""
    assert refused(DEVICE + text) == []


def test_a_module_without_a_file() -> None:
    """E0583, in every build: the copy of the attribute names a file that the port does not add."""
    text = '#[path = "cuda_extra.rs"]\npub mod cuda_extra;\n'
    said = refused(DEVICE + text, cuda_extra="pub fn more() -> u8 {\n    1\n}\n")
    assert any(each.startswith("This line would declare the module `rocm_extra`") for each in said)


def test_a_file_that_is_included() -> None:
    text = '#[cfg(feature = "cuda")]\npub const CUDA_TEXT: &str = include_str!("cuda_text.txt");\n'
    (said,) = refused(DEVICE + text)
    assert said.startswith("This line would include src/rocm_text.txt")


def test_a_target_that_requires_the_feature_keeps_its_imports() -> None:
    """E0432 with the feature cuda alone, before."""
    manifest = FEATURES + '\n[[bin]]\nname = "bench"\nrequired-features = ["cuda"]\n'
    tree = {
        **crate('#[cfg(feature = "cuda")]\npub fn run_cuda() {}\n'),
        "Cargo.toml": manifest.encode(),
        "src/bin/bench.rs": b"use fixture::run_cuda;\n\nfn main() {\n    run_cuda();\n}\n",
    }
    scan = apply_checks(scan_of(tree))
    assert not [f for f in scan.findings if f.path == "src/bin/bench.rs" and f.edits]


def test_a_field_with_a_raw_name() -> None:
    """E0027: the pattern of the parameter names each field but the new one."""
    text = """
pub struct Part {
    pub r#cuda: u8,
    pub other: u8,
}
pub fn sum(Part { r#cuda: first, other }: Part) -> u8 {
    first + other
}
"""
    value = "pub fn part() -> Part {\n    Part { r#cuda: 1, other: 2 }\n}\n"
    first, second = refused(DEVICE + text + value)
    assert first.startswith("Part would gain the field `r#rocm`")
    assert second.startswith("This line would name `rocm`, which nothing defines")


def test_a_field_of_a_union() -> None:
    """E0784: a value of a union sets exactly one field."""
    text = """
pub union Word {
    pub cuda: u32,
    pub float: f32,
}
pub fn word() -> Word {
    Word { cuda: 3 }
}
"""
    scan = apply_checks(scan_of({**crate(DEVICE + text), "Cargo.toml": FEATURES.encode()}))
    fields = [f for f in scan.findings if f.construct == "field"]
    assert [(f.applicability, f.edits) for f in fields] == [(Applicability.MANUAL, ())] * 2


def test_an_import_names_nothing_that_only_one_of_two_files_has() -> None:
    """rustc: E0432, since `list` is another file in each build."""
    text = (
        '#[cfg(feature = "cuda")]\n#[path = "cuda_list.rs"]\npub mod list;\n'
        '#[cfg(not(feature = "cuda"))]\n#[path = "no_list.rs"]\npub mod list;\n'
        "pub use list::CudaList;\n"
    )
    files = {"cuda_list": "pub struct CudaList(u8);\n", "no_list": "pub struct CudaList;\n"}
    for gating in ("dummy", "cfg"):
        (said,) = refused(text, gating=gating, **files)
        assert said.startswith("This line would name `RocmList`, which does not exist in each")


GATED_DEVICE = DEVICE.partition("impl")[0].replace(
    "    Cuda", '    #[cfg(feature = "cuda")]\n    Cuda'
)
IN_EVERY_BUILD = """
fn main() {
    match Device::Cuda(0) {
        Device::Cpu => println!("0"),
        Cuda(i) => println!("{i}"),
    }
}
"""
UNDER_A_FEATURE = """
#[cfg(feature = "fast")]
pub fn is_fast(device: &Device) -> bool {
    matches!(device, Cuda(_))
}
"""


@pytest.mark.parametrize(
    ("text", "features", "needs"),
    [
        (IN_EVERY_BUILD, 'gpu = ["cuda"]', '[dependencies]\ncore = { path = "../core", FEATURES }'),
        (IN_EVERY_BUILD, 'gpu = ["cuda"]', "[dependencies]\ncore = { workspace = true }"),
        (IN_EVERY_BUILD, 'default = ["cuda"]', '[dependencies]\ncore = { path = "../core" }'),
        (
            UNDER_A_FEATURE,
            'gpu = ["cuda"]',
            '[features]\nfast = ["core/gpu"]\n[dependencies]\ncore = { path = "../core" }',
        ),
    ],
)
@pytest.mark.parametrize("gating", ["dummy", "cfg"])
def test_a_crate_whose_manifest_turns_cuda_on(
    text: str, features: str, needs: str, gating: str
) -> None:
    """E0432, E0531: nothing turns `rocm` on in the crate below when this one is built."""
    package = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2021"\n'
    shared = 'core = { path = "core", features = ["gpu"] }'
    needs = needs.replace("FEATURES", 'features = ["gpu"]')
    tree = {
        "Cargo.toml": f"[workspace]\nmembers = ['core', 'app']\n[workspace.dependencies]\n{shared}",
        "core/Cargo.toml": f"{package.format('core')}[features]\ncuda = []\n{features}\n",
        "core/src/lib.rs": GATED_DEVICE,
        "app/Cargo.toml": f"{package.format('app')}{needs}\n",
        "app/src/main.rs": f"use core::Device::{{self, Cuda}};\n{text}",
    }
    said = refused_in({path: each.encode() for path, each in tree.items()}, gating)
    assert len(said) == 2, "the import and the arm"
