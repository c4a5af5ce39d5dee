"""Reports that portkit reads again: the JSON of ``scan`` and of ``verify``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from portkit.errors import DocumentError

Entry = dict[str, Any]
"""A document, or an entry of one."""

_SCHEMA: Final = 1
_SITE: Final = (
    "id",
    "path",
    "line",
    "code",
    "construct",
    "symbol",
    "applicability",
    "status",
    "message",
)
_VERIFIED: Final = ("title", "root", "commit", "verdict", "seconds", "sentence")
_STEP: Final = (
    "step",
    "shows",
    "verdict",
    "seconds",
    "remembered",
    "evidence",
    "left_out",
    "figures",
)
_DIAGNOSTIC: Final = ("level", "code", "message", "path", "line", "site", "rule")


def read_scan(file: Path) -> Entry:
    """Return the document of a scan."""
    command = "portkit scan --format json"
    data = _read(file, command)
    if not _has_keys(data.get("sites"), _SITE):
        raise _make_document_error(file, "scan", command)
    return data


def read_verification(file: Path) -> Entry:
    """Return the document of a verification."""
    command = "portkit verify --json"
    data = _read(file, command)
    steps = data.get("steps")
    if (
        not all(key in data for key in _VERIFIED)
        or not _has_keys(steps, _STEP)
        or not all(_has_keys(step.get("diagnostics"), _DIAGNOSTIC) for step in data["steps"])
    ):
        raise _make_document_error(file, "verification", command)
    return data


def _read(file: Path, command: str) -> Entry:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DocumentError(
            f"{file} cannot be read ({error.strerror}): name a file that `{command}` has written"
        ) from None
    except ValueError as error:
        raise DocumentError(f"{file} is not JSON ({error}): write it with `{command}`") from None
    return data if isinstance(data, dict) and data.get("schema") == _SCHEMA else {}


def _has_keys(entries: object, needed: Iterable[str]) -> bool:
    return isinstance(entries, list) and all(
        isinstance(entry, dict) and all(key in entry for key in needed) for entry in entries
    )


def _make_document_error(file: Path, kind: str, command: str) -> DocumentError:
    return DocumentError(
        f"{file} is not a {kind}'s document of schema {_SCHEMA}: write it with `{command}`, by this"
        " version of portkit"
    )
