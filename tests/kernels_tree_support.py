"""A small candle with a crate of kernels, for tests of what a port adds for those."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli_support import add_file, make_candle
from kernel_support import SOURCE

if TYPE_CHECKING:
    from pathlib import Path

DEPENDENCIES = """
[workspace.dependencies]
cudarc = { version = "0.19.0", features = ["f16"] }
candle-kernels = { path = "./candle-kernels", version = "0.11.99" }
float8 = { version = "0.7.0", features = ["num-traits"] }
half = "2.5.0"
"""
OWN = """
[dependencies]
cudarc = { workspace = true, optional = true }
candle-kernels = { workspace = true, optional = true }
"""


def make_with_kernels(root: Path) -> Path:
    """A small candle with cudarc and with kernels, of a version that no table of kernels knows."""
    make_candle(root, version="0.11.99", repository=False)
    manifest = root / "Cargo.toml"
    text = manifest.read_text().replace('"candle-core"]', '"candle-core", "candle-kernels"]')
    manifest.write_text(text + DEPENDENCIES)
    core = root / "candle-core" / "Cargo.toml"
    asked = 'cuda = ["cudarc", "dep:candle-kernels"]'
    core.write_text(core.read_text().replace("cuda = []", asked) + OWN)
    for path, content in SOURCE.items():
        add_file(root / "candle-kernels", path, content.encode())
    add_file(root, "candle-kernels/Cargo.toml", b'[package]\nname = "candle-kernels"\n')
    return root
