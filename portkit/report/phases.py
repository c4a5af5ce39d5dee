"""The phases of a port, in the order of the work, from the codebase's profile.

The phases of a codebase are ``phases.toml`` in its directory; a codebase without has those that lie
beside this module.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from portkit.codebases.directory import Directory
from portkit.profiles.entries import Text
from portkit.profiles.settings import Code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from portkit.report.model import ReportedSite

FILE: Final = "phases.toml"
_SHARED: Final = Directory(Path(__file__).parent)


class Phase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the work.

    Attributes:
        verify: the command that shows that the phase is done.
        codes: beginnings of the codes that belong to it wherever they stand.
        paths: patterns over paths relative to the root.
    """

    title: Annotated[Text, Meta(description="For the reader of the plan.")]
    verify: Annotated[Text, Meta(description="The command that shows that the phase is done.")]
    codes: Annotated[
        tuple[Code, ...],
        Meta(description="Beginnings of the codes that belong to it wherever they stand."),
    ] = ()
    paths: Annotated[
        tuple[Text, ...], Meta(description="Patterns over paths relative to the root.")
    ] = ()


class PhasesFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The phases of a port; later ones need earlier ones."""

    phase: Annotated[tuple[Phase, ...], Meta(min_length=1)]


def load_phases(directory: Directory | None) -> tuple[Phase, ...]:
    """Return the phases of a codebase, in the order of the work."""
    own = directory if directory is not None and directory.has(FILE) else _SHARED
    return own.typed(FILE, PhasesFile).phase


def find_phase(site: ReportedSite, order: Iterable[Phase]) -> Phase | None:
    """Return the phase of a finding, or None if no pattern matches.

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
