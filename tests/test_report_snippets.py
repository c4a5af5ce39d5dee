"""The text at a place, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli_support import LIB, MATMUL, add_file, make_candle
from msgspec.structs import replace

from portkit.editor.diagnostics import EditorFinding
from portkit.editor.diagnostics import describe_site as described_in_editor
from portkit.editor.positions import START
from portkit.engine.session import scan_tree
from portkit.port.item_patches import find_patch_findings
from portkit.profiles.entries import CopyRepair
from portkit.report.explanation import describe_site
from portkit.report.model import make_report
from portkit.report.snippets import BRANCHES, CONTEXT, LONGEST, build_snippets
from portkit.report.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from portkit.report.snippets import Hunk


def shown(candle: Path, code: str, path: str = "") -> tuple[Hunk, ...]:
    """Return the hunks of the first place with a code, in a path where one is named."""
    scan = scan_tree(candle, gating="dummy")
    sites = [s for s in make_report(scan, ".").sites if s.code == code and path in s.path]
    return build_snippets(scan).get(sites[0].id, ())


def test_a_change_has_the_lines_around_it(tmp_path: Path) -> None:
    (hunk,) = shown(make_candle(tmp_path / "candle"), "PK301", LIB)
    assert (hunk.before, hunk.after) == (LIB, LIB)
    text = (tmp_path / "candle" / LIB).read_text().split("\n")
    kept = [line[1:] for line in hunk.lines if line[0] in " -"]
    assert kept == text[hunk.line - 1 : hunk.line - 1 + len(kept)]
    assert [line for line in hunk.lines if line[0] == "+"] == [
        '+            Self::Rocm(_) => "rocm",'
    ]
    assert not any(line[0] == "-" for line in hunk.lines)


def test_what_is_ported_shows_what_stands(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    place = candle / LIB
    place.write_text(
        place.read_text().replace(
            'Self::Cuda(_) => "cuda",',
            'Self::Cuda(_) => "cuda",\n            Self::Rocm(_) => "rocm",',
        )
    )
    (hunk,) = shown(candle, "PK301", LIB)
    here = [line[1:].strip() for line in hunk.lines if line[0] == "="]
    assert here == ['Self::Cuda(_) => "cuda",']
    assert hunk.after == ""


def test_a_bug_that_the_copy_does_not_have_is_shown_beside_what_the_copy_has(
    tmp_path: Path,
) -> None:
    candle = make_candle(tmp_path / "candle")
    path = "candle-core/src/cuda_backend/mod.rs"
    text = "pub struct CudaDevice;\n\npub fn cuda_share(n: usize) -> usize {\n    10 / n\n}\n"
    add_file(candle, path, text.encode())
    scan = scan_tree(candle)
    mend = CopyRepair(
        path=path,
        symbol="cuda_share",
        match="10 / n",
        write="10_usize.checked_div(n).unwrap_or(0)",
        reason="n may be 0",
    )
    job = replace(scan.job, codebase=replace(scan.job.codebase, patches=(mend,)))
    found = tuple(find_patch_findings(job, job.workspace.sources[path], CopyRepair))
    mended = replace(scan, job=job, findings=found)
    ((hunk,),) = build_snippets(mended).values()
    assert (hunk.after, hunk.line) == ("candle-core/src/rocm_backend/mod.rs", 3)
    assert hunk.lines == (
        " pub fn rocm_share(n: usize) -> usize {",
        "-    10 / n",
        "+    10_usize.checked_div(n).unwrap_or(0)",
        " }",
    )
    # A terminal and an editor show it as well: what is asked there is whether that is right.
    (site,) = make_report(mended, ".").sites
    written = describe_site(mended, site, found[0], Terminal(100))
    hover = described_in_editor(mended, EditorFinding(site, found[0], path, START))
    for text in (written, hover):
        assert "rocm_backend/mod.rs" in text
        assert "\n-    10 / n\n+    10_usize.checked_div(n).unwrap_or(0)\n" in text


def test_a_copied_file_shows_where_the_copy_differs(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    path = "candle-core/src/cuda_backend/mod.rs"
    lines = (
        ["//! CUDA."] + ["// one", "// two", "// three", "// four"] * 5 + ["pub struct CudaDevice;"]
    )
    add_file(candle, path, "\n".join([*lines, ""]).encode())
    hunks = shown(candle, "PK101")
    assert {(h.before, h.after) for h in hunks} == {(path, "candle-core/src/rocm_backend/mod.rs")}
    added = [line for hunk in hunks for line in hunk.lines if line[0] == "+"]
    assert "+pub struct RocmDevice;" in added
    assert hunks[-1].line == len(lines) - 3  # three lines of context before the last line


def test_a_new_file_is_shown_up_to_a_limit(tmp_path: Path) -> None:
    hunks = shown(make_candle(tmp_path / "candle"), "PK103", "candle-hip")
    assert {hunk.before for hunk in hunks} == {""}
    longest = max(hunks, key=lambda hunk: len(hunk.lines) + hunk.left_out)
    assert len(longest.lines) == LONGEST
    assert longest.left_out > 0


BRANCHED = """
use crate::Device;

pub fn widened(device: &Device) -> usize {
    if device.is_cuda() {
        let one = 1;
        let two = 2;
        let three = 3;
        one + two + three
    } else {
        4 // what is not widened takes this
    }
}

pub fn peer(device: &Device) -> usize {
    if device.is_metal() {
LINES
        5
    } else {
        6
    }
}
"""


def test_what_a_condition_decides_is_shown_to_its_end(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    for count, seen in ((5, True), (60, False)):
        lines = "\n".join(f"        let _{n} = {n};" for n in range(count))
        add_file(candle, MATMUL, BRANCHED.replace("LINES", lines).encode())
        (hunk,) = shown(candle, "PK401", MATMUL)
        assert hunk.lines[-2:] == ("         4 // what is not widened takes this", "     }")
        (peer,) = shown(candle, "PK405", MATMUL)
        assert ("         6" in peer.lines) is seen
        assert len(peer.lines) <= CONTEXT + 1 + BRANCHES


def test_line_endings_are_not_part_of_a_line(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    place = candle / MATMUL
    place.write_bytes(place.read_bytes().replace(b"\n", b"\r\n"))
    (hunk,) = shown(candle, "PK401", MATMUL)
    assert not any("\r" in line for line in hunk.lines)
    assert sum(line[0] in "-+" for line in hunk.lines) == 2


def test_a_file_that_is_left_alone_as_a_whole_is_not_shown(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    add_file(candle, "candle-kernels/src/affine.cu", b"// CUDA\n__global__ void f() {}\n")
    add_file(candle, "README.md", b"# CUDA\n")
    assert shown(candle, "PK102") == ()
