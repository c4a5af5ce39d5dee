"""candle-extensions, crates that are CUDA's as a whole, ported upon candle's port.

Its sources are fetched by commit and never kept here. ``PORTKIT_EXTENSIONS`` names a clone to take
them from instead of GitHub. Where neither is to be had, the tests are left out and say so.
"""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
from cli_support import invoke
from foreign_codebase import devices, fetched, needs, port_of, run

pytestmark = [pytest.mark.real, pytest.mark.network]

COMMIT = "e287dd09535ab5d7631c0f2ae0a93d7ec168cb86"
REPOSITORY = "https://github.com/huggingface/candle-extensions"
CANDLE = "0.8.4"
"""What the lock file has."""
CRATES = ("candle-layer-norm", "candle-rotary")
"""Those with a counterpart."""
TESTS = 7
"""Six of the layer norm's, one of the rotary embeddings'."""
STAND_IN = Path(__file__).parents[2] / "ci" / "stand-ins" / "cuda"
"""An nvcc that compiles nothing."""


@pytest.fixture(scope="module")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the tree as upstream has it, in a git repository of its own; not to be written to."""
    root = tmp_path_factory.mktemp("foreign") / "tree"
    return fetched(root, "extensions", REPOSITORY, COMMIT)


@pytest.fixture(scope="module")
def ported(extensions: Path) -> Path:
    """Give the port."""
    return port_of(extensions)


def test_every_mention_is_accounted_for_and_nothing_is_left(extensions: Path) -> None:
    done = invoke("scan", extensions, "--kernels", "--format", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    asking = [s for s in document["sites"] if s["applicability"] in ("manual", "review")]
    assert asking == []


def test_a_second_apply_writes_nothing(ported: Path) -> None:
    done = invoke("apply", ported, "--allow-dirty", "--check")
    assert (done.code, done.err) == (0, ""), done.out


def test_each_portable_crate_has_a_counterpart_and_stays_as_it_is(
    extensions: Path, ported: Path
) -> None:
    for path in sorted(extensions.rglob("*/*")):
        if path.is_file() and ".git" not in path.parts:
            assert (ported / path.relative_to(extensions)).read_bytes() == path.read_bytes(), path
    made = sorted(path.name for path in ported.iterdir() if not (extensions / path.name).exists())
    assert made == [f"{name}-rocm" for name in CRATES]


@pytest.mark.parametrize("name", CRATES)
def test_the_counterpart_asks_for_candles_port(ported: Path, name: str) -> None:
    manifest = tomllib.loads((ported / f"{name}-rocm" / "Cargo.toml").read_text())
    candle = manifest["dependencies"]["candle"]
    assert (candle["package"], candle["features"]) == ("candle-core", ["rocm"])
    assert "build-dependencies" not in manifest


@pytest.fixture(scope="module")
def upon_port(ported: Path) -> Path:
    """Give the port in a workspace that takes candle from its port; the last tests are its."""
    candle = ported.with_name("candle")
    done = invoke("fetch", f"candle@{CANDLE}", candle)
    if done.code:
        pytest.skip(f"candle-extensions is not built: {done.err.strip()}")
    done = invoke("apply", candle)
    assert done.code == 0, done.err
    manifest = ported / "Cargo.toml"
    paths = {name: candle / name for name in ("candle-core", "candle-nn")}
    patches = "".join(f'{name} = {{ path = "{path}" }}\n' for name, path in paths.items())
    manifest.write_text(f"{manifest.read_text()}\n[patch.crates-io]\n{patches}")
    needs(run(ported, "cargo", "fetch", name="extensions"), "candle-extensions")
    return ported


def test_it_type_checks_upon_candles_port_with_rocm_and_with_cuda(
    upon_port: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDLE_ROCM_KERNELS", "none")
    for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):
        monkeypatch.setenv(name, str(STAND_IN))
    monkeypatch.setenv("CUDA_COMPUTE_CAP", "80")
    monkeypatch.setenv("PATH", str(STAND_IN / "bin"), prepend=os.pathsep)
    for names in ([f"{name}-rocm" for name in CRATES], CRATES):
        words = [word for name in names for word in ("-p", name)]
        checked = run(upon_port, "cargo", "check", "--all-targets", *words, name="extensions")
        assert checked.returncode == 0, checked.stdout[-6000:]


@pytest.mark.slow
def test_its_tests_pass_on_the_cpu_device(upon_port: Path) -> None:
    """Candle's kernels are compiled as well as the crates' own, and the launchers are linked."""
    words = [word for name in CRATES for word in ("-p", f"{name}-rocm")]
    # The layer norm has 16 forms of each of its kernels: with -O2 g++ takes a quarter of an hour
    # and 3 GB.
    quick = {"PORTKIT_DEVICE_OPTIMIZE": "-O0"}
    asked = ("cargo", "test", "--no-fail-fast", *words)
    for device in devices():
        done = run(upon_port, *asked, name="extensions", **device, **quick)
        assert done.returncode == 0, done.stdout[-6000:]
        assert done.stdout.count(" ... ok\n") == TESTS
