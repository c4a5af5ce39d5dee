"""The ladder of ``portkit verify``: ordered steps, each of which proves something about a port."""

from __future__ import annotations

from portkit.verify.ladder import Result, Step, Verdict, climb, part_of
from portkit.verify.steps import STEPS
from portkit.verify.tree import Tree

__all__ = ["STEPS", "Result", "Step", "Tree", "Verdict", "climb", "part_of"]
