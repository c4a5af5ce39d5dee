"""Trust in a tree: whether its build scripts, macros and tests may run.

That is the user's word, never the tree's. It is kept in the user's state folder, a file for each
tree, and holds for the path and for where the tree comes from: another repository that stands at
the same path later is asked about again.
"""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import to_builtins

from portkit.cache import path_key, state_folder
from portkit.errors import DiskError, UntrustedTreeError
from portkit.syntax.value import Value
from portkit.workspace.git_runner import query_config, run_git
from portkit.workspace.regular_files import read_regular, replace_file

VARIABLE: Final = "PORTKIT_TRUST"
"""The environment variable with folders whose trees may be run, separated as in ``PATH``."""
_WHO: Final = re.compile(r"//[^/]*@")  # Who somebody is, in an address (RFC 3986, 3.2.1).
_LARGEST: Final = 1 << 16
"""How many bytes a kept word may have: it holds a path and an address or two."""


class ConfirmedBy(StrEnum):
    """How the user has confirmed that a tree may run."""

    FETCHED = "`portkit fetch` made it"
    ANSWERED = "you have said so"


class Confirmation(Value, frozen=True):
    """The user's confirmation for a tree, as it is stored."""

    path: str
    origin: str
    said: str
    on: str


def describe_origin(root: Path) -> str:
    """Return the remotes of a tree's repository, or else its first commit, as one line.

    Of several first commits it is the one that the branch itself goes back to: what was merged into
    it since, as `portkit update --allow-unrelated` does, has brought the others.

    Names and passwords in addresses are left out. Empty where there is no git repository. A
    repository says this of itself: it tells trees apart that are there honestly, and is no proof.
    """
    remotes = query_config(root, "--local", "-z", "--get-regexp", r"^remote\..*\.url$")
    if remotes.returncode == 0:
        entries = remotes.stdout.decode(errors="replace").split("\0")
        found = {_WHO.sub("//", entry.partition("\n")[2]) for entry in entries if entry}
        return " ".join(" ".join(sorted(found)).split())
    first = run_git(root, "rev-list", "--first-parent", "--max-parents=0", "HEAD")
    return first.stdout.decode(errors="replace").strip() if first.returncode == 0 else ""


def find_trust_reason(root: Path) -> str:
    """Return why a tree is trusted, as half a sentence; empty if it is not."""
    root = root.resolve()
    for folder in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        # A relative one would depend on where portkit is run, as in the tree.
        if Path(folder).is_absolute() and root.is_relative_to(Path(folder).resolve()):
            return f"{VARIABLE} names {folder}"
    place = _place(root)
    word = _read(place) if place else None
    if word is None or word.path != str(root) or word.origin != describe_origin(root):
        return ""
    return f"{word.said} on {word.on}, says {place}"


def require_trust(root: Path) -> str:
    """Return why a tree is trusted; refuse a tree that is not."""
    if why := find_trust_reason(root):
        return why
    raise UntrustedTreeError(
        f"build scripts, macros and tests of {root.resolve()} would be run, and nobody has said"
        " that they may: pass --trust where you would run `cargo test`, --sandbox where you would"
        f" not, or name the folder of your trees in {VARIABLE}"
    )


def save_confirmation(root: Path, said: ConfirmedBy) -> Path:
    """Store the user's confirmation for a tree, and return the file."""
    root = root.resolve()
    place = _place(root)
    if place is None:
        raise DiskError(
            f"there is no home folder, so that {root} is trusted cannot be kept: set XDG_STATE_HOME"
        )
    word = Confirmation(
        str(root), describe_origin(root), said, datetime.now(UTC).date().isoformat()
    )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, json.dumps(to_builtins(word), indent=1).encode() + b"\n")
    except OSError as error:
        raise DiskError(
            f"that {root} is trusted cannot be kept in {place} ({error.strerror}): make that a"
            " folder that can be written, or set XDG_STATE_HOME to one"
        ) from error
    return place


def _place(root: Path) -> Path | None:
    state = state_folder()
    return state and state / "trusted" / f"{path_key(root)}.json"


def _read(place: Path) -> Confirmation | None:
    try:
        return Confirmation(**json.loads(read_regular(place, _LARGEST)))
    except (OSError, ValueError, TypeError):
        return None
