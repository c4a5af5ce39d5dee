"""What is said about a machine: one sentence on what is wrong, one on how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

INSTALL: Final = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/"
"""AMD's guide to installing ROCm on Linux."""
PREREQUISITES: Final = f"{INSTALL}install/prerequisites.html"
TROUBLES: Final = f"{INSTALL}reference/install-faq.html"
REQUIREMENTS: Final = f"{INSTALL}reference/system-requirements.html"
CONTAINERS: Final = f"{INSTALL}how-to/docker.html"
VARIABLES: Final = "https://rocm.docs.amd.com/en/latest/reference/env-variables.html"
KERNEL: Final = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
KFD: Final = "https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/amdkfd/"
"""The part of Linux's driver that offers GPUs for computing."""


class Level(StrEnum):
    """How much a complaint weighs."""

    PROBLEM = "problem"
    """A port does not build or run."""
    DOUBT = "doubt"
    """It may run, and results or speed may not be what they would be without it."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something that a machine lacks."""

    name: str  # what it is called, in words with ``-`` between; the same for every machine
    level: Level  # how much it weighs
    what: str  # what is wrong and where, as a sentence without its full stop
    mend: str  # what to do about it, the same
    source: str  # the page or file that says so


def make_problem(name: str, what: str, mend: str, source: str) -> Complaint:
    """Return a complaint about what keeps a port from running."""
    return Complaint(name, Level.PROBLEM, what, mend, source)


def make_warning(name: str, what: str, mend: str, source: str) -> Complaint:
    """Return a complaint about what may do harm."""
    return Complaint(name, Level.DOUBT, what, mend, source)
