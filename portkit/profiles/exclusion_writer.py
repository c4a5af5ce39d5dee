"""One more exclusion in ``portkit.toml``, as ``portkit review --exclude`` and editors write it."""

from __future__ import annotations

import glob
import json
from collections.abc import Sequence
from typing import Final

from portkit.errors import ConfigError
from portkit.profiles.accepted_findings import quote_toml
from portkit.profiles.settings import NAME, parse_settings
from portkit.syntax.source_file import SourceFile
from portkit.workspace.cargo_workspace import CUDA_CODE

_PORTKIT: Final = "PK9"
"""How codes begin that are about portkit's own settings, or about what it could not read."""
_SLASHES: Final = (".rs", *CUDA_CODE)
"""How the names of files end whose comments begin with two slashes."""


def check_excludable(code: str, place: str, message: str) -> None:
    """Refuse to exclude a finding about portkit's own settings."""
    if code.startswith(_PORTKIT):
        raise ConfigError(
            f"{place} is about portkit's own settings, so it cannot be excluded; fix what it names:"
            f" {message}"
        )


def check_accepts_nothing(code: str, position: str, accepted: Sequence[str]) -> None:
    """Refuse an exclusion that would revoke an acceptance."""
    if accepted:
        mark = "//" if position.rpartition(":")[0].endswith(_SLASHES) else "#"
        raise ConfigError(
            f"this exclusion is for each {code} in the item, and would exclude"
            f" {', '.join(accepted)} too, which you accepted: write"
            f" `{mark} portkit: exclude {code} REASON` above {position} to exclude only this place"
        )


def append_exclusion(before: bytes, code: str, path: str, symbol: str, reason: str) -> bytes:
    """Return ``portkit.toml`` with one more exclusion at its end; all else stays as it is."""
    end = b"\r\n" if b"\r\n" in before else b"\n"
    lines = [
        "[[exclude]]",
        f"codes = [{json.dumps(code)}]",
        f"paths = [{quote_toml(glob.escape(path))}]",
        f"symbols = [{quote_toml(symbol)}]",
        f"reason = {quote_toml(reason)}",
    ]
    own = b"".join(line.encode() + end for line in lines)
    gap = b"" if not before else (end if before.endswith(b"\n") else end + end)
    try:
        parse_settings(SourceFile(NAME, before + gap + own))
    except ConfigError:
        parse_settings(SourceFile(NAME, before))  # what is wrong already is said as it is
        raise ConfigError(
            f"{NAME} holds `exclude` as a list, so portkit cannot add to it: write there"
            f" {{ {', '.join(lines[1:])} }}"
        ) from None
    return before + gap + own
