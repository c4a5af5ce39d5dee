"""The model of Cargo's resolution against Cargo itself, on toy workspaces."""

from __future__ import annotations

import posixpath
import subprocess
from typing import TYPE_CHECKING

import pytest

from portkit.workspace.cargo_resolution import CargoFault, Manifest, Manifests
from portkit.workspace.manifest import parse_manifest

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = '[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n'


def package(name: str, rest: str = "") -> str:
    return PACKAGE.format(name=name) + rest


TWO = '[workspace]\nmembers = ["a", "b"]\nresolver = "2"\n'
B = package("b", "[features]\ncuda = []\n")


def pair(a: str, b: str = B, root: str = TWO) -> dict[str, str]:
    """Return a workspace of two crates."""
    return {
        "Cargo.toml": root,
        "a/Cargo.toml": package("a", a),
        "a/src/lib.rs": "",
        "b/Cargo.toml": b,
        "b/src/lib.rs": "",
    }


OPTIONAL = '[dependencies]\nb = { path = "../b", optional = true }\n'
PLAIN = '[dependencies]\nb = { path = "../b" }\n'

GOOD: dict[str, dict[str, str]] = {
    "a feature turns a dependency on": pair(OPTIONAL + '[features]\ncuda = ["dep:b"]\n'),
    "an implicit feature": pair(OPTIONAL + '[features]\ncuda = ["b"]\n'),
    "a feature of a dependency": pair(PLAIN + '[features]\ncuda = ["b/cuda"]\n'),
    "a weak feature": pair(OPTIONAL + '[features]\ncuda = ["b?/cuda"]\ngpu = ["dep:b"]\n'),
    "the implicit feature of a dependency": pair(
        PLAIN + '[features]\ncuda = ["b/a2"]\n',
        package("b", '[dependencies]\na2 = { path = "../c", optional = true }\n'),
    )
    | {"c/Cargo.toml": package("a2"), "c/src/lib.rs": ""},
    "a renamed package": pair('[dependencies]\nc = { package = "b", path = "../b" }\n'),
    "the workspace's dependency": pair(
        "[dependencies]\nb.workspace = true\n",
        root=TWO + '[workspace.dependencies]\nb = { path = "b", features = ["cuda"] }\n',
    ),
    "a target's dependency": pair(
        "[target.'cfg(unix)'.dependencies]\nb = { path = \"../b\", optional = true }\n"
        '[features]\ncuda = ["dep:b"]\n'
    ),
    "members by a pattern": pair("", root='[workspace]\nmembers = ["*"]\nresolver = "2"\n'),
    "an excluded workspace": pair("", root='[workspace]\nmembers = ["a"]\nexclude = ["b"]\n')
    | {"b/Cargo.toml": package("b", "[workspace]\n")},
    "a path is a member by itself": pair(PLAIN, root='[workspace]\nmembers = ["a"]\n'),
    "a default member": pair("", root=TWO + 'default-members = ["a"]\n'),
    "tests form a circle": pair(PLAIN, B + '[dev-dependencies]\na = { path = "../a" }\n'),
    "a listed bin": pair('[[bin]]\nname = "x"\nrequired-features = ["cuda"]\n[features]\ncuda=[]\n')
    | {"a/src/bin/x.rs": "fn main() {}"},
    "an inherited version": pair(
        '[dependencies]\nb = { path = "../b", version = "0.1" }\n',
        B.replace('version = "0.1.0"', "version.workspace = true"),
        root=TWO + '[workspace.package]\nversion = "0.1.3"\n',
    ),
    "a feature and a dependency of one name": pair(OPTIONAL + '[features]\nb = ["dep:b"]\n'),
    "a crate outside": pair('[dependencies]\no = { path = "../../o", features = ["cuda"] }\n'),
}

