"""What is said about a machine: one sentence on what is wrong, one on how to mend it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path


class Level(StrEnum):
    """How much a complaint weighs."""

    PROBLEM = "problem"
    """A port does not build or run."""
    DOUBT = "doubt"
    """It may run, and results or speed may not be what they would be without it."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something that a machine lacks."""

    name: str  # what it is called, in words with ``-`` between; the same for every machine
    level: Level  # how much it weighs
    what: str  # what is wrong and where, as a sentence without its full stop
    mend: str  # what to do about it, the same
    source: str  # the page or file that says so


def make_complaint(key: str, /, **found: object) -> Complaint:
    """Return a complaint of ``complaints.toml``, with what was found on the machine."""
    row = _load_rows()[key]
    what, mend = (row[part].format_map(found) for part in ("what", "mend"))
    level = Level(row.get("level", Level.PROBLEM))
    return Complaint(row.get("name", key), level, what, mend, row["source"])


@cache
def _load_rows() -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    )
    return rows
