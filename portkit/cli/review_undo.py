"""The last answer of ``portkit review``, kept outside the tree so that it can be taken back."""

from __future__ import annotations

import base64
import json
import sys
from typing import TYPE_CHECKING, Final

from portkit.errors import ConfigError, DiskError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from portkit.transaction.change import Change

_NOTHING: Final = "there is no answer of `portkit review` to take back here"


def save_answer(directory: Path, changes: Sequence[Change]) -> None:
    """Save the changes of an answer, in place of the answer before it.

    Without a home folder nothing is kept, and the answer cannot be taken back.
    """
    from portkit.workspace.regular_files import replace_file

    place = _locate_file(directory)
    if place is None:
        return
    kept = [
        (c.path, None if c.before is None else _encode_text(c.before), _encode_text(c.after))
        for c in changes
    ]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, json.dumps(kept).encode())
    except OSError as error:
        raise DiskError(
            f"the answer is written, but cannot be taken back later, since {place} cannot be"
            f" written ({error.strerror}): set XDG_STATE_HOME to a folder that can"
        ) from error


def undo_answer(directory: Path) -> str:
    """Take the last answer back; return a sentence that names the files."""
    from portkit.transaction.transaction import Change, write_plan

    place = _locate_file(directory)
    try:
        kept = json.loads(place.read_bytes()) if place else []
        answers = [
            (path, None if before is None else _decode_bytes(before), _decode_bytes(after))
            for path, before, after in kept
        ]
    except (OSError, ValueError, TypeError):
        answers = []
    if not answers:
        raise ConfigError(_NOTHING)
    for path, _, after in answers:
        if _read_answer(directory / path) != after:
            raise ConfigError(
                f"{path} changed since your last answer: change it by hand, or use git"
            )
    write_plan(directory, [Change(p, after, b) for p, b, after in answers if b is not None])
    created = [path for path, before, _ in answers if before is None]
    for path in created:
        _remove_file(directory / path)
    assert place is not None
    place.unlink(missing_ok=True)
    said = [f"{path} {'removed' if path in created else 'as before'}" for path, *_ in answers]
    return f"Your last answer is taken back: {', '.join(said)}."


def _remove_file(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise DiskError(f"{file} could not be removed ({error.strerror}): remove it") from error


def _read_answer(file: Path) -> bytes | None:
    from portkit.workspace.regular_files import read_if_present

    try:
        return read_if_present(file, sys.maxsize)
    except OSError:
        return None


def _locate_file(directory: Path) -> Path | None:
    from portkit.cache import path_key, state_folder

    state = state_folder()
    return state and state / "answers" / f"{path_key(directory.resolve())}.json"


def _encode_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode_bytes(text: str) -> bytes:
    return base64.b64decode(text)
