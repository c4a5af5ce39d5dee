"""Cargo features: their names, where they are named, and what the port makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tree_support import Tree, crate, port_of, scan_of

from portkit.engine.parity import find_missing_counterparts
from portkit.engine.plan import build_plan
from portkit.profiles.profile import load_vendor
from portkit.syntax.features import cargo_feature_variable, find_feature_mentions, is_feature_name
from portkit.syntax.name_table import find_feature_conditions
from portkit.syntax.source_file import SourceFile
from portkit.verify.options import Options
from portkit.verify.verified_tree import VerifiedTree as Ported

if TYPE_CHECKING:
    from portkit.workspace.finding import Finding

OWN = {"source_feature": "nvidia", "feature": "amd"}
HALF = replace(load_vendor("rocm").names, feature=("cuda", "amd"))
"""One of the two is the vendor's, so that words and features become different things."""


# What cargo 1.95 says of each in a `[features]`.
TAKEN = ("cuda", "nv-gpu", "nv+gpu", "nv.gpu", "_cuda", "3d", "été", "a\u0301b", "a·b", "default")
REFUSED = ("", "-cuda", "+cuda", ".cuda", "nv gpu", "nv/gpu", "dep:cuda", "cuda?", "٣d", "a²", "²a")


@pytest.mark.parametrize(
    ("name", "good"), [*((name, True) for name in TAKEN), *((name, False) for name in REFUSED)]
)
def test_a_name_is_what_cargo_takes(name: str, good: bool) -> None:
    assert is_feature_name(name) is good


def test_a_build_script_s_variable() -> None:
    assert cargo_feature_variable("nv-gpu.2") == "CARGO_FEATURE_NV_GPU.2"  # as `env` says in one


RUST = """
#[cfg(any(feature = "cuda", not( feature="x")))]
#[cfg_attr(feature = "cuda", doc = "a ( feature = cuda")]
fn f() {
    let feature = "cuda";
    println!("{feature}", feature = "cuda");
    if cfg! (/* ) */ feature /* = */ = "cuda") || target_feature == "cuda" {}
    // #[cfg(feature = "cuda")]
    let bracket = ('(', "(", cfg);
    set(feature = "cuda");
}
"""


def test_a_feature_is_what_a_condition_names() -> None:
    found = [RUST.count("\n", 0, name.start()) for name in find_feature_conditions(RUST)]
    assert found == [1, 1, 2, 6]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('#[cfg(feature = "cuda")]', '#[cfg(feature = "amd")]'),
        ('#[cfg(all(feature = "amd", unix))]', '#[cfg(all(feature = "amd", unix))]'),
        ('let feature = "cuda";', 'let feature = "rocm";'),
        ('env::var("CARGO_FEATURE_CUDA")', 'env::var("CARGO_FEATURE_AMD")'),
        ('"cuda"', '"rocm"'),
        ('"--features cuda"', '"--features amd"'),
        ('"cargo test --features=std,cuda"', '"cargo test --features=std,amd"'),
        ('"--features cuda-x"', '"--features rocm-x"'),
        ('"built without the feature cuda."', '"built without the feature amd."'),
        ("// the `cuda` feature, on cuda", "// the `amd` feature, on rocm"),
        ("// features of cuda", "// features of rocm"),
        ('// #[cfg(feature = "cuda")]', '// #[cfg(feature = "amd")]'),
        ("// https://a.b/?features=cuda", "// https://a.b/?features=cuda"),
    ],
)
def test_a_copy_names_the_feature_where_one_is_meant(before: str, after: str) -> None:
    assert HALF.rust(before) == after


@pytest.mark.parametrize("listed", ['["cuda"]', '["std", "cuda"]', '[\n    "std",\n    "cuda",\n]'])
def test_so_does_a_copy_in_a_manifest(listed: str) -> None:
    text = f'name = "cuda"\nrequired-features = {listed}\n'
    assert HALF.text(text) == f'name = "rocm"\nrequired-features = {listed}\n'.replace(
        'cuda"', 'amd"'
    )


