"""Scans of candle trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codebase_support import CANDLE

from portkit.engine.scan import Scan, scan_workspace
from portkit.port.adapted_profiles import choose_kernel_form
from portkit.profiles.profile import load_codebase, load_vendor
from portkit.profiles.settings import Settings
from portkit.workspace.cargo_workspace import load_workspace

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
    codebase = choose_kernel_form(codebase, Settings(kernels=kernels), load_workspace(root))
    return scan_workspace(
        load_workspace(root), load_vendor("rocm", codebase), codebase, gating=gating
    )
