"""The checks of ``portkit verify``: ordered steps, each of which proves one property of a port."""

from __future__ import annotations

from portkit.verify.options import InvalidOptionError, Options, Shard, parse_shard
from portkit.verify.session import verify_tree
from portkit.verify.step_runner import (
    Outcome,
    Result,
    Step,
    Summary,
    Verdict,
    run_steps,
    select_steps,
)
from portkit.verify.steps import STEPS
from portkit.verify.verified_tree import VerifiedTree

__all__ = [
    "STEPS",
    "InvalidOptionError",
    "Options",
    "Outcome",
    "Result",
    "Shard",
    "Step",
    "Summary",
    "Verdict",
    "VerifiedTree",
    "parse_shard",
    "run_steps",
    "select_steps",
    "verify_tree",
]