MANIFEST = """[package]
name = "fixture"
version = "0.1.0"
edition = "2021"
keywords = ["nvidia"]

[features]
nvidia = ["dep:cudarc", "outside/nvidia", "inside/nvidia", "weak?/nvidia", "std"]
std = []

[dependencies]
cudarc = { version = "0.19", optional = true }
outside = { version = "1", features = ["cuda"] }
inside = { path = "inside" }
weak = { path = "weak", optional = true }

[[example]]
name = "nvidia_demo"
required-features = ["nvidia"]
"""
LIB = """
#[cfg(feature = "nvidia")]
pub fn only() {}

pub fn named() -> &'static str {
    "nvidia"
}

pub fn by_name(name: &str) -> bool {
    let feature = "nvidia";
    name == feature
}
"""
BUILD = """fn main() {
    let on = std::env::var_os("CARGO_FEATURE_NVIDIA").is_some();
    println!("{on}");
}
"""


BELOW = """[package]
name = "{}"
version = "0.1.0"
edition = "2021"

[features]
nvidia = []
"""


def tree() -> Tree:
    below = {f"{name}/Cargo.toml": BELOW.format(name).encode() for name in ("inside", "weak")}
    named = {"Cargo.toml": MANIFEST.encode(), "build.rs": BUILD.encode()}
    return {**crate(LIB), **named, **below}


def lines_of(path: str, text: str) -> list[int]:
    source = SourceFile(path, text.encode())
    return [source.position(at)[0] for at in find_feature_mentions(source, "nvidia")]


def test_where_a_file_names_a_feature() -> None:
    assert lines_of("Cargo.toml", MANIFEST) == [8, 8, 8, 8, 19]
    assert lines_of("src/lib.rs", LIB) == [2, 10]
    assert lines_of("build.rs", BUILD) == [2]
    assert lines_of("README.md", "nvidia\n`--features std,nvidia`\n`--features nvidia-x`\n") == [2]


def test_a_manifest_gains_the_feature_and_others_keep_theirs() -> None:
    change = next(c for c in build_plan(scan_of(tree(), OWN)).changes if c.path == "Cargo.toml")
    added = [a for a in change.after.decode().split("\n") if a not in MANIFEST.split("\n")]
    assert added == [
        'amd = ["dep:candle-hip", "inside/amd", "weak?/amd", "std"]',
        'candle-hip = { path = "./candle-hip", version = "0.1.0", optional = true }',
    ]


def by_symbol(name: str) -> Finding:
    return next(f for f in scan_of(tree(), OWN).findings if f.symbol == name)


def test_what_is_said_names_the_feature() -> None:
    assert scan_of(tree(), OWN).unaccounted == ()
    said = by_symbol("amd").message
    assert said.startswith("the feature amd asks for the counterparts; outside/nvidia is left out")
    said = 'code may decide by the string "{}": add "{}" by hand'
    assert by_symbol("by_name").message == said.format("nvidia", "amd")
    assert by_symbol("main").message == said.format("CARGO_FEATURE_NVIDIA", "CARGO_FEATURE_AMD")


def test_parity_asks_for_the_feature() -> None:
    missing, *below = find_missing_counterparts(scan_of(tree(), OWN))
    assert (missing.path, missing.line) == ("Cargo.toml", 8)
    assert [found.path for found in below] == ["inside/Cargo.toml", "weak/Cargo.toml"]
    assert (missing.symbol, missing.wanted) == ("nvidia", "amd")
    quoted = {**tree(), "Cargo.toml": MANIFEST.replace("nvidia =", '"nvidia" =').encode()}
    assert [found.line for found in find_missing_counterparts(scan_of(quoted, OWN))] == [8, 7, 7]
    assert len(build_plan(scan_of(quoted, OWN)).changes) == 4


def test_verify_builds_with_the_features() -> None:
    ported = Ported(scan_of(tree(), OWN), Options(), lambda line: None)
    assert (ported.feature, ported.source_feature, ported.vendor) == ("amd", "nvidia", "rocm")


def test_the_vendor_s_names_are_the_default() -> None:
    job = port_of(tree())
    assert (job.feature, job.source_feature) == ("rocm", "cuda")
