"""Defects: what they change, that they go away again, and what is told of them."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from codebase_support import CANDLE

from portkit.codebases.directory import Directory
from portkit.errors import ProfileError, VerificationError
from portkit.verify.step_runner import Result, Summary, fail_step, pass_step, skip_step
from tools.proof import mutation_run
from tools.proof.mutation import Mutant, load_mutants, seeded
from tools.proof.mutation_run import LADDER, Found, known, page, take_steps

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from portkit.verify.options import Options
    from portkit.verify.step_runner import Outcome, Step

SWAPPED = Mutant(
    "swapped",
    "a and b change places",
    "src/a.rs",
    r"\((\w), (\w)\)",
    r"(\2, \1)",
    after="fn g",
    operations="add/",
)
DAY = "2026-01-02"
TEXT = "fn f() { h(a, b) }\nfn g() { h(a, b); h(a, b) }\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.rs").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_one_place_is_changed_after_another(root: Path) -> None:
    place = root / "src" / "a.rs"
    with seeded(root, SWAPPED):
        seen = place.read_text(encoding="utf-8")
    assert seen == "fn f() { h(a, b) }\nfn g() { h(b, a); h(a, b) }\n"
    assert place.read_text(encoding="utf-8") == TEXT


def test_defects_can_share_a_build(root: Path) -> None:
    first = Mutant("one", "x", "src/a.rs", r"h\(a, b\)", "h(b, a)")
    second = Mutant("two", "x", "src/a.rs", r"h\(a, b\)", "h(b, b)", after="fn g")
    with seeded(root, first, second, switched=True):
        seen = (root / "src" / "a.rs").read_text(encoding="utf-8")
    one = 'std::env::var_os("PORTKIT_MUTANT").is_some_and(|name| name == "one")'
    assert f"fn f() {{ (if {one} {{ h(b, a) }} else {{ h(a, b) }}) }}" in seen
    assert 'name == "two") { h(b, b) } else { h(a, b) }); h(a, b) }' in seen
    assert (root / "src" / "a.rs").read_text(encoding="utf-8") == TEXT


def test_a_kernel_asks_for_the_variable_itself(tmp_path: Path) -> None:
    (tmp_path / "a.hip").write_text("x = less * y;", encoding="utf-8")
    with seeded(tmp_path, Mutant("kept", "x", "a.hip", "less", "1.0f"), switched=True):
        seen = (tmp_path / "a.hip").read_text(encoding="utf-8")
    variable = '::getenv("PORTKIT_MUTANT")'
    on = f'{variable} && !__builtin_strcmp({variable}, "kept")'
    assert seen == f"x = ({on} ? (1.0f) : (less)) * y;"


def test_the_defect_goes_whatever_happens(root: Path) -> None:
    with pytest.raises(KeyboardInterrupt), seeded(root, SWAPPED):
        raise KeyboardInterrupt
    assert (root / "src" / "a.rs").read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize(
    "mutant",
    [
        Mutant("x", "", "src/a.rs", "nowhere", ""),
        Mutant("x", "", "src/a.rs", "h", "", after="nowhere"),
        Mutant("x", "", "src/b.rs", "h", ""),
    ],
)
def test_a_defect_that_does_not_fit_is_told(root: Path, mutant: Mutant) -> None:
    with pytest.raises(VerificationError, match="mutant 'x'"), seeded(root, mutant):
        pytest.fail("it fits")


def test_our_own_mutants_are_well_formed() -> None:
    mutants = load_mutants(CANDLE)
    assert len(mutants) >= 20
    assert any(mutant.is_kernel for mutant in mutants)
    assert all(mutant.defect and not mutant.defect.endswith(".") for mutant in mutants)


@pytest.mark.parametrize(
    "text",
    [
        "[[mutant]]\nname = 'x'",
        "[[mutant]]\nname='x'\ndefect='y'\nfile='f'\nfind='('\nreplace=''",
        2 * "[[mutant]]\nname='x'\ndefect='y'\nfile='f'\nfind='a'\nreplace=''\n",
        "",
    ],
)
def test_a_malformed_file_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "mutants.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError, match=r"mutants\.toml:\d+: "):
        load_mutants(Directory(tmp_path))


class Ladder:
    """Stands in for the ladder: each step has its outcome, and notes what it looked at."""

    def __init__(self, **outcomes: Outcome) -> None:
        self.outcomes = outcomes
        self.seen: list[tuple[str, bool]] = []
        self.looked: list[dict[str, Any]] = []

    def __call__(
        self, root: Path, options: Options, _: object, steps: Sequence[Step], **__: Any
    ) -> Summary:
        (step,) = options.only
        text = (root / "src" / "a.rs").read_text(encoding="utf-8")
        on = os.environ.get("PORTKIT_MUTANT") == "swapped"
        mutated = on if "PORTKIT_MUTANT" in text else text != TEXT
        self.seen.append((step + (" checked" if options.checked else ""), mutated))
        if step == "crosscheck":
            (taken,) = [each.take for each in steps if each.name == step]
            assert isinstance(taken, partial)
            self.looked.append(taken.keywords)
        outcome = self.outcomes.get(step, pass_step("fine"))
        return Summary((Result(step, "", outcome, seconds=1.0),))


def ladder(monkeypatch: pytest.MonkeyPatch, **outcomes: Outcome) -> Ladder:
    stand_in = Ladder(**outcomes)
    monkeypatch.setattr(mutation_run, "verify_tree", stand_in)
    return stand_in


def test_steps_are_taken_until_one_finds_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = ladder(monkeypatch, names=fail_step("no such kernel"))
    results = tmp_path / "results.jsonl"
    found = take_steps(root, [SWAPPED], results)
    assert stand_in.seen == [("coverage", True), ("parity", True), ("names", True)]
    today = datetime.now(UTC).date().isoformat()
    assert found[-1] == Found("swapped", "names", True, "no such kernel", 1.0, today)
    assert known(results) == found


def test_steps_that_run_take_the_defect_by_its_switch(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = ladder(
        monkeypatch, crosscheck=fail_step("7 differences", "add of f32: 1, expected 2")
    )
    found = take_steps(root, [SWAPPED], tmp_path / "results.jsonl")
    assert stand_in.seen == [(step, True) for step in LADDER[:-1]]
    assert found[-1].said == "add of f32: 1, expected 2"
    assert "PORTKIT_MUTANT" not in os.environ


def test_what_is_known_is_not_looked_at_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = ladder(monkeypatch)
    results = tmp_path / "results.jsonl"
    take_steps(root, [SWAPPED], results, steps=("names", "coverage"))
    take_steps(root, [SWAPPED], results, steps=("names", "device checked"))
    assert [step for step, _ in stand_in.seen] == ["coverage", "names", "device checked"]


def test_the_operations_of_a_defect_are_looked_at_alone_where_that_is_wanted(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = ladder(monkeypatch)
    results = tmp_path / "results.jsonl"
    steps = ("names", "crosscheck", "crosscheck checked")
    found = take_steps(root, [SWAPPED], results, steps=steps, narrow=True)
    assert [each.operations for each in found] == ["", "add/", "add/"]
    assert stand_in.looked == 2 * [{"cases": 12, "only": "add/"}]
    # All of them is more than what was looked at.
    assert take_steps(root, [SWAPPED], results, steps=steps)[3:] == known(results)[3:]
    assert stand_in.looked[2:] == 2 * [{"cases": 6, "only": ""}]
    take_steps(root, [SWAPPED], results, steps=steps, narrow=True)
    assert len(stand_in.seen) == 5


def test_work_ends_in_time(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = ladder(monkeypatch)
    assert take_steps(root, [SWAPPED], tmp_path / "results", seconds=-1) == []
    assert stand_in.seen == []


def test_a_step_that_cannot_be_taken_is_no_result(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ladder(monkeypatch, coverage=skip_step("there is no compiler"))
    with pytest.raises(VerificationError, match="there is no compiler"):
        take_steps(root, [SWAPPED], tmp_path / "results.jsonl")


def test_other_results_are_told(tmp_path: Path) -> None:
    place = tmp_path / "results.jsonl"
    place.write_text(json.dumps({"mutant": "x"}), encoding="utf-8")
    with pytest.raises(VerificationError, match="holds no results"):
        known(place)


def test_the_page_says_what_caught_each() -> None:
    names = ("alive", "unfinished", "narrow", "caught")
    others = [Mutant(name, "wrong", "f", "a", "b") for name in names]
    found = [
        Found("swapped", "coverage", False, "", 1.0, DAY),
        Found("swapped", "parity", True, "a | b", 1.0, "2026-01-03"),
        *(Found("alive", step, False, "", 1.0, DAY) for step in LADDER),
        Found("unfinished", "coverage", False, "", 1.0, DAY),
        *(Found("narrow", s, False, "", 1.0, DAY, "add/" * ("cross" in s)) for s in LADDER),
        Found("caught", "crosscheck", True, "4, expected 3", 1.0, DAY, "add/"),
    ]
    text = page("candle 0.11.1", [SWAPPED, *others], found)
    assert "Taken on 2026-01-02 and 2026-01-03. 5 defects" in text
    assert "2 are caught: parity 1, crosscheck 1." in text
    assert "| narrow | wrong | not all taken yet | coverage, parity," in text
    assert ", crosscheck of `add/`, crosscheck checked of `add/` |  |" in text
    assert "| caught | wrong | crosscheck of `add/` | - | 4, expected 3 |" in text
    assert "| swapped | a and b change places | parity | coverage | a / b |" in text
    assert "| alive | wrong | **nothing** |" in text
    assert (
        "| unfinished | wrong | not all taken yet | coverage | - |".replace("| - |", "|  |") in text
    )
