from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from fetch_stand_in import CRATES, FIXTURES

from portkit.errors import FetchError
from portkit.fetch.crate import Crate
from portkit.fetch.root_manifest import build_root_manifest


def crate(original: str, normalized: str, name: str = "a", folder: str = "") -> Crate:
    def manifest(text: str) -> dict[str, Any]:
        head = "" if "[package]" in text else "[package]\nedition = '2021'\n"
        return tomllib.loads(head + text)

    path = PurePosixPath(folder or name)
    return Crate(name, path, None, manifest(original), manifest(normalized), {})


def recovered(*crates: Crate) -> dict[str, Any]:
    workspace: dict[str, Any] = tomllib.loads(build_root_manifest(crates, ""))["workspace"]
    return workspace


def fixture_crates() -> list[Crate]:
    return [
        crate(
            (FIXTURES / "workspace" / name / "Cargo.toml").read_text(),
            (FIXTURES / "published" / f"{name}.toml").read_text(),
            name,
        )
        for name in CRATES
    ]


def as_tables(manifest: dict[str, Any]) -> dict[str, Any]:
    """Write out the short form of a dependency (The Cargo Book, "Specifying Dependencies")."""
    table = manifest["workspace"]["dependencies"]
    for name, entry in table.items():
        table[name] = {"version": entry} if isinstance(entry, str) else entry
    return manifest


def test_the_root_manifest_says_what_upstreams_says() -> None:
    extra = '[profile.release-with-debug]\ninherits = "release"\ndebug = true\n'
    ours = tomllib.loads(build_root_manifest(fixture_crates(), extra))
    theirs = tomllib.loads((FIXTURES / "workspace" / "Cargo.toml").read_text())
    assert as_tables(ours) == as_tables(theirs)


def test_the_order_of_the_crates_does_not_change_the_dependencies() -> None:
    forward = recovered(*fixture_crates())
    backward = recovered(*reversed(fixture_crates()))
    assert list(forward["dependencies"].items()) == list(backward["dependencies"].items())


def test_a_crate_that_inherits_nothing_is_excluded() -> None:
    lone = crate("[dependencies]\nx = '1'", "[dependencies]\nx = '1'", "b")
    table = recovered(crate("[lints]\nworkspace = true", "[lints.rust]\nunused = 'deny'"), lone)
    assert (table["members"], table["exclude"]) == (["a"], ["b"])
    assert table["lints"] == {"rust": {"unused": "deny"}}


@pytest.mark.parametrize("table", ["dependencies", "dev-dependencies", "build-dependencies"])
@pytest.mark.parametrize("target", ["", "target.'cfg(unix)'."])
def test_every_table_of_dependencies_is_read(table: str, target: str) -> None:
    original = f"[{target}{table}]\nx = {{ workspace = true, optional = true }}"
    normalized = f"[{target}{table}.x]\nversion = '1'\noptional = true"
    assert recovered(crate(original, normalized))["dependencies"] == {"x": "1"}


@pytest.mark.parametrize(
    ("asked", "given", "root"),
    [
        ("", "['r']", ["r"]),
        ("", "['r', 's']", ["r", "s"]),
        ("['m']", "['r', 'm']", ["r"]),
        ("['r']", "['r', 'r']", ["r"]),  # cargo keeps both
        ("['m']", "['m']", None),
        ("['m', 'n']", "['r', 's', 'm', 'n']", ["r", "s"]),
    ],
)
def test_a_members_own_features_are_not_the_roots(
    asked: str, given: str, root: list[str] | None
) -> None:
    features = f", features = {asked}" if asked else ""
    member = crate(
        f"[dependencies]\nx = {{ workspace = true{features} }}",
        f"[dependencies.x]\nversion = '1'\nfeatures = {given}",
    )
    entry = recovered(member)["dependencies"]["x"]
    assert entry == ("1" if root is None else {"version": "1", "features": root})


def test_a_crate_of_the_repository_gets_its_path_back() -> None:
    user = crate(
        "[dependencies]\nshort = { workspace = true }",
        "[dependencies.short]\nversion = '1'\npackage = 'long'",
    )
    entry = recovered(user, crate("", "", "long", "crates/long"))["dependencies"]["short"]
    assert entry == {"path": "./crates/long", "version": "1", "package": "long"}


def test_a_development_dependency_without_a_version() -> None:
    # Cargo publishes none (The Cargo Book, "Multiple locations").
    user = crate("[dev-dependencies]\nb = { workspace = true, features = ['x'] }", "")
    assert recovered(user, crate("", "", "b"))["dependencies"] == {"b": {"path": "./b"}}
    with pytest.raises(FetchError, match="a inherits the dependency b, but is published without"):
        build_root_manifest([user], "")


def test_members_that_contradict_each_other() -> None:
    one = crate("[dependencies]\nx.workspace = true", "[dependencies.x]\nversion = '1'", "one")
    two = crate("[dependencies]\nx.workspace = true", "[dependencies.x]\nversion = '2'", "two")
    words = r'one and two do not agree on `x` of \[workspace.dependencies\], .*"1".*"2"'
    with pytest.raises(FetchError, match=words):
        build_root_manifest([one, two], "")


@pytest.mark.parametrize(
    ("package", "resolver"),
    [
        ("edition = '2018'", "1"),
        ("edition = '2021'", "2"),
        ("edition = '2024'", "3"),
        ("name = 'a'", "1"),
        ("edition = '2018'\nresolver = '2'", "2"),
    ],
)
def test_the_resolver(package: str, resolver: str) -> None:
    member = crate(
        "[package]\nversion.workspace = true", "[package]\nversion = '1.0.0'\n" + package
    )
    assert recovered(member)["resolver"] == resolver


def test_text_is_quoted() -> None:
    text = 'a "b" \\ \t \u00e9 \U0001f600'
    member = crate("[package]\ndescription.workspace = true", "")
    member = replace(member, normalized={"package": {"edition": "2021", "description": text}})
    assert recovered(member)["package"] == {"description": text}
