"""The phases of a port: in what order its places are looked at, as the codebase's profile has it.

The phases of a codebase are a file below ``portkit/profiles/phases``; a codebase without one has
those of ``any.toml``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from portkit.errors import ProfileError
from portkit.profile.profile import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from portkit.report.model import ReportedSite

_FOLDER: Final = PROFILES / "phases"
_ANY: Final = "any"


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the work.

    Attributes:
        title: for the reader of the plan.
        verify: the command that shows that the phase is done.
        codes: beginnings of the codes that belong to it wherever they stand.
        paths: patterns over paths relative to the root.
    """

    title: str
    verify: str
    codes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def phases(codebase: str) -> tuple[Phase, ...]:
    """Return the phases of a codebase, in the order of the work.

    Args:
        codebase: the codebase profile's name; empty for a codebase without one.

    Raises:
        ProfileError: the file that holds them is malformed.
    """
    own = _FOLDER / f"{codebase}.toml"
    return _load(own if codebase and own.exists() else _FOLDER / f"{_ANY}.toml")


def phase_of(site: ReportedSite, order: Iterable[Phase]) -> Phase | None:
    """Return the phase that a place belongs to, or none where no pattern fits.

    A phase that names the place's code counts before any pattern; of the patterns that fit, the
    longest counts.
    """
    longest, found = -1, None
    for phase in order:
        if phase.codes and site.code.startswith(phase.codes):
            return phase
        for pattern in phase.paths:
            if len(pattern) > longest and fnmatchcase(site.path, pattern):
                longest, found = len(pattern), phase
    return found


def _load(path: Path) -> tuple[Phase, ...]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        if data["kind"] != "phases":
            raise ValueError('it does not say kind = "phases"')
        return tuple(
            Phase(**{**p, "codes": tuple(p.get("codes", ())), "paths": tuple(p.get("paths", ()))})
            for p in data["phase"]
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ProfileError(f"the phases in {path} are malformed: {error!r}") from None
