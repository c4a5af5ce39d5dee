"""What the emitted bindings crate says, for one workspace or another."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from facade_support import SHARED, render_facade

import portkit

VENDOR = Path(portkit.__file__).parent / "profiles" / "vendors" / "rocm.toml"
WORKSPACES = {"all": frozenset(SHARED), "none": frozenset[str]()}


@pytest.mark.parametrize("shared", sorted(WORKSPACES))
def test_no_trace_of_the_template(shared: str) -> None:
    files = render_facade(WORKSPACES[shared])
    assert {"Cargo.toml", "README.md", "src/lib.rs", "src/loader.rs"} < set(files)
    for path, text in files.items():
        assert not re.search(r"\{\{ |\{%|portkit", text, re.IGNORECASE), path
        assert text.endswith("\n") and not text.endswith("\n\n"), path


def test_dependencies_that_the_workspace_shares() -> None:
    manifest = tomllib.loads(render_facade(WORKSPACES["all"])["Cargo.toml"])
    assert (
        manifest["dependencies"]["half"]
        == manifest["dependencies"]["float8"]
        == {"workspace": True}
    )
    assert "float8::F8E4M3" in render_facade(WORKSPACES["all"])["src/driver/repr.rs"]


def test_dependencies_that_it_does_not_share() -> None:
    files = render_facade(WORKSPACES["none"])
    manifest = tomllib.loads(files["Cargo.toml"])
    assert sorted(manifest["dependencies"]) == ["half", "libloading"]
    assert isinstance(manifest["dependencies"]["half"], str)
    assert not [path for path, text in files.items() if "float8" in text]


def test_each_module_is_declared_and_each_declaration_has_its_file() -> None:
    files = render_facade(WORKSPACES["all"])
    for path, text in files.items():
        if path.endswith((".toml", ".md")):
            continue
        folder = (
            path.removesuffix("lib.rs") if path.endswith("lib.rs") else path.removesuffix("mod.rs")
        )
        if not folder.endswith("/"):
            continue
        declared = set(re.findall(r"^(?:pub )?mod (\w+);$", text, re.MULTILINE))
        beside = {
            p.removeprefix(folder).split("/")[0].removesuffix(".rs")
            for p in files
            if p.startswith(folder) and p != path
        }
        assert declared == beside, path


def test_the_names_of_the_profile_are_there() -> None:
    words = tomllib.loads(VENDOR.read_text())["names"]["words"]
    text = "\n".join(render_facade(WORKSPACES["all"]).values())
    known = set(re.findall(r"\w+", text))
    assert {f"{cuda} = {hip}" for cuda, hip in words.items() if hip not in known} == set()
