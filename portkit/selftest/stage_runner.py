"""Taking the stages one after the other, whatever becomes of each."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final

from portkit.errors import PortkitError
from portkit.workspace.process import run_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from portkit.selftest.stages import SelftestOptions, Stage
    from portkit.workspace.process import FinishedProcess

StageEntry = dict[str, Any]
"""What is told of a stage: an entry of the document of ``portkit verify``, and ``limit``."""

MOST: Final = 1 << 26
"""Bytes that a stage may write before it is ended."""
_NO_GPU: Final = {
    "cpu": "the CPU device needs nothing of what is missing",
    "emulator": "the emulator needs no GPU; the stage build names what it lacks",
}
"""Why what the doctor finds missing ends no trial on another device."""
_TAIL: Final = 5
"""Lines of the output of a stage that failed without a document."""
# What libtest writes (library/test/src/formatters/pretty.rs of Rust).
_TEST: Final = re.compile(r"test (\S.*?) \.\.\. (ok|FAILED|ignored)\b")


def run_stages(
    stages: Iterable[Stage],
    wanted: SelftestOptions,
    keep: Callable[[list[StageEntry]], object],
    say: Callable[[str], None],
) -> list[StageEntry]:
    """Return what became of each stage.

    A stage that hangs, crashes or floods is ended with all that it has started, and the next one
    begins; where nothing can come after it, the others are not taken. An interruption ends the run.

    ``keep``: is given what is known whenever that changes, so that it outlasts us.
    ``say``: is given each line that a stage writes.
    """
    entries = [_make_entry(stage, "not taken", "the run did not come to it") for stage in stages]
    halted = ""
    for number, stage in enumerate(stages):
        if halted:
            entries[number] = _make_entry(stage, "not taken", halted)
            continue
        if stage.left_out:
            entries[number] = _make_entry(stage, "skipped", stage.left_out)
            continue
        entries[number] = _make_entry(stage, "interrupted", "portkit was ended while it ran")
        keep(entries)
        start = time.monotonic()
        try:
            entries[number] = _run_stage(stage, wanted, say)
        except KeyboardInterrupt:
            entries[number] = _make_entry(stage, "interrupted", "interrupted")
            halted = "the run was interrupted"
        except SystemExit:
            entries[number] = _make_entry(stage, "interrupted", "ended by a signal")
            halted = "the run was interrupted"
        except PortkitError as error:
            entries[number] = _make_entry(stage, "failed", str(error))
        entries[number]["seconds"] = round(time.monotonic() - start, 1)
        if stage.needed and entries[number]["verdict"] == "failed":
            halted = f"{stage.name} failed"
        keep(entries)
    keep(entries)
    return entries


def _run_stage(stage: Stage, wanted: SelftestOptions, say: Callable[[str], None]) -> StageEntry:
    """Run a stage and return what it says of itself, or what can be said of it."""
    if stage.document is not None:
        stage.document.unlink(missing_ok=True)
    offline = {"CARGO_NET_OFFLINE": "true"} if wanted.offline else {}
    done = run_process(
        stage.command,
        folder=wanted.folder,
        environment={**os.environ, **offline},
        show=say,
        limit=stage.limit,
        most=MOST,
    )
    if done.late or done.flooding:
        why = (
            f"ended after {stage.limit:g} s, its limit"
            if done.late
            else f"ended after {MOST >> 20} MiB of output"
        )
        return _read_partial_result(stage, done, why)
    if stage.name == "doctor":
        return _run_doctor(stage, done, wanted.device)
    told = _read_step_document(stage)
    if told is not None:
        return _make_entry(stage, **told)
    verdict = "failed" if done.status else "passed"
    # The first paragraph, which a report for a person begins with.
    said = [" ".join("\n".join(done.output).strip().split("\n\n")[0].split())]
    tail = [line for line in deque(done.lines, _TAIL) if line.strip()]
    return _make_entry(stage, verdict, *(tail[::-1] if done.status else filter(None, said)))


def _read_step_document(stage: Stage) -> Mapping[str, Any] | None:
    """Return what a step of the ladder has written about itself, if it came so far."""
    try:
        text = stage.document.read_text(encoding="utf-8") if stage.document else ""
        document = json.loads(text)
        step = document["steps"][0]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if step["verdict"] in ("not taken", "interrupted"):
        return {"verdict": "failed", "evidence": [document.get("sentence") or "it did not end"]}
    names = ("verdict", "evidence", "left_out", "figures", "tests")
    # A diagnostic may quote the tree: its first line is in the evidence.
    return {name: step[name] for name in names} | {"title": document["title"]}


def _run_doctor(stage: Stage, done: FinishedProcess, device: str) -> StageEntry:
    try:
        found = json.loads("\n".join(done.output))
        said = [f"{c['level']}: {c['what']}; {c['mend']}" for c in found["complaints"]]
        facts = [f"{name}: {fact}" for name, fact in found["facts"].items()]
    except (ValueError, LookupError, TypeError):
        return _make_entry(stage, "failed", *deque(done.lines, _TAIL))
    if found["problems"] and device != "gpu":
        verdict = "skipped"
        said.insert(0, _NO_GPU[device])
    else:
        verdict = "failed" if found["problems"] else "passed"
    figures = {"problems": found["problems"], "complaints": len(said)}
    return _make_entry(stage, verdict, *said, *facts, figures=figures)


def _read_partial_result(stage: Stage, done: FinishedProcess, why: str) -> StageEntry:
    """Return what is known of a stage that was ended: the tests that had a result until then."""
    tests = [match for match in map(_TEST.match, done.lines) if match]
    found = Counter(match[2] for match in tests)
    evidence = [why]
    if found:
        told = ", ".join(f"{count} {result}" for result, count in sorted(found.items()))
        evidence.append(f"tests until then: {told}; the last was {tests[-1][1]}")
        evidence += [f"{m[1]} {m[2]}" for m in tests if m[2] == "FAILED"]
    evidence += [f"it said: {line}" for line in deque(done.lines, 2) if line.strip()]
    figures = {"passed": found["ok"], "failed": found["FAILED"]} if found else {}
    return _make_entry(stage, "failed", *evidence, figures=figures)


def _make_entry(stage: Stage, verdict: str, *said: str, **told: Any) -> StageEntry:
    return {
        "step": stage.name,
        "shows": stage.shows,
        "verdict": verdict,
        "seconds": 0.0,
        "limit": stage.limit,
        "remembered": "",
        "evidence": list(said),
        "left_out": [],
        "figures": {},
        "tests": [],
        "diagnostics": [],
        **told,
    }
