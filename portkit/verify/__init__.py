"""The ladder of ``portkit verify``: ordered steps, each of which proves something about a port."""

from __future__ import annotations

from portkit.verify.ladder import Outcome, Result, Step, Summary, Verdict, climb, part_of
from portkit.verify.options import BadOptionError, Options, Shard, parse_shard
from portkit.verify.session import verify_tree
from portkit.verify.steps import STEPS
from portkit.verify.tree import Tree

__all__ = [
    "STEPS",
    "BadOptionError",
    "Options",
    "Outcome",
    "Result",
    "Shard",
    "Step",
    "Summary",
    "Tree",
    "Verdict",
    "climb",
    "parse_shard",
    "part_of",
    "verify_tree",
]
