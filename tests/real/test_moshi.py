"""moshi, another project's codebase that is built on candle, ported upon candle's port.

Its sources are fetched by commit and never kept here. ``PORTKIT_MOSHI`` names a clone to take them
from instead of GitHub. Where neither is to be had, the tests are left out and say so.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from typing import TYPE_CHECKING

import pytest
from cli_support import commit, invoke
from foreign_codebase import fetched, port_of, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.network]

COMMIT = "e6a55d2722a65870ef52a6c9f6ecfc0e90f38362"
REPOSITORY = "https://github.com/kyutai-labs/moshi"
CANDLE = "0.9.1"
"""What moshi's lock file has."""
CRATES = ("candle-core", "candle-nn", "candle-transformers")


@pytest.fixture(scope="module")
def moshi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give moshi's Rust workspace as upstream has it; not to be written to."""
    whole = fetched(tmp_path_factory.mktemp("foreign") / "whole", "moshi", REPOSITORY, COMMIT)
    root = whole.with_name("moshi")
    shutil.copytree(whole / "rust", root)
    commit(root)
    return root


@pytest.fixture(scope="module")
def ported(moshi: Path) -> Path:
    """Give the port."""
    return port_of(moshi)


def test_every_mention_is_accounted_for_and_nothing_is_left(moshi: Path) -> None:
    done = invoke("scan", moshi, "--format", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    asking = [s for s in document["sites"] if s["applicability"] in ("manual", "review")]
    assert asking == []


def test_a_second_apply_writes_nothing(ported: Path) -> None:
    done = invoke("apply", ported, "--allow-dirty", "--check")
    assert (done.code, done.err) == (0, ""), done.out


def test_each_feature_asks_for_that_of_candles_port(ported: Path) -> None:
    manifest = tomllib.loads((ported / "moshi-core/Cargo.toml").read_text())
    assert manifest["features"]["rocm"] == ["candle/rocm", "candle-nn/rocm"]


def test_it_type_checks_upon_candles_port_with_rocm_and_without(
    ported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    candle = ported.with_name("candle")
    done = invoke("fetch", f"candle@{CANDLE}", candle)
    if done.code:
        pytest.skip(f"moshi is not type-checked: {done.err.strip()}")
    done = invoke("apply", candle)
    assert done.code == 0, done.err
    manifest = ported / "Cargo.toml"
    patches = "".join(f'{name} = {{ path = "../candle/{name}" }}\n' for name in CRATES)
    manifest.write_text(f"{manifest.read_text()}\n[patch.crates-io]\n{patches}")
    monkeypatch.setenv("CANDLE_ROCM_KERNELS", "none")
    for features in ("", "rocm"):
        words = ("cargo", "check", "-p", "moshi", "--features", features)
        checked = run(ported, *words, name="moshi")
        assert checked.returncode == 0, checked.stdout[-6000:]
