"""Errors that reach the user: one sentence with what, where and what to do, and an exit code.

Exit codes 0 to 2 are taken by the conventions of command-line tools (success, "a check found
something", wrong usage); each kind of failure below has its own, so that a script can tell them
apart. The table in ``docs/exit-codes.md`` is made from this module.
"""

from __future__ import annotations


class PortkitError(Exception):
    """Something the user can act on; the message is a full sentence, without a traceback."""

    exit_code = 70


class NotAWorkspaceError(PortkitError):
    """The directory holds no Cargo workspace or package."""

    exit_code = 10


class NoBackendError(PortkitError):
    """The workspace has no code that decides for a backend."""

    exit_code = 11


class UnsupportedVersionError(PortkitError):
    """The codebase is older than the first version that the profile can port."""

    exit_code = 12


class DirtyTreeError(PortkitError):
    """The tree has uncommitted changes or no version control, and no option allows that."""

    exit_code = 13


class TreeChangedError(PortkitError):
    """A file vanished, is read-only or changed between reading and writing."""

    exit_code = 14


class OutsideTreeError(PortkitError):
    """A path taken from the input leads out of the workspace."""

    exit_code = 15


class ProfileError(PortkitError):
    """A profile is malformed or refers to something that does not exist."""

    exit_code = 16


class PlanError(PortkitError):
    """Two edits overlap or give no valid Rust (a defect), or an edit names excluded code."""

    exit_code = 17


class FetchError(PortkitError):
    """A published workspace could not be downloaded or rebuilt."""

    exit_code = 18


class ToolError(PortkitError):
    """A program that portkit runs (cargo, git, rustfmt) is missing or failed."""

    exit_code = 19


class VerificationError(PortkitError):
    """``portkit verify`` lacks a port, a commit to compare with, a test, or a sound tree."""

    exit_code = 20


class DiskError(PortkitError):
    """The disk is full or a file could not be written."""

    exit_code = 21


class ConfigError(PortkitError):
    """``portkit.toml``, or ``portkit.review.toml``, is malformed, or a decision does nothing."""

    exit_code = 23


class DocumentError(PortkitError):
    """A report that portkit must read is missing, or portkit did not write it."""

    exit_code = 24


class InstallationError(PortkitError):
    """The installation lacks a part of portkit: the crates or the CPU device."""

    exit_code = 25


class UntrustedTreeError(PortkitError):
    """portkit would run code of the tree, and nobody has confirmed that it may."""

    exit_code = 26


class BrokenBuildError(PortkitError):
    """The port does not type-check, so ``portkit apply`` wrote nothing."""

    exit_code = 27


class HistoryError(PortkitError):
    """The repository accepts no commits now, or its history does not show the commit to use."""

    exit_code = 28


class BusyTreeError(PortkitError):
    """Another portkit is writing to the tree."""

    exit_code = 22


def format_error(error: Exception) -> str:
    """Return an error that is none of portkit's own in one line: its kind and what it says."""
    return " ".join(f"{type(error).__name__}: {error}".split())
