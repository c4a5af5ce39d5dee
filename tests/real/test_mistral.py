"""mistral.rs, built on a commit of candle's main branch, ported upon that commit's port.

Its sources, and candle's at the commit that it names, are fetched and never kept here.
``PORTKIT_MISTRAL`` and ``PORTKIT_CANDLE`` name clones to take them from instead of GitHub. Where
neither is to be had, the tests are left out and say so.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

import pytest
from cli_support import commit, invoke
from foreign_codebase import devices, fetched, needs, port_of, run

from portkit.syntax.source_file import SourceFile

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.network]

COMMIT = "9e922623f24b32d41f3892b74f0eed18707f4e6c"
REPOSITORY = "https://github.com/EricLBuehler/mistral.rs"
CANDLE = "35d7ae7ca5c93e17c77359c3617376b8a72e96a4"
"""What the root manifest names."""
CRATES = (
    "mistralrs-quant",
    "mistralrs-paged-attn",
    pytest.param("mistralrs-core", marks=pytest.mark.slow),  # it asks for 500 crates
)
"""Those that are type-checked."""
TESTED = ("mistralrs-quant", "mistralrs-paged-attn")
TESTS = 287
"""All of mistralrs-quant; those of mistralrs-paged-attn are for CUDA."""
OPERATIONS = 20
"""Of its own, which the CPU computes on ROCm."""


@pytest.fixture(scope="module")
def mistral(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the tree as upstream has it, in a git repository of its own; not to be written to."""
    return fetched(tmp_path_factory.mktemp("foreign") / "tree", "mistral", REPOSITORY, COMMIT)


@pytest.fixture(scope="module")
def ported(mistral: Path) -> Path:
    """Give the port."""
    return port_of(mistral)


def test_every_mention_is_accounted_for(mistral: Path) -> None:
    done = invoke("scan", mistral, "--format", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    manual = [site for site in document["sites"] if site["applicability"] == "manual"]
    assert {site["path"] for site in manual} <= {
        "mistralrs-cli/src/commands/doctor.rs",
        "mistralrs-cli/src/ui/handlers/api.rs",
        "mistralrs-core/src/diagnostics.rs",
        "mistralrs-core/src/engine/cuda_decode.rs",
        "mistralrs-core/src/lib.rs",
        "mistralrs-core/src/perf_flags.rs",
        "mistralrs-core/src/topology/mod.rs",
    }
    assert [site for site in document["sites"] if site["code"] == "PK904"] == []


def test_a_second_apply_writes_nothing(ported: Path) -> None:
    done = invoke("apply", ported, "--allow-dirty", "--check")
    assert (done.code, done.err) == (0, ""), done.out


def test_what_is_written_parses(mistral: Path, ported: Path) -> None:
    """So do all files but those that the parser does not understand as upstream has them."""
    for path in sorted(ported.rglob("*.rs")):
        name = str(path.relative_to(ported))
        before = mistral / name
        data = path.read_bytes()
        if not before.exists() or before.read_bytes() != data:
            assert not SourceFile(name, data).tree.root_node.has_error, name


def test_features_ask_for_those_of_candles_port_and_no_bindings_are_brought(ported: Path) -> None:
    manifest = tomllib.loads((ported / "mistralrs-quant/Cargo.toml").read_text())
    assert manifest["features"]["rocm"] == ["candle-core/rocm", "candle-nn/rocm"]
    manifest = tomllib.loads((ported / "mistralrs-core/Cargo.toml").read_text())
    assert manifest["features"]["miopen"] == ["candle-core/miopen"]
    assert [path.name for path in ported.iterdir() if path.name.endswith("-hip")] == []


def test_kernels_and_what_launches_them_stay(mistral: Path, ported: Path) -> None:
    for pattern in ("*.cu", "*.cuh", "ffi.rs", "build.rs"):
        for path in sorted(mistral.rglob(pattern)):
            assert (ported / path.relative_to(mistral)).read_bytes() == path.read_bytes(), path


def test_the_cpu_computes_what_has_a_kernel_and_no_port(ported: Path) -> None:
    count = sum(path.read_text().count("fn rocm_fwd(") for path in ported.rglob("*.rs"))
    assert count == OPERATIONS


@pytest.fixture(scope="module")
def upon_port(ported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the port in a workspace that takes candle from its port; the last tests are its."""
    repository = "https://github.com/huggingface/candle"
    candle = fetched(tmp_path_factory.mktemp("below") / "candle", "candle", repository, CANDLE)
    done = invoke("apply", candle)
    assert done.code == 0, done.err
    _take_from(ported, candle)
    needs(run(ported, "cargo", "fetch", name="mistral"), "mistral")
    return ported


@pytest.mark.parametrize("features", ["", "rocm"])
@pytest.mark.parametrize("crate", CRATES)
def test_it_type_checks_upon_candles_port_with_rocm_and_without(
    upon_port: Path, crate: str, features: str
) -> None:
    words = ("cargo", "check", "-p", crate, "--features", features)
    checked = run(upon_port, *words, name="mistral", CANDLE_ROCM_KERNELS="none")
    assert checked.returncode == 0, checked.stdout[-6000:]


@pytest.mark.slow
def test_its_tests_pass_on_the_cpu_device(upon_port: Path) -> None:
    """Candle's kernels are compiled, and what launches its own is left to the CPU."""
    words = [word for crate in TESTED for word in ("-p", crate)]
    words += ["--lib", "--tests", "--no-fail-fast"]
    words += ["--features", ",".join(f"{crate}/rocm" for crate in TESTED)]
    for device in devices():
        done = run(upon_port, "cargo", "test", *words, name="mistral", **device)
        assert done.returncode == 0, done.stdout[-6000:]
        assert done.stdout.count(" ... ok\n") == TESTS


def _take_from(root: Path, candle: Path) -> None:
    """Take candle from its port, where the root manifest names its repository."""
    manifest = root / "Cargo.toml"
    git = re.compile(r"^(candle-[\w-]+) = \{ git = .*\}$", re.MULTILINE)
    manifest.write_text(git.sub(rf'\1 = {{ path = "{candle}/\1" }}', manifest.read_text()))
    lock = root / "Cargo.lock"
    packages = lock.read_text().split("\n[[package]]\n")
    lock.write_text("\n[[package]]\n".join(p for p in packages if 'source = "git+' not in p))
    commit(root)
