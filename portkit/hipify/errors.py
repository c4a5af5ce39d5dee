"""Errors of the kernels stage that reach the user."""

from __future__ import annotations

from portkit.errors import PortkitError


class KernelsCrateError(PortkitError):
    """The CUDA kernels crate has an unknown layout."""

    exit_code = 30


class KernelProfileError(PortkitError):
    """A kernel profile is missing or malformed."""

    exit_code = 31


class KernelPatchError(PortkitError):
    """A patch of a profile does not match its source, or two edits overlap."""

    exit_code = 32


class KernelInputError(PortkitError):
    """A kernel source cannot be read: missing, binary, or too large."""

    exit_code = 33


class KernelOutputError(PortkitError):
    """The output folder holds files that portkit did not write."""

    exit_code = 34


class HipToolError(PortkitError):
    """hipcc, hipify-clang or hipify-perl is missing or failed."""

    exit_code = 35
