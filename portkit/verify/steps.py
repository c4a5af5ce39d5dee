"""The steps in order: those that take a second come before those that take minutes."""

from __future__ import annotations

from typing import Final

from portkit.verify.crosscheck import CROSSCHECK
from portkit.verify.device import DEVICE
from portkit.verify.kernel_names import NAMES
from portkit.verify.kernels_step import KERNELS
from portkit.verify.lint import LINT
from portkit.verify.regressions import REGRESS
from portkit.verify.static_steps import COVERAGE, FORMAT, PARITY
from portkit.verify.type_check import CHECK

STEPS: Final = (FORMAT, COVERAGE, PARITY, NAMES, CHECK, LINT, REGRESS, KERNELS, DEVICE, CROSSCHECK)
