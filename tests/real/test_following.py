"""Candle 0.10.2, ported and edited by hand, follows upstream to 0.11.1."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from apply_support import git, picture
from cli_support import commit, invoke
from update_support import BRANCH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.real

MARK = "// By hand."
EDITED = {
    "candle-core/src/rocm_backend/device.rs": "    pub unsafe fn disable_event_tracking(&self) {\n",
    "candle-core/src/display.rs": "            crate::DeviceLocation::Rocm",
    "candle-nn/src/ops.rs": "pub fn softmax<",
    "candle-rocm-kernels/src/lib.rs": "pub struct Module {\n",
    "ROCM.md": "## Building\n",
}
"""Where a line is put in by hand: what stands behind it. Two are copies, one is made by a template,
one is upstream's file with a line of the port, and one is upstream's own."""

CONFLICT = "candle-core/src/rocm_backend/mod.rs"
CHANGED = "let ds = if l.is_contiguous() {\n"
"""A line of a copy, whose original 0.11.1 has written anew."""


def edit(root: Path) -> None:
    for path, behind in EDITED.items():
        text = (root / path).read_text()
        before, found, after = text.partition(behind)
        assert found, path
        (root / path).write_text(f"{before.rstrip(' ')}{MARK}\n{found}{after}")
    commit(root)


def test_edits_survive_and_the_true_conflict_is_the_only_one(
    pristine: Callable[[str], Path], ported: Callable[[str, str], Path], tmp_path: Path
) -> None:
    root = tmp_path / "candle"
    shutil.copytree(ported("0.10.2", "dummy"), root)
    git(root, "config", "user.name", "a person")
    git(root, "config", "user.email", "person@example.org")
    commit(root)
    edit(root)
    git(root, "fetch", "--quiet", str(pristine("0.11.1")), "HEAD:upstream")
    clean = shutil.copytree(root, tmp_path / "clean")

    done = invoke("update", clean, "--to", "upstream")
    assert done.code == 0, done.out + done.err
    for path in EDITED:
        assert (clean / path).read_text().count(f"{MARK}\n") == 1, path
    git(clean, "switch", "--quiet", BRANCH)
    wanted = picture(ported("0.11.1", "dummy"))
    wanted.pop("Cargo.lock", None)  # candle tracks none, and a test that builds this tree makes one
    assert picture(clean) == wanted

    text = (root / CONFLICT).read_text()
    (root / CONFLICT).write_text(text.replace(CHANGED, f"{CHANGED}{MARK}\n", 1))
    commit(root)
    done = invoke("update", root, "--to", "upstream")
    assert done.code == 1, done.out + done.err
    assert ": 1 conflict.\n" in done.out
    assert f"\n{CONFLICT}:" in done.out
    assert "  PK101-" in done.out
    assert git(root, "status", "--porcelain") == ""
