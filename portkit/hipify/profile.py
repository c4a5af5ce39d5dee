"""Profiles of kernels: what is particular to one codebase's CUDA sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from portkit.hipify.errors import KernelProfileError
from portkit.hipify.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.codebases.directory import Directory

FILE: Final = "kernels.toml"
"""In the directory of a codebase: what its CUDA sources need beyond the rules."""


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """What is particular to one codebase's CUDA sources.

    Attributes:
        name: the codebase; empty for sources of which nothing is known.
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


NO_PROFILE = KernelProfile()
"""Nothing is known of the sources."""


@cache
def load_profile(directory: Directory, name: str) -> KernelProfile:
    """Return what is known of a codebase's CUDA sources; ``NO_PROFILE`` where nothing is.

    Args:
        directory: the codebase's.
        name: of the codebase.

    Raises:
        KernelProfileError: it is malformed.
        ProfileError: a header leads out of the directory.
    """
    if not directory.has(FILE):
        return NO_PROFILE
    try:
        document = directory.table(FILE)
        patches = [patch for row in document.get("patch", []) for patch in _patches(row)]
        purposes = {code: document["purpose"][code] for code in sorted({p.code for p in patches})}
        headers = tuple(
            (target, directory.text(file))
            for target, file in sorted(document.get("headers", {}).items())
        )
        return KernelProfile(
            name=name,
            undefined=frozenset(document.get("undefined", ())),
            patches=tuple(sorted(patches, key=lambda patch: patch.code)),
            headers=headers,
            purposes=purposes,
            expected=document.get("expected", {}),
            defined=frozenset(document.get("defined", ())),
        )
    except (KeyError, TypeError) as error:
        raise KernelProfileError(f"{directory.root / FILE} is malformed: {error!r}") from error


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
