"""The step: what becomes of what the program says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cli_support import make_candle

from portkit.codebases.directory import Directory
from portkit.codebases.registry import MAIN
from portkit.engine.session import scan_tree
from portkit.numerics.comparison import Comparison, Difference, Part
from portkit.numerics.known_differences import (
    KnownDifference,
    KnownTable,
    UnlaunchedKernels,
    judge_differences,
)
from portkit.verify import crosscheck
from portkit.verify.crosscheck import CrosscheckRun, judge_comparisons, run_crosscheck
from portkit.verify.device_choice import ChosenDevice, DeviceRun
from portkit.verify.device_log import DeviceLog
from portkit.verify.options import Options
from portkit.verify.step_runner import Verdict
from portkit.verify.verified_tree import VerifiedTree
from portkit.workspace.process import FinishedProcess
from tools.proof.report import page

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

RUN = DeviceRun("gfx1100, wave 32")
CPU = ChosenDevice("the CPU device", True, {}, (RUN,))
GPU = ChosenDevice("the AMD GPU", False, {}, (RUN,))
WRONG = Difference(
    "sum", "f32", Part("finite", "1, expected 2", 3.0), case="sum/f32/1/0/2", inputs=("f32 [2]",)
)
TABLE = KnownTable(
    (KnownDifference("upstream", "CUDA does so.", "mean"),),
    (UnlaunchedKernels("probe", "a test of the device"),),
)


def compared(*differences: Difference, seen: DeviceLog | None = None) -> CrosscheckRun:
    counts = {"sum": Counter(cases=4, agreed=4 - len(differences), differed=len(differences))}
    comparison = Comparison("0.11.1", "rocm", 1, 4, differences, counts)
    return CrosscheckRun(
        RUN, comparison, TABLE, judge_differences(differences, TABLE, "0.11.1"), seen or DeviceLog()
    )


def test_agreement_passes() -> None:
    found = judge_comparisons(CPU, [compared(seen=DeviceLog(Counter(sum_f32=9)))])
    assert found.verdict is Verdict.PASSED
    assert (
        found.evidence[0] == "4 cases of 1 operations on the CPU device (gfx1100, wave 32), seed 1"
    )
    assert found.figures["unexplained"] == 0


def test_a_difference_that_is_understood_passes_and_is_told() -> None:
    mean = Difference("mean", "f32", WRONG.device)
    found = judge_comparisons(CPU, [compared(mean)])
    assert found.verdict is Verdict.PASSED
    assert "differences that are understood: 1 upstream" in found.evidence


def test_an_entry_that_no_run_needs_is_told_where_all_was_taken() -> None:
    mean = Difference("mean", "f32", WRONG.device)
    told = "an entry of crosscheck.toml that explains nothing: upstream: mean (.*)"
    assert told in judge_comparisons(CPU, [compared()]).evidence
    assert told not in judge_comparisons(CPU, [compared()], whole=False).evidence
    # One of two wavefronts needs it.
    assert told not in judge_comparisons(CPU, [compared(), compared(mean)]).evidence
    assert "- upstream: mean (.*): CUDA does so." in page("candle", "2026-01-02", [compared()])
    assert "explain nothing" not in page("candle", "2026-01-02", [compared()], whole=False)


def test_any_other_difference_fails_and_says_how_to_see_it() -> None:
    found = judge_comparisons(CPU, [compared(WRONG)])
    assert found.verdict is Verdict.FAILED
    assert found.evidence[1] == (
        "gfx1100, wave 32: sum of f32: device finite: 1, expected 2"
        " (crosscheck --case 'sum/f32/1/0/2')"
    )


def test_a_kernel_that_nothing_launches_fails_where_launches_are_counted() -> None:
    # The probe has an entry in the table.
    seen = DeviceLog(Counter({"brand_new_f32": 0, "probe": 0, "add_f32": 3}))
    found = judge_comparisons(CPU, [compared(seen=seen)])
    assert found.verdict is Verdict.FAILED
    assert [line for line in found.evidence if "launches" in line] == [
        "gfx1100, wave 32: no operation launches brand_new_f32"
    ]
    assert judge_comparisons(CPU, [compared(seen=seen)], whole=False).verdict is Verdict.PASSED
    assert judge_comparisons(GPU, [compared(seen=seen)]).verdict is Verdict.PASSED


def test_a_few_cases_need_not_launch_every_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = DeviceLog(Counter({"brand_new_f32": 0}))
    monkeypatch.setattr(crosscheck, "choose_device", lambda tree: CPU)
    monkeypatch.setattr(
        crosscheck, "compare_on_device", lambda *given, **named: [compared(seen=seen)]
    )
    tree = VerifiedTree(scan_tree(make_candle(tmp_path / "candle")), Options(), lambda line: None)
    assert run_crosscheck(tree).verdict is Verdict.FAILED
    assert run_crosscheck(tree, cases=6).verdict is Verdict.PASSED


def test_a_defect_that_the_device_sees_fails() -> None:
    seen = DeviceLog(Counter(sum_f32=9), 9, Counter({"shared-race: sum_f32 at line 9": 2}))
    found = judge_comparisons(CPU, [compared(seen=seen)])
    assert found.verdict is Verdict.FAILED
    assert found.figures["defects"] == 1


def test_the_page_tells_all_of_it() -> None:
    mean = Difference("mean", "f32", WRONG.device, times=2)
    seen = DeviceLog(Counter({"sum_f32": 0, "conv1d_f32": 0, "add_f32": 3}))
    text = page("candle 0.11.1", "2026-01-02", [compared(mean, WRONG, seen=seen)])
    assert "# Cross-check by operation: candle 0.11.1" in text
    assert "Taken on 2026-01-02. Seed 1, up to 4 cases" in text
    assert "| gfx1100, wave 32 | 4 | 2 | 0 | 2 | 1 |" in text
    assert "| upstream | mean | f32 | device | 2 | CUDA does so. |" in text
    assert "- device: sum of f32: the device finite (1, expected 2) [sum/f32/1/0/2]" in text
    assert "1 of 3 kernels were launched." in text


def test_a_codebase_brings_the_program_that_knows_its_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    own = tmp_path / "own"
    own.mkdir()
    (own / MAIN).write_text('name = "toy"\ncrate = "candle-core"\nfirst_version = "0.1.0"\n')
    (own / "crosscheck.toml").write_text("")
    root = make_candle(tmp_path / "candle")
    tree = VerifiedTree(scan_tree(root, profile=Directory(own)), Options(), lambda line: None)
    assert (
        run_crosscheck(tree).verdict is Verdict.SKIPPED
    )  # portkit's program knows another's operations
    (own / "crosscheck/src").mkdir(parents=True)
    (own / "crosscheck/Cargo.toml").write_text('[package]\nname = "crosscheck"\n')
    (own / "crosscheck/src/main.rs").write_text("fn main() {}\n")
    built: list[Path] = []

    def cargo(*_: object, folder: Path, **__: object) -> FinishedProcess:
        built.append(folder)
        return FinishedProcess(0, ())

    monkeypatch.setattr(VerifiedTree, "run_cargo", cargo)
    program = crosscheck.build_program(tree, CPU)
    assert program.name == "crosscheck"
    (crate,) = built
    assert (crate / "src/main.rs").read_text() == "fn main() {}\n"
    assert (crate.parent / "toy").resolve() == root


def test_a_run_goes_on_whatever_is_built_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "target" / "crosscheck"
    program.parent.mkdir()
    program.write_text("of this run")

    def once(tree: VerifiedTree, own: Path, *given: object) -> CrosscheckRun:
        program.unlink()
        program.write_text("of another run")
        assert own.read_text() == "of this run"
        # A sandbox hides other folders, and no program may be run in some.
        assert own.is_relative_to(program.parent)
        return compared()

    monkeypatch.setattr(crosscheck, "build_program", lambda *given, **named: program)
    monkeypatch.setattr(crosscheck, "_run_once", once)
    tree = VerifiedTree(scan_tree(make_candle(tmp_path / "candle")), Options(), lambda line: None)
    assert crosscheck.compare_on_device(tree, CPU, TABLE) == (compared(),)
