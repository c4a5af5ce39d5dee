"""A ``match`` that lacks an arm for a variant which its enum gains.

The other rules write one arm for each arm that names CUDA. A ``match`` over pairs needs more:
``(Device::Cuda(_), Device::Metal(_)) => false`` gives one for ROCm and Metal, but none for ROCm and
CUDA. An import such as ``Device::Cuda as C`` hides the name of CUDA, and ``impl CudaStorage`` may
take a ``Storage`` apart. Each ``match`` on an enum that gains a variant is found by the enum. Where
it would no longer take every value, it gets the missing arms.

An arm does what the arms on a peer do, or those on all other variants, if these agree and use
nothing that their patterns bind. Otherwise the arm answers with an error, and you write its value.

Not handled: a pattern that is a macro, a tuple pattern with ``..``, an enum of another crate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.context.intent import MissingArmBehavior
from portkit.rules import GapRule
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from portkit.context.intent import MatchGap
    from portkit.context.port_job import PortJob

_NEEDED: Final = "{enum} gains {variant}, and this match needs an arm for it."
_STANDS: Final = "This match has the arms that {variant} needs."
_SAID: Final = {
    MissingArmBehavior.COPY: "The arm is the CUDA arm under {title}'s names. Check it.",
    MissingArmBehavior.OTHERS: "The arm answers as the arms on other values do."
    " Check that it should.",
    MissingArmBehavior.ERROR: "No arm says what to do then, so the new arm answers with an error."
    " Write its value.",
}


def check(job: PortJob, gap: MatchGap) -> Finding:
    """Return the finding that writes the missing arms."""
    enum = ", ".join(gap.enums)
    stands = gap.answer is MissingArmBehavior.STANDS
    said = _STANDS if stands else f"{_NEEDED} {_SAID[gap.answer]}"
    message = said.format(enum=enum, variant=job.vendor.variant, title=job.vendor.title)
    return Finding(
        code=RULE.code,
        path=gap.path,
        span=gap.span,
        construct=f"match arm: {enum}",
        symbol=gap.symbol or "file",
        applicability=Applicability.SAFE if stands else Applicability.REVIEW,
        status=Status.PORTED if stands else Status.TODO,
        message=message,
        edits=() if stands else (Edit(gap.at, gap.at, gap.arms),),
        instead=() if stands else (Edit(gap.at, gap.at, gap.errors),),
    )


RULE = GapRule("PK306", check)
