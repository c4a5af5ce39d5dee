"""The checks of the tree as the port will leave it, and what becomes of what they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from tree_support import Tree, crate, scan_of

from portkit.checks import CHECKS, Doubt, PortedTree
from portkit.engine.refused_findings import apply_checks
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from portkit.engine.scan import Scan

DEVICE = """\
pub enum Device {
    Cpu,
    Cuda(usize),
}

pub fn number(device: &Device) -> usize {
    match device {
        Device::Cpu => 0,
        Device::Cuda(n) => *n,
    }
}

pub fn is_cuda(device: &Device) -> bool {
    matches!(device, Device::Cuda(_))
}
"""
MANIFEST = b"""\
[package]
name = "fixture"
version = "0.1.0"
edition = "2021"

[features]
cuda = []
"""


def written(tree: Tree, path: str, old: str, new: str) -> Scan:
    """Return the scan of a tree in which one text of what findings write is another."""
    scan = scan_of(tree)

    def spoilt(finding: Finding) -> Finding:
        edits = [e._replace(text=e.text.replace(old, new)) for e in finding.edits]
        return replace(finding, edits=tuple(edits)) if finding.path == path else finding

    found = replace(scan, findings=tuple(map(spoilt, scan.findings)))
    assert found.findings != scan.findings
    return found


def manual(scan: Scan) -> list[Finding]:
    return [f for f in scan.findings if f.applicability is Applicability.MANUAL]


def test_a_good_port_is_left_as_it_is() -> None:
    scan = scan_of({**crate(DEVICE), "Cargo.toml": MANIFEST})
    assert any(f.status is Status.TODO for f in scan.findings)
    assert apply_checks(scan) is scan


def test_rust_that_does_not_parse_is_not_written() -> None:
    scan = written(crate(DEVICE), "src/lib.rs", "pub fn is_rocm", "pub fn fn is_rocm")
    (found,) = manual(apply_checks(scan))
    assert (found.status, found.edits) == (Status.NONE, ())
    assert "no longer parses" in found.message
    others = [f for f in apply_checks(scan).findings if f.status is Status.TODO]
    assert others


def test_toml_that_says_a_table_twice_is_not_written() -> None:
    tree = {**crate(DEVICE), "Cargo.toml": MANIFEST}
    scan = written(tree, "Cargo.toml", "rocm = []", "[features]\nrocm = []")
    (found,) = manual(apply_checks(scan))
    assert "TOML" in found.message


def test_a_file_that_did_not_parse_before_is_the_trees_own() -> None:
    scan = scan_of(crate(DEVICE + "\nfn broken( {\n"))
    assert apply_checks(scan) is scan


def test_of_two_edits_of_the_same_bytes_one_is_written() -> None:
    scan = scan_of(crate(DEVICE))
    first = next(f for f in scan.findings if f.edits)
    at = first.span
    both = tuple(
        replace(first, code=code, edits=(Edit(at.start, at.end, "Cuda(usize), Rocm(usize)"),))
        for code in ("PK998", "PK999")
    )
    rest = [f for f in scan.findings if f is not first]
    found = apply_checks(replace(scan, findings=(*rest, *both)))
    assert [f.code for f in manual(found)] == ["PK999"]


def test_an_arm_without_its_variant_is_not_written() -> None:
    scan = written(crate(DEVICE), "src/lib.rs", "Rocm(usize)", "Rocm(usize")
    found = apply_checks(scan)
    assert not any("Device::Rocm" in e.text for f in found.findings for e in f.edits)


def test_a_part_of_a_written_file_leads_to_its_finding() -> None:
    scan = scan_of(crate(DEVICE))
    after = PortedTree(scan.job, scan.findings).written("src/lib.rs")
    assert after is not None
    at = after.source.data.index(b"fn is_rocm")
    (writer,) = after.find_writers(at, at + 1)
    assert any("fn is_rocm" in edit.text for edit in writer.edits)
    assert after.find_writers(0, 1) == ()


def test_what_is_refused_leaves_the_other_files_read() -> None:
    scan = scan_of({**crate(DEVICE), "Cargo.toml": MANIFEST})
    ported = PortedTree(scan.job, scan.findings)
    assert not [each for check in CHECKS for each in check(ported)]
    manifest = ported.written("Cargo.toml")
    rest = ported.without(ported.edited["src/lib.rs"])
    assert rest.written("src/lib.rs") is None
    assert rest.written("Cargo.toml") is manifest


PATCHED = {
    "patch": [
        {
            "code": "PK109",
            "path": "src/lib.rs",
            "find": "pub fn is_cuda",
            "write": '#[cfg(feature = "cuda")]\n$all',
            "reason": "it is CUDA's",
        },
        {
            "code": "PK109",
            "path": "Cargo.toml",
            "find": "[dependencies]",
            "write": '[features]\ndefault = ["cuda"]\ncuda = []\n\n$all',
            "reason": "it is CUDA's",
        },
    ]
}
WITHOUT = MANIFEST.replace(
    b"\n[features]\ncuda = []\n", b"\n[features]\nstd = []\n\n[dependencies]\n"
)


def test_a_patch_that_opens_a_table_twice_is_left_out_with_what_needs_it() -> None:
    scan = scan_of({**crate(DEVICE), "Cargo.toml": WITHOUT}, PATCHED)
    found = {f.path: f.message for f in manual(scan) if f.code == "PK109"}
    assert "TOML" in found["Cargo.toml"]
    assert "does not have" in found["src/lib.rs"]


def test_a_patch_that_opens_a_table_once_is_written() -> None:
    without = WITHOUT.replace(b"[features]\nstd = []\n\n", b"")
    scan = scan_of({**crate(DEVICE), "Cargo.toml": without}, PATCHED)
    written = {f.path for f in scan.findings if f.code == "PK109" and f.status is Status.TODO}
    assert written == {"Cargo.toml", "src/lib.rs"}


def test_an_arm_under_a_feature_that_its_crate_lacks_is_not_written() -> None:
    """The crate below has the variant, and no build of this one would have the arm."""
    core = DEVICE[: DEVICE.index("pub fn")].encode()
    tree = {
        "Cargo.toml": b'[workspace]\nmembers = ["core", "serve"]\n',
        "core/Cargo.toml": MANIFEST.replace(b"fixture", b"core"),
        "core/src/lib.rs": core,
        "serve/Cargo.toml": b'[package]\nname = "serve"\n[dependencies]\n'
        b'core = { path = "../core" }\n',
        "serve/src/lib.rs": b"use core::Device;\n" + DEVICE[DEVICE.index("pub fn") :].encode(),
    }
    assert not manual(scan_of(tree))
    found = manual(scan_of(tree, gating="cfg"))
    assert {f.path for f in found} == {"serve/src/lib.rs"}
    assert all("the crate serve does not have" in f.message for f in found)
    # rustc: E0004 at the match, "pattern `&Device::Rocm(_)` not covered"
    source = tree["serve/src/lib.rs"]
    arms = [f for f in found if f.construct.startswith("match arm")]
    assert arms
    assert all(source[f.span.start :].startswith(b"match ") for f in arms)


def test_a_doubt_leaves_a_manual_finding_manual(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *rest = (scan := scan_of(crate(DEVICE))).findings
    by_hand = replace(first, applicability=Applicability.MANUAL)
    trusted = next(f for f in rest if f.applicability is Applicability.SAFE)

    def doubt(_: PortedTree) -> Iterator[Doubt]:
        yield from (Doubt(each, "Check it") for each in (by_hand, trusted))

    monkeypatch.setattr("portkit.engine.refused_findings.DOUBTS", (doubt,))
    found = apply_checks(replace(scan, findings=(by_hand, *rest)))
    assert [f.applicability for f in found.findings if f.message.endswith("Check it")] == [
        Applicability.MANUAL,
        Applicability.REVIEW,
    ]


def test_files_whose_findings_stay_the_same_stay_read() -> None:
    scan = scan_of({**crate(DEVICE), "Cargo.toml": MANIFEST})
    ported = PortedTree(scan.job, scan.findings)
    before = {path: ported.written(path) for path in ("Cargo.toml", "src/lib.rs")}
    assert None not in before.values()
    rest = tuple(f for f in scan.findings if f.path != "src/lib.rs")
    after = ported.with_findings(rest)
    assert after.written("Cargo.toml") is before["Cargo.toml"]
    assert after.written("src/lib.rs") is None
