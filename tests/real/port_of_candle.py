"""Scans of candle trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codebase_support import CANDLE

from portkit.copying.kernels import formed
from portkit.profile.profile import load_codebase, load_vendor
from portkit.profile.settings import Settings
from portkit.scan.scan import Scan, scan
from portkit.tree.workspace import load

if TYPE_CHECKING:
    from pathlib import Path

PRODUCTS = "products"
"""What builds candle with cargo runs in one worker: two would wait for each other's lock."""

TYPES = "types"
"""What type-checks candle runs in one worker, too, which may be another: of a build's products a
check takes those of build scripts and macros alone, so that it has a folder of its own."""

VERSIONS = ("0.9.2", "0.10.2", "0.11.1")


def scan_tree(root: Path, gating: str = "dummy", kernels: str = "shared") -> Scan:
    """Scan a candle tree with candle's profile, to be ported with kernels in one of two forms."""
    codebase = load_codebase(CANDLE)
    codebase = formed(codebase, Settings(kernels=kernels), load(root))
    return scan(load(root), load_vendor("rocm", codebase), codebase, gating=gating)
