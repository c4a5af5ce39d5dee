"""The document of a trial: what the file holds that is sent, and reading it again."""

from __future__ import annotations

import json
import platform
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from msgspec import Struct

from portkit import __version__
from portkit.errors import DocumentError
from portkit.workspace.programs import find_tools

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from portkit.selftest.stage_runner import StageEntry
    from portkit.selftest.stages import SelftestOptions

SCHEMA: Final = 1
"""The version of the document; it grows when a reader of the old one would go wrong."""
KIND: Final = "trial"
DEVICES: Final = {"gpu": "a GPU", "cpu": "the CPU device", "emulator": "AMD's emulator"}
"""The devices of a document, in words."""

_DATA: Final = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
_RATE: Final = re.compile(r"(.+): ([\d.]+) us, ([\d.e+-]+) (\w+/s)")
_LARGEST: Final = 1 << 26
"""Bytes of a file that is read again."""


class _Test(Struct):
    test: str
    on: str
    result: str


class _Step(Struct):
    step: str
    shows: str
    verdict: str
    seconds: float
    limit: float
    evidence: list[str]
    figures: dict[str, float]
    tests: list[_Test]


class _Trial(Struct):
    """What is read of a document; there may be more."""

    schema: Literal[1]
    kind: Literal["trial"]
    title: str
    device: str
    day: str
    verdict: str
    seconds: float
    programs: dict[str, str]
    steps: list[_Step]


@dataclass(frozen=True, slots=True)
class Rate:
    """What one operation takes."""

    item: str  # the operation
    us: float  # microseconds a call
    rate: float  # work a second
    unit: str  # of the rate, such as ``GB/s``


def read_program_versions() -> dict[str, str]:
    """Return the versions of what a port is built with, by program."""
    found = {tool.name: tool.version for tool in find_tools() if tool.path}
    return {**found, "python": platform.python_version(), "machine": platform.machine()}


def build_document(
    wanted: SelftestOptions,
    steps: Sequence[StageEntry],
    seconds: float,
    day: str,
    built_with: dict[str, str],
) -> dict[str, Any]:
    """Return the document, before what tells of a person is taken out."""
    found = next(filter(None, (step.get("title", "") for step in steps)), "")
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "portkit": __version__,
        "title": found or ("a tree that was given" if wanted.given else wanted.spec),
        "device": wanted.device,
        "packages": list(wanted.packages),
        "day": day,
        "verdict": combine_verdicts([step["verdict"] for step in steps]),
        "seconds": round(seconds, 1),
        "programs": built_with,
        "steps": [{k: v for k, v in step.items() if k != "title"} for step in steps],
    }


def combine_verdicts(verdicts: Sequence[str]) -> str:
    """Return how a run went by how its stages did."""
    if "failed" in verdicts:
        return "failed"
    if {"interrupted", "not taken"} & set(verdicts):
        return "interrupted"
    return "passed" if "passed" in verdicts else "skipped"


def read_rates(found: dict[str, Any]) -> tuple[Rate, ...]:
    """Return the table of throughputs of a document, in its order."""
    steps = [step for step in found["steps"] if step["step"] == "throughput"]
    lines = [line for step in steps for line in step["evidence"]]
    matches = filter(None, map(_RATE.fullmatch, lines))
    return tuple(Rate(m[1], float(m[2]), float(m[3]), m[4]) for m in matches)


def read_trial(file: Path) -> dict[str, Any]:
    """Return the document in a file that ``portkit trial`` has written, HTML or JSON."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "it is no text"
        raise DocumentError(
            f"{file} cannot be read ({said}): name a file that `portkit trial` has written"
        ) from None
    match = _DATA.search(text)
    try:
        found = json.loads(match[1] if match else text)
        msgspec.convert(found, _Trial)
    except (ValueError, RecursionError):  # msgspec's is a ValueError
        raise DocumentError(
            f"{file} is no report of a trial of schema {SCHEMA}: name a file that `portkit trial`"
            " has written, of this version of portkit"
        ) from None
    return dict(found)
