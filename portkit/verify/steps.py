"""The steps of the ladder, in their order."""

from __future__ import annotations

from typing import Final

from portkit.verify.check import CHECK
from portkit.verify.coverage import COVERAGE
from portkit.verify.format import FORMAT
from portkit.verify.parity import PARITY
from portkit.verify.regress import REGRESS

STEPS: Final = (FORMAT, CHECK, REGRESS, COVERAGE, PARITY)
