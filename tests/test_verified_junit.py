"""The JUnit document of ``portkit verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from cli_support import invoke, make_candle

from portkit.report.verify_junit import render_verify_junit
from portkit.verify import Options, step_runner
from portkit.verify.step_runner import (
    Outcome,
    Result,
    Summary,
    Verdict,
    fail_step,
    pass_step,
    skip_step,
)

if TYPE_CHECKING:
    from pathlib import Path

ON = "gfx1100, wave 32"
RAN = Outcome(
    Verdict.FAILED,
    ("1 of 3 tests failed", "the other 2 passed"),
    tests=(
        step_runner.TestResult("core::add", ON, "ok"),
        step_runner.TestResult("core::sort", ON, "panicked: left != right\nat sort.rs:3"),
        step_runner.TestResult("core::slow", ON, "ignored"),
    ),
)
RESULTS = (
    Result("format", "clean", pass_step("no file", left_out=["one <file>"]), 1.25),
    Result("check", "compiles", skip_step("no cargo")),
    Result("device", "runs", RAN, 2.0, 48),
    Result("kernels", "fit", Outcome(Verdict.NOT_TAKEN, ("the run ended here",))),
    Result("names", "there", fail_step("softmax is missing"), 0.0, 47),
)


def test_it_has_a_case_for_each_step_and_test() -> None:
    root = ElementTree.fromstring(render_verify_junit("candle", Options(), Summary(RESULTS)))
    assert root.get("name") == "portkit verify candle"
    counts = {"tests": "8", "failures": "3", "errors": "1", "skipped": "2"}
    assert {name: root.get(name) for name in counts} == counts
    assert {
        (suite.get("name"), case.get("name")): [(child.tag, child.get("message")) for child in case]
        for suite in root
        for case in suite
    } == {
        ("format", "format"): [("system-out", None)],
        ("check", "check"): [("skipped", "no cargo")],
        ("device", "device"): [("failure", "1 of 3 tests failed")],
        ("device", "core::add"): [],
        ("device", "core::sort"): [("failure", "panicked: left != right")],
        ("device", "core::slow"): [("skipped", "the test says so itself")],
        ("kernels", "kernels"): [("error", "the run ended here")],
        ("names", "names"): [("failure", "softmax is missing")],
    }
    assert [suite.get("time") for suite in root] == ["1.25", "0", "2", "0", "0"]
    assert {case.get("classname") for case in root[2]} == {"portkit verify", f"device on {ON}"}
    assert root.findtext(".//system-out") == "no file\nleft out: one <file>"
    assert "at sort.rs:3" in (root.findtext("./testsuite/testcase[@name='core::sort']/*") or "")


@pytest.mark.parametrize("json", ["-", "verify.json"])
def test_the_command_writes_it_beside_the_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, json: str
) -> None:
    candle = make_candle(tmp_path / "candle")
    monkeypatch.chdir(tmp_path)
    done = invoke("verify", candle, "--only", "coverage", "--json", json, "--junit", "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [case.get("name") for case in root.iter("testcase")] == ["coverage"]
    assert (tmp_path / "verify.json").exists() == (json != "-")
    assert done.out.startswith("{") == (json == "-")
