"""The work plan, and the phases and estimates that it is made of."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli_support import invoke, make_candle
from codebase_support import CANDLE
from msgspec.structs import replace
from report_support import EVERY_KIND, TITLES, made

from portkit.codebases.directory import Directory
from portkit.errors import ProfileError
from portkit.report.effort import estimate_minutes, estimate_saved_minutes, format_minutes
from portkit.report.model import ReportedSite
from portkit.report.phases import Phase, find_phase, load_phases
from portkit.report.workplan import Priority, build_work_plan, render_work_plan
from portkit.workspace.finding import Applicability, Status

ROOT = Path(__file__).parents[1]


def test_the_phases_of_candle_have_the_promised_order() -> None:
    assert [phase.title for phase in load_phases(CANDLE)] == TITLES


@pytest.mark.parametrize(
    ("code", "path", "title"),
    [
        ("PK201", "candle-nn/Cargo.toml", "Manifests and features"),
        ("PK103", "candle-hip", "HIP bindings"),
        ("PK102", "candle-metal-kernels/src/lib.rs", "Kernels"),
        ("PK101", "candle-core/src/cuda_backend/mod.rs", "Device and storage"),
        ("PK101", "candle-core/src/dummy_cuda_backend.rs", "Device and storage"),
        ("PK301", "candle-core/src/tensor.rs", "Tensors"),
        ("PK504", "candle-core/src/custom_op.rs", "Custom operations"),
        ("PK101", "candle-core/src/quantized/cuda.rs", "Quantized"),
        ("PK602", "candle-core/tests/quantized_tests.rs", "Examples and tests"),
        ("PK109", "candle-flash-attn/src/lib.rs", "Flash attention"),
        ("PK109", "Cargo.toml", "Flash attention"),
        ("PK401", "candle-transformers/src/models/qwen3_moe.rs", "Models"),
        ("PK505", "candle-pyo3/src/lib.rs", "Python"),
        ("PK105", "README.md", "Documentation and CI"),
    ],
)
def test_a_place_belongs_to_its_phase(code: str, path: str, title: str) -> None:
    site = ReportedSite(path, 1, 1, 1, 1, code, "c", "s", Applicability.SAFE, Status.TODO, "m", "i")
    found = find_phase(site, load_phases(CANDLE))
    assert found is not None
    assert found.title == title


def test_a_codebase_without_phases_has_those_of_any() -> None:
    assert load_phases(None)[0].title == "Manifests and features"
    assert load_phases(Directory(Path(__file__).parent)) == load_phases(None)


def test_a_malformed_file_of_phases_is_said(tmp_path: Path) -> None:
    for text in ("", '[[phase]]\nname = "x"\n', "phase = 1\n", "[[phase"):
        (tmp_path / "phases.toml").write_text(text)
        with pytest.raises(ProfileError, match=r"phases\.toml"):
            load_phases(Directory(tmp_path))


def test_each_place_that_asks_something_is_in_the_plan_once() -> None:
    stages = build_work_plan(made(*EVERY_KIND))
    found = [site for stage in stages for task in stage.tasks for site in task.sites]
    assert sorted(site.id for site in found) == [site.id for site in EVERY_KIND[:6]]
    priorities = [task.priority for stage in stages for task in stage.tasks]
    assert priorities == [
        Priority.NONE,
        Priority.HIGH,
        Priority.MEDIUM,
        Priority.MEDIUM,
        Priority.MEDIUM,
    ]


def test_what_is_ported_is_done() -> None:
    ((task,),) = (stage.tasks for stage in build_work_plan(made(EVERY_KIND[1])))
    assert task.done
    plan = render_work_plan(made(EVERY_KIND[1]))
    assert "- [x] 1 place written" in plan
    # What it would have cost by hand is of no use any more.
    assert "by hand" not in plan
    assert "by hand it would take about 10 min" in render_work_plan(made(EVERY_KIND[0]))


def test_estimates_are_what_they_assume() -> None:
    # Three places to look at, of 10 minutes, and one to write, of two hours.
    assert estimate_minutes(EVERY_KIND) == 3 * 10 + 120
    assert estimate_saved_minutes(EVERY_KIND) == 10
    assert [format_minutes(n) for n in (0, 5, 60, 150)] == ["0 min", "5 min", "1 h", "2 h 30 min"]
    text = render_work_plan(made(*EVERY_KIND))
    assert "4 places for a person (1 manual, 3 for review), about 2 h 30 min." in text
    assert "`portkit apply` writes 2 places (1 mechanical, 1 for review; nothing is" in text


@pytest.mark.parametrize("code", ["PH101", "PK103"])
def test_what_is_translated_or_added_is_no_part_of_the_estimate(code: str) -> None:
    """A crate of ten thousand lines was said to take ten minutes."""
    other = replace(EVERY_KIND[0], code=code, id=f"{code}-00000001")
    assert estimate_saved_minutes((*EVERY_KIND, other)) == estimate_saved_minutes(EVERY_KIND)


def test_the_plan_is_a_checklist(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    text = invoke("scan", candle, "--format", "plan").out
    summary = json.loads(invoke("scan", candle, "--format", "json").out)["summary"]
    tasks = re.findall(r"^- \[([ x])\] (.*)$", text, re.MULTILINE)
    assert all(mark == " " for mark, _ in tasks)
    counts = [int(n) for n in re.findall(r"\] write (\d+) place", text)]
    assert sum(counts) == summary["applicability"]["safe"]
    assert "`candle-core/src/matmul.rs:8`" in text
    assert invoke("apply", candle, "--no-format").code == 0
    again = invoke("scan", candle, "--format", "plan").out
    assert "- [ ] write" not in again
    assert "- [x]" in again


def test_a_phase_that_names_the_code_counts_first() -> None:
    order = (
        Phase(title="paths", verify="true", paths=("a/x*",)),
        Phase(title="codes", verify="true", codes=("PK3",)),
    )
    assert find_phase(EVERY_KIND[0], order) is order[1]
    assert find_phase(EVERY_KIND[2], order) is order[0]
    assert find_phase(EVERY_KIND[5], order) is None
