"""Translations that cannot lie beside their sources, since another file has their name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cli_support import add_file, commit, invoke

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = """\
[package]
name = "sift"
version = "0.1.0"
edition = "2021"

[dependencies]
cudarc = { version = "0.19", optional = true }

[features]
cuda = ["dep:cudarc"]
"""
PROFILE = """\
name = "sift"
crate = "sift"
first_version = "0.1.0"

[[hip_sources]]
source = "kernels/*.cu"
reason = "1 kernel source"
"""
IN_THE_WAY = (
    "1 kernel source: the translation of kernels/two.cuh would be kernels/two.h, which stands"
    " already: give one of the two another name; nothing of them is written before that"
)


def sift(root: Path, other: str) -> Path:
    """Make a tree with a kernel and its header, and another file beside them."""
    add_file(root, "Cargo.toml", MANIFEST.encode())
    add_file(root, "src/lib.rs", b"")
    add_file(root, "kernels/a.cu", b'#include "two.cuh"\n')
    add_file(root, "kernels/two.cuh", b"#pragma once\n")
    add_file(root, "kernels/cuda_two.cu", b"")
    add_file(root, other, b"#define OWN 1\n")
    add_file(root, "port/codebase.toml", PROFILE.encode())
    add_file(root, "portkit.toml", b'profile = "port"\n')
    commit(root)
    return root


def test_nothing_of_the_folder_is_written_and_it_is_said(tmp_path: Path) -> None:
    root = sift(tmp_path / "sift", "kernels/two.h")
    document = json.loads(invoke("scan", root, "--format", "json").out)
    said = [s["message"] for s in document["sites"] if s["applicability"] == "manual"]
    assert said == [IN_THE_WAY]
    done = invoke("apply", root)
    assert done.code == 0, done.err
    assert not list(root.glob("kernels/*.hip"))
    assert "rocm = " in (root / "Cargo.toml").read_text()


def test_two_translations_have_two_names(tmp_path: Path) -> None:
    root = sift(tmp_path / "sift", "kernels/hip_two.cu")
    assert invoke("apply", root).code == 0
    made = {path.name for path in root.glob("kernels/*.hip")}
    assert made == {"a.hip", "hip_hip_two.hip", "hip_two.hip"}


def test_what_a_port_has_written_is_in_nobody_s_way(tmp_path: Path) -> None:
    root = sift(tmp_path / "sift", "kernels/other.h")
    assert invoke("apply", root).code == 0
    assert (root / "kernels/two.h").is_file()
    assert (root / "kernels/a.hip").read_text().splitlines()[-1] == '#include "two.h"'
    assert invoke("apply", root, "--check", "--allow-dirty").code == 0
