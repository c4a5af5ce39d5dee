"""What the tests of trials share: stages that are commands of sh, and a document."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from portkit.selftest.document import build_document, read_trial
from portkit.selftest.stage_runner import run_stages
from portkit.selftest.stages import SelftestOptions, Stage

if TYPE_CHECKING:
    from portkit.selftest.stage_runner import StageEntry

_NOWHERE = Path("/nowhere")
SCHEMA = Draft202012Validator(
    json.loads((resources.files("portkit") / "report/trial.schema.json").read_text())
)


def stage(name: str, body: str, **options: Any) -> Stage:
    """Return a stage that runs a command of sh."""
    given = {"limit": 30.0, **options}
    return Stage(name, f"{name} works", ("sh", "-c", body), **given)


def conducted(folder: Path, *stages: Stage, **options: Any) -> tuple[list[StageEntry], list[str]]:
    """Return what became of stages, and the verdicts whenever they were kept."""
    kept: list[str] = []

    def keep(entries: list[StageEntry]) -> None:
        kept.append(" ".join(entry["verdict"].replace(" ", "-") for entry in entries))

    wanted = SelftestOptions(folder, **{"spec": "candle@0.11.1", **options})
    entries = run_stages(stages, wanted, keep, lambda line: None)
    SCHEMA.validate(build_document(wanted, entries, 1.0, "2026-11-22", {}))
    return entries, kept


def read(file: Path) -> dict[str, Any]:
    """Return the document in a report, which follows its schema."""
    found = read_trial(file)
    SCHEMA.validate(found)
    return found


def trial(**changes: Any) -> dict[str, Any]:
    """Return the document of a trial in which everything occurs."""

    def step(name: str, verdict: str, *evidence: str, **told: Any) -> StageEntry:
        return {
            "step": name,
            "shows": f"{name} works",
            "verdict": verdict,
            "seconds": 61.5,
            "limit": 600.0,
            "remembered": "",
            "evidence": list(evidence),
            "left_out": [],
            "figures": {},
            "tests": [],
            "diagnostics": [],
            **told,
        }

    tests = [
        {"test": "core a", "on": "gfx1100", "result": "ok"},
        {"test": "core b", "on": "gfx1100", "result": "timed out after 120 s"},
    ]
    rows = ("add f32: 12.5 us, 16.4 GB/s", "q4: 9.0 us, 4.1e-05 GB/s")
    steps = [
        step("doctor", "passed", "doubt: two versions; set one", "kernel: 6.8.0"),
        step("fetch", "skipped", "a tree was given"),
        step("build", "passed", "2 test programs are built", figures={"programs": 2}),
        step("tests", "failed", "1 of 2 tests fail", tests=tests, left_out=["a part"]),
        step("throughput", "passed", "2 of 2 operations", *rows),
        step("crosscheck", "not taken", "the run was interrupted"),
    ]
    made = build_document(
        SelftestOptions(_NOWHERE, spec="candle@0.11.1"),
        steps,
        321.0,
        "2026-11-22",
        {"rustc": "1.95.0"},
    )
    return {**made, **changes}