BAD: dict[str, tuple[dict[str, str], CargoFault]] = {
    "dep: without a dependency": (
        pair('[features]\ncuda = ["dep:b"]\n'),
        CargoFault("a/Cargo.toml", "dependency", "b", "a/Cargo.toml"),
    ),
    "a member of a feature that is nothing": (
        pair('[features]\ncuda = ["b"]\n'),
        CargoFault("a/Cargo.toml", "feature", "b", "a/Cargo.toml"),
    ),
    "an implicit feature that dep: hides": (
        pair(OPTIONAL + '[features]\ncuda = ["dep:b"]\ngpu = ["b"]\n'),
        CargoFault("a/Cargo.toml", "feature", "b", "a/Cargo.toml"),
    ),
    "dep: of a dependency that is always there": (
        pair(PLAIN + '[features]\ncuda = ["dep:b"]\n'),
        CargoFault("a/Cargo.toml", "switch", "b", "a/Cargo.toml"),
    ),
    "a weak feature of a dependency that is always there": (
        pair(PLAIN + '[features]\ncuda = ["b?/cuda"]\n'),
        CargoFault("a/Cargo.toml", "switch", "b", "a/Cargo.toml"),
    ),
    "a feature that a dependency lacks": (
        pair(PLAIN + '[features]\ncuda = ["b/rocm"]\n'),
        CargoFault("a/Cargo.toml", "feature of b", "rocm", "b/Cargo.toml"),
    ),
    "a weak feature that a dependency lacks": (
        pair(OPTIONAL + '[features]\ncuda = ["b?/rocm"]\ngpu = ["dep:b"]\n'),
        CargoFault("a/Cargo.toml", "feature of b", "rocm", "b/Cargo.toml"),
    ),
    "a dependency asks for a feature that is not there": (
        pair('[dependencies]\nb = { path = "../b", features = ["rocm"] }\n'),
        CargoFault("a/Cargo.toml", "feature of b", "rocm", "b/Cargo.toml"),
    ),
    "the workspace asks for a feature that is not there": (
        pair(
            "[dependencies]\nb.workspace = true\n",
            root=TWO + '[workspace.dependencies]\nb = { path = "b", features = ["rocm"] }\n',
        ),
        CargoFault("a/Cargo.toml", "feature of b", "rocm", "b/Cargo.toml"),
    ),
    "a feature that a crate outside lacks": (
        pair('[dependencies]\no = { path = "../../o", features = ["rocm"] }\n'),
        CargoFault("a/Cargo.toml", "feature of o", "rocm", "../o/Cargo.toml"),
    ),
    "a default that is not there": (
        pair('[dependencies]\nb = { path = "../b", features = ["default"] }\n'),
        CargoFault("a/Cargo.toml", "feature of b", "default", "b/Cargo.toml"),
    ),
    "a path without a crate": (
        pair('[dependencies]\nc = { path = "../c" }\n'),
        CargoFault("a/Cargo.toml", "crate", "c", "c"),
    ),
    "a path with another crate": (
        pair('[dependencies]\nc = { path = "../b" }\n'),
        CargoFault("a/Cargo.toml", "crate", "c", "b"),
    ),
    "a dependency that the workspace lacks": (
        pair("[dependencies]\nb.workspace = true\n"),
        CargoFault("a/Cargo.toml", "dependency of the workspace", "b", "Cargo.toml"),
    ),
    "a key that the workspace lacks": (
        pair("", B.replace('version = "0.1.0"', "version.workspace = true")),
        CargoFault("b/Cargo.toml", "key of the workspace", "version", "Cargo.toml"),
    ),
    "a member that is not there": (
        pair("", root=TWO.replace('"b"', '"b", "c"')),
        CargoFault("Cargo.toml", "crate", "c", "c"),
    ),
    "a default member that is no member": (
        pair("", root='[workspace]\nmembers = ["a"]\ndefault-members = ["b"]\n'),
        CargoFault("Cargo.toml", "default member", "b", "b"),
    ),
    "a member that is a workspace": (
        pair("", B + "[workspace]\n"),
        CargoFault("Cargo.toml", "workspace", "b", "b/Cargo.toml"),
    ),
    "two crates of one name": (
        pair("", package("a")),
        CargoFault("Cargo.toml", "package", "a", "b/Cargo.toml"),
    ),
    "a circle": (
        pair(PLAIN, B + '[dependencies]\na = { path = "../a" }\n'),
        CargoFault("a/Cargo.toml", "circle", "a", "a/Cargo.toml"),
    ),
    "two crates that link one library": (
        pair(
            PLAIN.replace("[dep", 'links = "cuda"\nbuild = "build.rs"\n[dep'),
            B.replace("[feat", 'links = "cuda"\nbuild = "build.rs"\n[feat'),
        )
        | {"a/build.rs": "fn main() {}", "b/build.rs": "fn main() {}"},
        CargoFault("Cargo.toml", "library", "cuda", "b/Cargo.toml"),
    ),
    "a bin without a file": (
        pair('[[bin]]\nname = "x"\n'),
        CargoFault("a/Cargo.toml", "file", "x", "a/src/bin/x.rs"),
    ),
    "two bins of one name": (
        pair('[[bin]]\nname = "x"\npath = "src/x.rs"\n[[bin]]\nname = "x"\npath = "src/x.rs"\n')
        | {"a/src/x.rs": "fn main() {}"},
        CargoFault("a/Cargo.toml", "target", "x", "a/Cargo.toml"),
    ),
    "a crate without a target": (
        {"Cargo.toml": package("a"), "src/other.rs": ""},
        CargoFault("Cargo.toml", "file", "src/lib.rs", "src/lib.rs"),
    ),
    "a table twice": (
        pair("[features]\ncuda = []\n[features]\nrocm = []\n"),
        CargoFault("a/Cargo.toml", "manifest", "a/Cargo.toml", "a/Cargo.toml"),
    ),
    "a version that a crate does not have": (
        pair('[dependencies]\nb = { path = "../b", version = "0.2" }\n'),
        CargoFault("a/Cargo.toml", "version", "b", "b"),
    ),
    "a dependency that no feature turns on": (
        pair(OPTIONAL + "[features]\nb = []\n"),
        CargoFault("a/Cargo.toml", "unused dependency", "b", "a/Cargo.toml"),
    ),
}

