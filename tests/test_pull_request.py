"""The text of a pull request: what it says, and that GitHub takes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import commit, invoke, make_candle
from msgspec.structs import replace
from report_support import EVERY_KIND, VERIFIED, made

from portkit.report.model import State, count_states
from portkit.report.public_api import ApiChanges
from portkit.report.pull_request import LONGEST, PullRequestFacts, render_pull_request
from portkit.rules import cfg_conditions, profile_patches
from portkit.workspace.git_series import count_changed_lines

if TYPE_CHECKING:
    from pathlib import Path


def facts(**more: object) -> PullRequestFacts:
    values: dict[str, object] = {
        "renamed": lambda name: name.replace("cuda", "rocm").replace("Cuda", "Rocm"),
        "feature": "rocm",
        "crates": ("a", "b"),
        "base": "0123456789abcdef",
        "lines": {
            "a/x.rs": (3, 1),
            "a/y.rs": (4, 0),
            "hip/Cargo.toml": (5, 0),
            "README.md": (1, 1),
        },
    }
    return PullRequestFacts(**{**values, **more})  # type: ignore[arg-type]


@pytest.fixture
def ported(tmp_path: Path) -> Path:
    root = make_candle(tmp_path / "candle")
    assert invoke("apply", root).code == 0
    return root


def test_it_says_what_is_new_and_what_to_look_at(ported: Path) -> None:
    done = invoke("pull-request", ported)
    assert done.code == 0, done.err
    parts = [line for line in done.out.splitlines() if line.startswith("## ")]
    assert parts == [
        "## What is new for a user",
        "## What to look at",
        "## What was proven, and how to repeat it",
        "## What was not proven",
        "## Limits",
        "## Sizes",
    ]
    assert "- The feature `rocm` of `candle-core`" in done.out
    assert "- New crates: `candle-hip`." in done.out
    assert "- New public functions: `Device::is_rocm`." in done.out
    assert "- A variant for ROCm in `Device`." in done.out
    assert "- **A breaking change**: the variants of `Device` are there in every build" in done.out
    assert "nothing changes for who leaves it off" not in done.out
    assert "`candle-core/src/matmul.rs:8` `in_one_piece`" in done.out
    assert "Nothing ran on an AMD GPU" in done.out
    base = git(ported, "rev-parse", "HEAD").strip()
    assert f"`portkit verify --baseline {base[:12]}`" in done.out


def test_it_is_the_same_before_and_after_the_commit(ported: Path) -> None:
    before = invoke("pull-request", ported).out
    commit(ported)
    assert invoke("pull-request", ported).out == before


def test_lines_are_git_s(ported: Path) -> None:
    base = git(ported, "rev-parse", "HEAD").strip()
    found = count_changed_lines(ported, base)
    assert git(ported, "diff", "--cached", "--stat") == ""  # the index is as it was
    commit(ported)
    rows = (
        line.split("\t") for line in git(ported, "diff", "--numstat", base, "HEAD").splitlines()
    )
    assert found == {path: (int(added), int(removed)) for added, removed, path in rows}
    total = f"| all | {len(found)} | {sum(a for a, _ in found.values())} |"
    assert total in invoke("pull-request", ported).out


def test_a_tree_that_is_not_ported_is_said(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle")
    done = invoke("pull-request", root)
    assert done.code == 20
    assert "holds no port to ROCm" in " ".join(done.err.split())


def test_places_that_ask_come_before_those_that_do_not() -> None:
    text = render_pull_request(made(*EVERY_KIND, unaccounted=2), facts())
    manual, review, kept = (
        text.index(f"### {state}") for state in ("Manual", "Review", "No change")
    )
    assert manual < review < kept
    counts = count_states(EVERY_KIND)
    assert f"{counts[State.MANUAL]} manual, {counts[State.REVIEW]} review" in text
    assert "2 backend mentions unaccounted for" in text
    assert "| a | 2 | 7 | 1 |" in text
    assert "| hip | 1 | 5 | 0 |" in text
    assert "| all | 4 | 13 | 2 |" in text


def test_what_a_verification_has_shown_is_told(ported: Path, tmp_path: Path) -> None:
    file = tmp_path / "verify.json"
    file.write_text(json.dumps(VERIFIED))
    done = invoke("pull-request", ported, "--verified", file)
    assert done.code == 0, done.err
    rows = [line for line in done.out.splitlines() if line.startswith("| ")]
    for step in VERIFIED["steps"]:
        assert any(r.startswith(f"| {step['step']} |") and step["verdict"] in r for r in rows)
    assert "- device: not taken" in done.out
    assert "Nothing is recorded" not in done.out
    (tmp_path / "no.json").write_text("{}")
    assert invoke("pull-request", ported, "--verified", tmp_path / "no.json").code == 24


def test_what_is_new_goes_by_names_and_manifests() -> None:
    ported = EVERY_KIND[1]
    function = replace(ported, code=cfg_conditions.CFG_FUNCTION.code, symbol="cuda_rows")
    dispatch = replace(ported, code=cfg_conditions.CFG_FUNCTION.code, symbol="rows", line=9)
    features = {"rocm": ["a", "b"], "miopen": ["a"]}
    api = ApiChanges(features=features, names={"functions": ["rocm_rows"], "types": ["Rows"]})
    lines = render_pull_request(made(function, dispatch), facts(api=api)).splitlines()
    assert "- The feature `rocm` of `a`, `b`; nothing changes for who leaves it off." in lines
    assert "- The feature `miopen` of `a`." in lines
    assert "- New public functions: `rocm_rows`." in lines
    assert "- New public types: `Rows`." in lines
    assert "- Functions that run on ROCm as well: `rows`." in lines


def test_what_changes_for_who_leaves_the_feature_off_is_said() -> None:
    api = ApiChanges(defaults={"cuda": ["a"]}, enums=("Device", "Error"), closed=("Device",))
    text = render_pull_request(made(*EVERY_KIND), facts(api=api))
    assert "nothing changes for who leaves it off" not in text
    assert "- `cuda` is a default feature of `a` now" in text
    assert "- A variant for ROCm in `Device`, `Error`." in text
    assert "- **A breaking change**: the variants of `Device` are there in every build" in text


def test_a_place_stands_once_and_defects_say_where_they_are_mended() -> None:
    one = replace(EVERY_KIND[3], code=profile_patches.REPAIR.code)
    text = render_pull_request(made(one, replace(one, column=5, id="PK107-1")), facts())
    assert text.count(f"`{one.position}`") == 1
    assert "`portkit repairs` writes a commit with a test for each" in text
    assert "portkit repairs" not in render_pull_request(made(*EVERY_KIND), facts())


@pytest.mark.parametrize("reasons", [1, 3000])
def test_github_takes_it_however_much_there_is(reasons: int) -> None:
    one = next(site for site in EVERY_KIND if site.state is State.REVIEW)
    many = [
        replace(one, id=f"{one.code}-{n:08x}", line=n + 1, message=f"because {n % reasons}")
        for n in range(3000)
    ]
    text = render_pull_request(made(*many), facts())
    assert len(text) <= LONGEST
    assert text.endswith("\n")
    assert "3000 places" in text
    if reasons == 1:
        assert "  - and 2980 more" in text
        assert "## Sizes" in text
    else:
        assert text.endswith("`portkit scan --format markdown` has it._\n")
