"""Which commit this portkit was built from, as ``portkit --version`` says it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import portkit
from portkit.errors import ToolError
from portkit.workspace.git_runner import run_git

_PACKAGE: Final = Path(portkit.__file__).resolve().parent
_COMMIT: Final = r"[0-9a-f]{40}(-dirty)?"


def read_commit(package: Path = _PACKAGE) -> str:
    """Return the commit, with ``-dirty`` where files had been changed; empty if none is known.

    A build has written it down (``ci/built.py``); a clone, also one that is installed as editable,
    is asked.
    """
    said = ""
    try:
        said = (package / "shipped" / "COMMIT").read_text()
        if said.startswith("$Format:") and (package.parent / ".git").exists():
            describe = ("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty")
            said = run_git(package.parent, *describe).stdout.decode(errors="replace")
    except (OSError, ToolError):
        return ""
    return said.strip() if re.fullmatch(_COMMIT, said.strip()) else ""
