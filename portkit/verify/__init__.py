"""The checks of ``portkit verify``: ordered steps, each of which proves one property of a port."""

from __future__ import annotations

from portkit.verify.options import InvalidOptionError, Options, Shard, parse_shard
from portkit.verify.ported_tree import PortedTree
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

__all__ = [
    "STEPS",
    "InvalidOptionError",
    "Options",
    "Outcome",
    "PortedTree",
    "Result",
    "Shard",
    "Step",
    "Summary",
    "Verdict",
    "parse_shard",
    "run_steps",
    "select_steps",
    "verify_tree",
]
