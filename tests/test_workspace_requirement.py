"""What a tree asks for of a crate from a registry."""

from __future__ import annotations

import pytest
from tree_support import workspace_of

ROOT = (
    b"[workspace]\nmembers = ['a']\n[workspace.dependencies]\nug = '0.5'\nown = { path = 'own' }\n"
)
MEMBER = b"""[package]
name = "a"
version = "0.1.0"
[dependencies]
ug = "0.4"
plain = "1.2"
tabled = { version = "2", optional = true }
own = { workspace = true }
[target.'cfg(unix)'.dependencies]
aimed = "3"
"""


@pytest.mark.parametrize(
    ("crate", "version"),
    [
        ("ug", "0.5"),
        ("plain", "1.2"),
        ("tabled", "2"),
        ("aimed", "3"),
        ("own", ""),
        ("none", ""),
    ],
)
def test_the_version_is_the_first_that_a_table_names(crate: str, version: str) -> None:
    workspace = workspace_of({"Cargo.toml": ROOT, "a/Cargo.toml": MEMBER})
    assert workspace.find_requirement(crate) == version
