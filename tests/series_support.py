"""What the tests of series share: a small candle to port, and somebody who writes commits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cli_support import LIB, add_file, commit, make_candle
from test_partial import ENUMS, MATCHES

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A Person"), ("EMAIL", "a@example.org"))
}


def make_toy(root: Path) -> Path:
    """Make the small candle with each way to take an enum apart, in a crate's own file."""
    make_candle(root, repository=False)
    add_file(root, "candle-core/src/user.rs", MATCHES.encode())
    lib = root / LIB
    lib.write_text(lib.read_text().replace("mod matmul;", "mod matmul;\npub mod user;") + ENUMS)
    commit(root)
    return root


def author(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git have no configuration, and let the environment say who writes."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
