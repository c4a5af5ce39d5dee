"""Scans of candle trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codebase_support import CANDLE

from portkit.profile.profile import load_codebase, load_vendor
from portkit.scan.scan import Scan, scan
from portkit.tree.workspace import load

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = ("0.9.2", "0.10.2", "0.11.1")


def scan_tree(root: Path, gating: str = "dummy") -> Scan:
    """Scan a candle tree with candle's profile."""
    codebase = load_codebase(CANDLE)
    return scan(load(root), load_vendor("rocm", codebase), codebase, gating=gating)
