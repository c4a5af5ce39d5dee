"""Estimate the manual work that is left.

The figures are assumptions, not measurements. Each report that shows an estimate shows them beside
it, so that a reader can put in their own.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from portkit.report.model import State
from portkit.rules.file_rules import ADDED_FILE_CODE as ADDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from portkit.report.model import ReportedSite

MINUTES: Final[Mapping[State, int]] = {State.MANUAL: 120, State.REVIEW: 10}
"""What a place of this state is taken to cost a person who knows the code, in minutes."""
BY_HAND: Final = 10
"""What a mechanical place would cost without portkit, in minutes."""


def estimate_minutes(sites: Iterable[ReportedSite]) -> int:
    """Return the minutes that are left to a person."""
    states = Counter(site.state for site in sites)
    return sum(cost * states[state] for state, cost in MINUTES.items())


def estimate_saved_minutes(sites: Iterable[ReportedSite]) -> int:
    """Return the time that the mechanical findings to do would take by hand, in minutes.

    What is ported is not counted: after the port nobody asks. Those in the sources of kernels are
    left out, and so is what the port adds, such as the HIP bindings: how long a translation or a
    crate takes is not known by their number.
    """
    todo = [site for site in sites if site.state is State.MECHANICAL]
    return BY_HAND * sum(site.code != ADDED and not site.in_kernels for site in todo)


def format_minutes(minutes: int) -> str:
    """Return a time as people say it: ``40 min``, ``3 h``, ``3 h 20 min``."""
    whole, rest = divmod(minutes, 60)
    parts = [f"{whole} h" if whole else "", f"{rest} min" if rest or not whole else ""]
    return " ".join(filter(None, parts))


def describe_assumption(*, by_hand: bool = True) -> str:
    """Return the assumptions of the estimates, as a sentence."""
    mechanical = f", {BY_HAND} minutes for a mechanical place if it were done by hand"
    return (
        f"An estimate, not a measurement: {MINUTES[State.REVIEW]} minutes to look at a place,"
        f" {format_minutes(MINUTES[State.MANUAL])} to write one{mechanical if by_hand else ''};"
        " files that"
        " are copied whole count as one place each, what the port adds and sources of kernels not"
        " at all."
    )
