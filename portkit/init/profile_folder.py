"""The folder of a first profile, which ``portkit.toml`` names."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from pathlib import Path, PurePosixPath

from portkit.codebases.registry import MAIN
from portkit.errors import ProfileError
from portkit.init.draft import Draft, format_profile
from portkit.profiles.accepted_findings import read_own_file
from portkit.profiles.entries import CodebaseFile
from portkit.profiles.profile import CodebaseProfile
from portkit.profiles.settings import NAME, read_settings
from portkit.syntax.typed_toml import decode_toml
from portkit.transaction.change import Change


def check_new(root: Path, folder: str, codebase: CodebaseProfile | None = None) -> None:
    """Refuse a tree that has a profile already, and a folder that cannot be a new one.

    Raises:
        ProfileError: the tree has a profile, or the folder stands or leads out of the tree.
        ConfigError: ``portkit.toml`` is malformed.
    """
    if codebase is not None and codebase.name:
        raise ProfileError(
            f"{root} is {codebase.name}, which there is a profile for: `portkit apply` ports it"
        )
    said = read_settings(root) if root.is_dir() else None
    if said is not None and said.profile:
        raise ProfileError(
            f"{NAME}:{said.profile_line} names the profile {said.profile!r} already: go on with"
            " that, or take the line away"
        )
    parts = PurePosixPath(folder).parts
    if not parts or PurePosixPath(folder).is_absolute() or {"..", "."} & {*parts}:
        raise ProfileError(f"{folder!r} is no folder inside of {root}: name a new one")
    if (root / folder).exists():
        raise ProfileError(f"{root / folder} stands already: name a new folder by --profile")


def build_changes(root: Path, folder: str, draft: Draft) -> list[Change]:
    """Return the files that a draft makes: the profile, and the line that names it."""
    made = format_profile(draft)
    decode_toml(made, f"{folder}/{MAIN}, which `portkit init` makes of {root},", CodebaseFile)
    place = root / NAME
    before = read_own_file(place)
    # At the beginning: behind a table it would be that table's.
    line = f"profile = {json.dumps(folder)}\n"
    said = read_settings(root) if before is not None else None
    if draft.bindings is not None and (said is None or not said.bindings):
        line += (
            f"# Bindings: {draft.bindings.evidence}.\n"
            f"bindings = {{ path = {json.dumps(draft.bindings.value)} }}\n"
        )
    return [
        Change(f"{folder}/{MAIN}", None, made.encode()),
        Change(NAME, before, line.encode() + (before or b"").removeprefix(BOM_UTF8)),
    ]
