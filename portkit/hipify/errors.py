"""Errors of the kernels stage that reach the user."""

from __future__ import annotations

from portkit.errors import PortkitError


class KernelsCrateError(PortkitError):
    """The CUDA kernels crate is not laid out as the stage knows it."""

    exit_code = 30
