"""What the tests of following upstream share: a toy candle whose upstream has two versions.

The fork has three edits by hand: in a line that portkit wrote, in one of upstream's, and in a file
that portkit wrote as a whole. Upstream's second version moves lines, and changes others of each.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from apply_support import git
from cli_support import LIB, MATMUL, add_file, commit, invoke, make_candle

if TYPE_CHECKING:
    from pathlib import Path

BACKEND = "candle-core/src/cuda_backend/mod.rs"
COPY = "candle-core/src/rocm_backend/mod.rs"
BRANCH = "portkit/rocm"
"""As the documentation has it."""

KERNEL = b"""\
//! The backend.

pub fn cuda_one() -> u8 {
    1
}

pub fn cuda_two() -> u8 {
    2
}

pub fn cuda_three() -> u8 {
    3
}
"""
OWN = "    // By hand, in a file that portkit wrote.\n"


def replace(root: Path, path: str, old: str, new: str) -> None:
    """Edit a file of a tree in one place."""
    place = root / path
    text = place.read_text()
    assert text.count(old) == 1, (path, old, text)
    place.write_text(text.replace(old, new))


def make_upstream(root: Path) -> Path:
    """Make a repository whose branch ``upstream`` has a second version; ``main`` has the first."""
    make_candle(root, version="0.10.2", repository=False)
    add_file(root, BACKEND, KERNEL)
    commit(root)
    git(root, "config", "user.name", "a person")
    git(root, "config", "user.email", "person@example.org")
    git(root, "switch", "--quiet", "--create", "upstream")
    replace(root, "Cargo.toml", "0.10.2", "0.11.1")
    replace(root, LIB, "    Cpu,\n", "    /// The processor.\n    Cpu,\n")
    replace(root, MATMUL, "rows <= 64", "rows <= 128")
    replace(root, BACKEND, "    1\n", "    let one = 1;\n    one\n")
    add_file(root, "candle-core/src/new.rs", b"//! New.\n")
    commit(root)
    git(root, "switch", "--quiet", "main")
    return root


def edit(root: Path) -> None:
    """Edit a ported tree by hand in three places, and commit that."""
    replace(root, LIB, 'Self::Rocm(_) => "rocm"', 'Self::Rocm(_) => "amd"')
    replace(root, MATMUL, "//! Products of matrices.", "//! Products of matrices, and more.")
    replace(root, COPY, "    3\n", f"{OWN}    3\n")
    commit(root)


def has_edits(root: Path) -> bool:
    """Whether all three edits stand."""
    texts = [(root / path).read_text() for path in (LIB, MATMUL, COPY)]
    wanted = ('Self::Rocm(_) => "amd"', "Products of matrices, and more.", OWN)
    return all(want in text for want, text in zip(wanted, texts, strict=True))


def apply(root: Path) -> None:
    """Write the port into the tree, and commit it."""
    assert invoke("apply", root).code == 0
    commit(root)


def state(root: Path) -> tuple[str, ...]:
    """Return all that a command must leave alone: branches, index and uncommitted changes."""
    looks = (("for-each-ref",), ("ls-files", "--stage"), ("status", "--porcelain", "--ignored"))
    folder = sorted(os.listdir(root / ".git"))  # noqa: PTH208
    return *(git(root, *look) for look in looks), (root / ".git/HEAD").read_text(), *folder
