"""The stage over files: what is read, written, refused and left alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from portkit.hipify.errors import KernelInputError, KernelOutputError
from portkit.hipify.stage import LARGEST_SOURCE, RECORD, hipify
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from pathlib import Path

CODE = "cudaStream_t stream;\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "cuda"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.cu").write_text('#include "inner/cuda_b.cuh"\n' + CODE)
    (folder / "inner" / "cuda_b.cuh").write_text(CODE)
    (folder / "plain.h").write_text("int x;\n")
    return folder


def test_a_folder_keeps_its_shape(source: Path, tmp_path: Path) -> None:
    report = hipify([source], tmp_path / "hip")
    assert (tmp_path / "hip" / "a.hip").read_text() == (
        '#include "hipx.h"\n#include "inner/hip_b.h"\nhipStream_t stream;\n'
    )
    assert (tmp_path / "hip" / "inner" / "hip_b.h").read_text() == (
        '#include "../hipx.h"\nhipStream_t stream;\n'
    )
    assert (tmp_path / "hip" / "plain.h").read_text() == "int x;\n"
    assert (tmp_path / "hip" / "hipx.h").exists()
    assert report.exit_code == 0


def test_a_byte_order_mark_is_passed_over(source: Path, tmp_path: Path) -> None:
    """Behind it the first line was no directive, and the prelude was put before it."""
    plain = hipify([source], tmp_path / "plain")
    for path in ("a.cu", "inner/cuda_b.cuh"):
        (source / path).write_bytes(b"\xef\xbb\xbf" + (source / path).read_bytes())
    marked = hipify([source], tmp_path / "marked")
    for path in ("a.hip", "inner/hip_b.h"):
        there, here = (tmp_path / each / path for each in ("plain", "marked"))
        assert here.read_bytes() == there.read_bytes()
    spans = [
        [finding.span.start for each in report.translations for finding in each.findings]
        for report in (plain, marked)
    ]
    assert [start + 3 for start in spans[0]] == spans[1]


def test_without_an_output_nothing_is_written(source: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    report = hipify([source])
    assert sorted(tmp_path.rglob("*")) == before
    assert [each.path for each in report.translations] == ["a.cu", "inner/cuda_b.cuh", "plain.h"]


def test_a_second_run_writes_nothing(source: Path, tmp_path: Path) -> None:
    hipify([source], tmp_path / "hip")
    again = hipify([source], tmp_path / "hip")
    assert again.written == ()
    assert "a.hip" in again.unchanged


def test_our_own_older_output_is_replaced(source: Path, tmp_path: Path) -> None:
    hipify([source], tmp_path / "hip")
    (source / "a.cu").write_text("int changed;\n")
    assert "a.hip" in hipify([source], tmp_path / "hip").written


@pytest.mark.parametrize("place", ["never written", "changed since"])
def test_what_a_person_wrote_is_not_overwritten(source: Path, tmp_path: Path, place: str) -> None:
    out = tmp_path / "hip"
    if place == "changed since":
        hipify([source], out)
    out.mkdir(exist_ok=True)
    (out / "a.hip").write_text("mine\n")
    said = r"a\.hip was not written by portkit or was changed since: .* pass --overwrite$"
    with pytest.raises(KernelOutputError, match=said):
        hipify([source], out)
    assert (out / "a.hip").read_text() == "mine\n"
    assert "a.hip" in hipify([source], out, overwrite=True).written


def test_a_record_that_is_damaged_counts_as_none(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "hip"
    hipify([source], out)
    (out / RECORD).write_text("{")
    assert hipify([source], out).written == ()
    (source / "a.cu").write_text("int changed;\n")
    (out / RECORD).write_text("[]")
    with pytest.raises(KernelOutputError):
        hipify([source], out)


def test_bad_files_are_named_and_others_go_on(source: Path, tmp_path: Path) -> None:
    (source / "binary.cu").write_bytes(b"\x7fELF\0\0")
    with (source / "large.cu").open("wb") as large:
        large.truncate(LARGEST_SOURCE + 1)
    report = hipify([source], tmp_path / "hip")
    assert [refusal.path for refusal in report.refusals] == ["binary.cu", "large.cu"]
    assert "binary file" in report.refusals[0].reason
    assert "larger than 16 MiB" in report.refusals[1].reason
    assert (tmp_path / "hip" / "a.hip").exists()
    assert report.exit_code == KernelInputError.exit_code


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_named(source: Path) -> None:
    (source / "a.cu").chmod(0)
    assert "cannot be read" in hipify([source]).refusals[0].reason


def test_missing_and_empty_places_are_errors(tmp_path: Path) -> None:
    with pytest.raises(KernelInputError, match="does not exist"):
        hipify([tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(KernelInputError, match="no CUDA source"):
        hipify([tmp_path / "empty"])


def test_two_sources_for_one_target_are_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "cuda"
    folder.mkdir()
    (folder / "cuda_x.cu").write_text(CODE)
    (folder / "hip_x.cu").write_text(CODE)
    with pytest.raises(
        KernelOutputError, match=r"cuda_x\.cu and hip_x\.cu would both become hip_x\.hip"
    ):
        hipify([folder], tmp_path / "hip")


def test_findings_that_remain_are_told_by_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text('void f() { asm("trap;"); }\n')
    (tmp_path / "b.cu").write_text(CODE)
    report = hipify([tmp_path / "a.cu", tmp_path / "b.cu"], tmp_path / "hip")
    assert report.exit_code == 1
    assert (tmp_path / "hip" / "a.hip").exists()
    careful = hipify(
        [tmp_path / "a.cu", tmp_path / "b.cu"], tmp_path / "careful", skip_unfinished=True
    )
    assert careful.exit_code == 1
    assert not (tmp_path / "careful" / "a.hip").exists()
    assert (tmp_path / "careful" / "b.hip").exists()


def test_what_a_comment_keeps_is_for_nobody(tmp_path: Path) -> None:
    comment = "// portkit: exclude PH203 {}\n"
    text = 'void f() {{\n    {}    asm("trap;");\n}}\n'
    (tmp_path / "a.cu").write_text(text.format(comment.format("f is not built for AMD")))
    report = hipify([tmp_path / "a.cu"], tmp_path / "hip", skip_unfinished=True)
    assert report.exit_code == 0
    (kept,) = [f for f in report.findings if f.code == "PH203"]
    assert (kept.applicability, kept.message) == (Applicability.KEEP, "f is not built for AMD")
    assert 'asm("trap;");' in (tmp_path / "hip" / "a.hip").read_text()
    # Another code, and a comment without a reason, keep nothing.
    for other in ("// portkit: exclude PH206 no\n", comment.format("")):
        (tmp_path / "a.cu").write_text(text.format(other))
        assert hipify([tmp_path / "a.cu"]).exit_code == 1


def test_other_encodings_pass_through(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(b"// \xe9t\xe9\ncudaStream_t s; // \xc3\xa9\n")
    hipify([tmp_path / "a.cu"], tmp_path / "hip")
    assert (tmp_path / "hip" / "a.hip").read_bytes() == (
        b'#include "hipx.h"\n// \xe9t\xe9\nhipStream_t s; // \xc3\xa9\n'
    )


def test_names_that_another_file_defines_are_no_findings(tmp_path: Path) -> None:
    folder = tmp_path / "cuda"
    folder.mkdir()
    (folder / "a.cu").write_text("void f() { cudaCheck(1); cudaDone(2); cudaNothing(3); }\n")
    (folder / "b.cuh").write_text(
        "#define cudaCheck(x) x\ninline int cudaDone(int x) { return x; }\n"
    )
    assert [finding.symbol for finding in hipify([folder]).remaining] == ["cudaNothing"]


def test_a_header_that_the_run_does_not_write_is_a_finding(tmp_path: Path) -> None:
    source = (
        '#include "common.cuh"\n#include "../deep/more.cuh"\n// #include "said.cuh"\n'
        '#include "cub/cub.cuh"\n#include "plain.h"\n'
        '#ifndef __HIPCC__\n#include "theirs.cuh"\n#endif\n'
    )
    (tmp_path / "a.cu").write_text(source)
    (tmp_path / "more.cuh").write_text("")

    def find_missing(*paths: Path) -> list[tuple[str, str]]:
        report = hipify(paths)
        assert report.exit_code == bool(report.remaining)
        return [(finding.symbol, finding.message) for finding in report.remaining]

    said = "which this run does not write: pass the folder that has both"
    missing = ("common.cuh", f"common.cuh becomes common.h, {said}")
    other = ("../deep/more.cuh", f"../deep/more.cuh becomes ../deep/more.h, {said}")
    assert find_missing(tmp_path / "a.cu") == [missing, other]
    assert find_missing(tmp_path) == [missing]
    (tmp_path / "common.cuh").write_text("")
    assert find_missing(tmp_path) == []


def test_the_headers_of_an_earlier_run_are_no_sources(tmp_path: Path) -> None:
    (tmp_path / "kernels" / "made").mkdir(parents=True)
    (tmp_path / "kernels" / "a.cu").write_text("int x;\n")
    hipify([tmp_path / "kernels"], tmp_path / "kernels" / "made")
    assert (tmp_path / "kernels" / "made" / "hipx_warp.h").exists()
    report = hipify([tmp_path / "kernels"], tmp_path / "out")
    assert [each.path for each in report.translations] == ["a.cu"]
