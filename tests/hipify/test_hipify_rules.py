"""Every rule against its fixtures: written by hand, so that the expectation is not our output."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from portkit.hipify.engine import own_names, translate
from portkit.hipify.profile import NO_PROFILE
from portkit.hipify.rules import RULES, find_rule
from portkit.tree.finding import Applicability

FIXTURES = Path(__file__).parent.parent / "fixtures" / "hipify"
CASES = sorted(path.parent for path in FIXTURES.glob("*/*/before.cu"))


@pytest.fixture(params=CASES, ids=[f"{case.parent.name}/{case.name}" for case in CASES])
def case(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_result_is_exact(case: Path) -> None:
    result = translate("before.cu", (case / "before.cu").read_bytes())
    assert result.content.decode() == (case / "after.hip").read_text()


def test_a_second_run_changes_nothing(case: Path) -> None:
    after = (case / "after.hip").read_bytes()
    assert translate("after.cu", after).content == after


def test_refusals_are_the_expected_ones(case: Path) -> None:
    source = (case / "before.cu").read_bytes()
    newline = b"\n"
    found = [
        f"{finding.code} {source[: finding.span.start].count(newline) + 1}"
        for finding in translate("before.cu", source).findings
        if finding.applicability is Applicability.MANUAL
    ]
    expected = case / "findings.txt"
    assert found == (expected.read_text().splitlines() if expected.exists() else [])


def test_line_ends_of_other_systems_are_kept(case: Path) -> None:
    before = (case / "before.cu").read_bytes().replace(b"\n", b"\r\n")
    lines = translate("before.cu", before).content.split(b"\n")
    # Only the line that the prelude rule adds is ours.
    assert all(line.endswith(b"\r") for line in lines[1:-1])


def test_every_rule_has_a_fixture_that_it_finds_something_in() -> None:
    for rule in RULES:
        cases = [case for case in CASES if case.parent.name == rule.name]
        codes = {
            finding.code
            for case in cases
            for finding in translate("x.cu", (case / "before.cu").read_bytes()).findings
        }
        assert rule.code in codes, f"{rule.name} has no fixture"


def test_codes_are_unique_and_rules_are_documented() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert "Source:" in rule.doc or "What to do:" in rule.doc, rule.name


def test_rules_are_found_by_their_code() -> None:
    found = find_rule("ph105")
    assert found is not None
    assert found.name == "warp_sync"
    assert find_rule("PH999") is None


def test_a_name_of_another_library_is_said_to_be_its_own() -> None:
    case = FIXTURES / "unknown_name" / "of_another_library"
    found = translate("before.cu", (case / "before.cu").read_bytes()).findings
    messages = [f.message for f in found if f.code == "PH201"]
    assert messages == [
        "at::cuda::currentStream belongs to at: see what it is in a build for ROCm",
        "cuda::device_count: no rule; write the HIP side by hand",
    ]


def test_a_header_of_the_tree_may_have_the_name_of_one_of_cuda_s() -> None:
    source = b'#include "deep/mma.h"\n#include <mma.h>\n#include "nvml.h"\n'
    own = own_names({"deep/mma.h": b"", "nvml.h": b""})
    result = translate("a.cu", source, own=own)
    assert result.content == (
        b'#include "hipx.h"\n#include "deep/mma.h"\n#include "hipx_wmma.h"\n#include "nvml.h"\n'
    )
    assert all(f.applicability is not Applicability.MANUAL for f in result.findings)


def test_what_macros_hide_from_amd_is_not_refused() -> None:
    source = b'#ifdef MINE\nint x;\n#else\nint cudaNotAnApi; void f() { asm("trap;"); }\n#endif\n'
    refused = [f.code for f in translate("a.cu", source).findings if f.code.startswith("PH2")]
    assert refused == ["PH201", "PH203"]
    mine = replace(NO_PROFILE, defined=frozenset({"MINE"}))
    found = translate("a.cu", source, mine).findings
    assert [f.code for f in found] == ["PH101"]
