"""Versions, in the order that semver.org (2.0.0) gives them."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

# Numbers, a pre-release, and build metadata, which has no part in precedence (semver.org, 2.0.0,
# items 9 to 11).
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")

Precedence = tuple[tuple[int, int, int], tuple[tuple[int, int, str], ...]]


@cache  # the entries of a profile name a few versions, each of them many times
def version_precedence(version: str) -> Precedence | None:
    """Return a key that orders versions as semver.org does (item 11); None for no version.

    >>> precedence("0.9.2-alpha.1") < precedence("0.9.2-alpha.11") < precedence("0.9.2")
    True
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    major, minor, patch, before = match.groups()
    numbers = (int(major), int(minor), int(patch))
    if before is None:
        return numbers, ((2, 0, ""),)  # a release comes after its pre-releases
    # Numbers come before words, and what ends before what goes on.
    parts = ((0, int(part), "") if part.isdigit() else (1, 0, part) for part in before.split("."))
    return numbers, tuple(parts)


def is_release(version: str) -> bool:
    """Whether a version is one, and no pre-release (item 9)."""
    match = _VERSION.fullmatch(version)
    return match is not None and match[4] is None
