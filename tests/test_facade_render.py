"""What the emitted bindings crate says, for one workspace or another."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from facade_support import FACADE, SHARED, render_facade

import portkit
from portkit.port.hip_bindings import HOME
from portkit.shipped import shipped

VENDOR = Path(portkit.__file__).parent / "vendors" / "rocm" / "vendor.toml"
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
    assert manifest["dependencies"]["half"] == {"workspace": True}
    assert manifest["dependencies"]["float8"] == {"workspace": True, "optional": True}
    assert manifest["features"] == {"default": ["float8"], "float8": ["dep:float8"]}


def test_dependencies_that_it_does_not_share() -> None:
    manifest = tomllib.loads(render_facade(WORKSPACES["none"])["Cargo.toml"])
    own = tomllib.loads((shipped(HOME) / "Cargo.toml").read_text())
    assert manifest["dependencies"] == own["dependencies"]
    assert manifest["features"] == {"float8": ["dep:float8"]}


def test_what_the_workspace_has_for_all_crates_is_not_said_again() -> None:
    shared = {"version": "0.11.1", "edition": "2024", "license": "MIT OR Apache-2.0"}
    package = tomllib.loads(render_facade(WORKSPACES["all"], shared)["Cargo.toml"])["package"]
    assert package["version"] == package["license"] == {"workspace": True}
    assert package["edition"] == "2021"  # what the crate is written in
    assert package["rust-version"] == "1.81"  # as half asks for from 2.6 on


def test_a_copy_differs_from_the_crate_in_its_name_alone() -> None:
    home = shipped(HOME)
    files = render_facade(WORKSPACES["none"])
    own, copy = (
        tomllib.loads(text)["package"]
        for text in ((home / "Cargo.toml").read_text(), files.pop("Cargo.toml"))
    )
    assert (own["name"], copy["name"]) == (FACADE.package, FACADE.name)
    same = {"edition", "rust-version", "description", "keywords", "categories", "license", "readme"}
    assert {key: own[key] for key in same} == {key: copy[key] for key in same}
    assert set(files) == {
        p.relative_to(home).as_posix() for p in [home / "README.md", *(home / "src").rglob("*.rs")]
    }
    for path, text in files.items():
        # The crate that compiles kernels is called so wherever the bindings are.
        assert "hiprc" not in text.replace("hiprc-build", ""), path
        name = FACADE.module if path.endswith(".rs") else FACADE.name
        crate = (home / path).read_text().split("hiprc-build")
        assert text == "hiprc-build".join(part.replace("hiprc", name) for part in crate)


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
