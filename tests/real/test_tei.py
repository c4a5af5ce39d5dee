"""text-embeddings-inference, built on a branch of candle 0.8, ported upon that branch's port.

Its sources, and candle's at the commit that it names, are fetched and never kept here.
``PORTKIT_TEI`` and ``PORTKIT_CANDLE`` name clones to take them from instead of GitHub. Where
neither is to be had, the tests are left out and say so.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

import pytest
from cli_support import commit, invoke
from foreign_codebase import fetched, needs, port_of, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.network]

COMMIT = "0d124dc9773be6ac5a9a57d8439aba9bbbf33273"
REPOSITORY = "https://github.com/huggingface/text-embeddings-inference"
CANDLE = "6381023982251959a2c9bab7378b3013304e192b"
"""What the root manifest patches candle with: 0.8.4 with CUDA under the feature ``_cuda``."""
CRATES = ("candle-core", "candle-nn", "candle-transformers", "candle-flash-attn")
CRATE = "text-embeddings-backend-candle"


@pytest.fixture(scope="module")
def tei(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the tree as upstream has it, in a git repository of its own; not to be written to."""
    return fetched(tmp_path_factory.mktemp("foreign") / "tei", "tei", REPOSITORY, COMMIT)


@pytest.fixture(scope="module")
def ported(tei: Path) -> Path:
    """Give the port."""
    return port_of(tei)


def test_every_mention_is_accounted_for(tei: Path) -> None:
    done = invoke("scan", tei, "--format", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    manual = [site for site in document["sites"] if site["applicability"] == "manual"]
    assert [(site["path"], site["symbol"]) for site in manual] == [
        ("router/Cargo.toml", "candle-cuda"),
        ("router/Cargo.toml", "candle-cuda-turing"),
        ("router/Cargo.toml", "candle-cuda-volta"),
    ]
    assert [site for site in document["sites"] if site["code"] == "PK904"] == []


def test_a_second_apply_writes_nothing(ported: Path) -> None:
    done = invoke("apply", ported, "--allow-dirty", "--check")
    assert (done.code, done.err) == (0, ""), done.out


def test_what_is_pytorchs_stays(tei: Path, ported: Path) -> None:
    for path in sorted(tei.rglob("*.py")):
        assert (ported / path.relative_to(tei)).read_bytes() == path.read_bytes(), path


def test_the_feature_asks_for_that_of_candles_port_and_brings_no_bindings(ported: Path) -> None:
    manifest = tomllib.loads((ported / "backends/candle/Cargo.toml").read_text())
    assert manifest["features"]["rocm"] == ["candle/rocm", "candle-nn/rocm"]
    assert [path.name for path in ported.iterdir() if path.name.endswith("-hip")] == []


@pytest.mark.parametrize("name", ["lib", "layers/layer_norm", "layers/rms_norm"])
def test_rocm_has_an_arm_wherever_cuda_has_one(tei: Path, ported: Path, name: str) -> None:
    path = f"backends/candle/src/{name}.rs"
    before, after = ((root / path).read_text() for root in (tei, ported))
    assert after.count("Device::Rocm(_)") == before.count("Device::Cuda(_)") > 0
    assert "left out:" not in after


def test_it_type_checks_upon_candles_port_with_rocm_and_without(
    ported: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = "https://github.com/huggingface/candle"
    candle = fetched(tmp_path_factory.mktemp("below") / "candle", "candle", repository, CANDLE)
    done = invoke("apply", candle)
    assert done.code == 0, done.err
    _reduce(ported, candle)
    monkeypatch.setenv("CANDLE_ROCM_KERNELS", "none")
    needs(run(ported, "cargo", "fetch", name="tei"), "tei")
    for features in ("", "rocm"):
        words = ("cargo", "check", "-p", CRATE, "--features", features)
        checked = run(ported, *words, name="tei")
        assert checked.returncode == 0, checked.stdout[-6000:]


def _reduce(root: Path, candle: Path) -> None:
    """Leave the crate with its one neighbour, and take candle from its port.

    The others ask for a branch of cudarc's, and tests for one of insta's, which are GitHub's alone;
    the toolchain that the tree names need not be here.
    """
    manifest = root / "Cargo.toml"
    lists = re.compile(r"^((?:default-)?members) = \[.*?\]", re.MULTILINE | re.DOTALL)
    text = lists.sub(r"\1 = ['backends/candle', 'backends/core']", manifest.read_text())
    head, table, patches = text.partition("[patch.crates-io]\n")
    instead = "".join(f'{name} = {{ path = "{candle / name}" }}\n' for name in CRATES)
    manifest.write_text(head + table + instead + patches[patches.index("\n[") :])
    own = root / "backends/candle/Cargo.toml"
    own.write_text(re.sub(r"(?m)^insta = .*\n", "", own.read_text()))
    (root / "rust-toolchain.toml").unlink()
    lock = root / "Cargo.lock"
    packages = lock.read_text().split("\n[[package]]\n")
    lock.write_text("\n[[package]]\n".join(p for p in packages if 'source = "git+' not in p))
    commit(root)
