"""Profiles of kernels: what is particular to one codebase's CUDA sources."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from portkit.hipify.errors import KernelProfileError
from portkit.hipify.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent.parent / "profiles" / "kernels"


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """What is particular to one codebase's CUDA sources.

    Attributes:
        name: such as ``candle``; empty for sources of which nothing is known.
        undefined: macros that are undefined on AMD once the patches are in.
        defined: macros that the build for AMD defines.
        patches: changes, in order of their code.
        headers: headers that the profile adds: path in the translated tree to text.
        purposes: what the patches of each code are for.
        expected: how often each rule and patch finds something, by version of the codebase.
    """

    name: str = ""
    undefined: frozenset[str] = frozenset()
    patches: tuple[Patch, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    purposes: Mapping[str, str] = field(default_factory=dict)
    expected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    defined: frozenset[str] = frozenset()

    def for_version(self, version: str) -> KernelProfile:
        """Return the profile with only the patches that a version of the codebase needs."""
        patches = tuple(patch for patch in self.patches if patch.applies_to(version))
        return replace(self, patches=patches)


NO_PROFILE = KernelProfile()
"""Nothing is known of the sources."""


def profile_names() -> tuple[str, ...]:
    """Return the names of the kernel profiles that portkit brings, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def load_profile(name: str) -> KernelProfile:
    """Return a profile by name.

    Args:
        name: the stem of a file in ``profiles/kernels``.

    Returns:
        The profile.

    Raises:
        KernelProfileError: there is none of that name, or it is malformed.
    """
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(profile_names())
        raise KernelProfileError(f"there is no kernel profile {name!r}: choose one of {known}")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        patches = [patch for row in document.get("patch", []) for patch in _patches(row)]
        purposes = {code: document["purpose"][code] for code in sorted({p.code for p in patches})}
        headers = tuple(
            (target, (FOLDER / file).read_text(encoding="utf-8"))
            for target, file in sorted(document.get("headers", {}).items())
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, OSError) as error:
        raise KernelProfileError(f"{path.name} is malformed: {error!r}") from error
    return KernelProfile(
        name=name,
        undefined=frozenset(document.get("undefined", ())),
        patches=tuple(sorted(patches, key=lambda patch: patch.code)),
        headers=headers,
        purposes=purposes,
        expected=document.get("expected", {}),
        defined=frozenset(document.get("defined", ())),
    )


def _patches(row: dict[str, Any]) -> list[Patch]:
    """Return the patches of one row: one for each word of ``each``, which stands for ``%``."""
    row = dict(row)
    words = row.pop("each", [None])
    row["files"] = tuple(row["files"])
    # The place has its own indentation and line end.
    row["replace"] = row["replace"].strip()
    patches = []
    for word in words:
        texts = {
            key: row[key] if word is None else row[key].replace("%", word)
            for key in ("match", "replace", "reason")
        }
        patches.append(Patch(**{**row, **texts}))
    return patches