OUTSIDE = {"Cargo.toml": package("o", "[features]\ncuda = []\n"), "src/lib.rs": ""}


def modelled(tree: dict[str, str]) -> frozenset[CargoFault]:
    manifests: dict[str, Manifest | None] = {}
    for path, text in tree.items():
        if posixpath.basename(path) == "Cargo.toml":
            try:
                read: Manifest | None = parse_manifest(text.encode())
            except ValueError:
                read = None
            manifests[posixpath.dirname(path) or "."] = read
    outside = parse_manifest(OUTSIDE["Cargo.toml"].encode())
    return Manifests(
        manifests, lambda folder: outside if folder == "../o" else None, tree.__contains__
    ).faults


def loads(tree: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Have cargo resolve a tree, with a crate beside it."""
    for root, files in (("tree", tree), ("o", OUTSIDE)):
        for path, text in files.items():
            place = folder / root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    return subprocess.run(
        ["cargo", "metadata", "--offline", "--format-version", "1"],
        cwd=folder / "tree",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("case", GOOD)
def test_what_cargo_loads_has_no_fault(case: str, tmp_path: Path) -> None:
    run = loads(GOOD[case], tmp_path)
    assert run.returncode == 0, run.stderr
    assert modelled(GOOD[case]) == frozenset()


@pytest.mark.parametrize("case", BAD)
def test_what_cargo_refuses_has_a_fault(case: str, tmp_path: Path) -> None:
    tree, fault = BAD[case]
    run = loads(tree, tmp_path)
    assert run.returncode != 0
    assert fault in modelled(tree)
    assert all(each.fact for each in modelled(tree))
    if "circle" not in case:
        assert len(modelled(tree)) == 1, modelled(tree)


def test_a_target_that_cannot_be_asked_for() -> None:
    """Cargo warns of it, and never builds the target."""
    tree = pair('[[bin]]\nname = "x"\nrequired-features = ["rocm"]\n') | {"a/src/bin/x.rs": ""}
    assert modelled(tree) == {CargoFault("a/Cargo.toml", "feature", "rocm", "a/Cargo.toml")}
