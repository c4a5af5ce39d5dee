"""dfdx, another project's codebase, ported by the profile that portkit brings.

Its sources are fetched by commit and never kept here. ``PORTKIT_DFDX`` names a clone to take them
from instead of GitHub. Where neither is to be had, the tests are left out and say so.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from cli_support import invoke
from foreign_codebase import fetched, needs, run

from portkit.codebases.known import brought

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.network]

COMMIT = "4722a99d303f347d6088d95867d007c75ca6dd78"
REPOSITORY = "https://github.com/coreylowman/dfdx"
YANKED = {"wgpu": "0.18.0", "wgpu-core": "0.18.1", "wgpu-hal": "0.18.1"}
"""What dfdx asks for and the registry gives only to who has it in a lock file already. dfdx has
none of its own."""
LOCKED = '[[package]]\nname = "{}"\nversion = "{}"\nsource = "{}"\ndependencies = [{}]\n'
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


@pytest.fixture(scope="module")
def dfdx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give dfdx as upstream has it, in a git repository of its own; not to be written to."""
    return fetched(tmp_path_factory.mktemp("foreign") / "dfdx", "dfdx", REPOSITORY, COMMIT)


@pytest.fixture(scope="module")
def ported(dfdx: Path) -> Path:
    """Give the port."""
    root = dfdx.with_name("ported")
    shutil.copytree(dfdx, root)
    done = invoke("apply", root)
    assert done.code == 0, done.err
    return root


def test_the_profile_is_small() -> None:
    text = (brought()["dfdx"].root / "codebase.toml").read_text()
    assert len(text.splitlines()) <= 60


def test_every_mention_is_accounted_for_and_nothing_is_left_to_write(dfdx: Path) -> None:
    done = invoke("scan", dfdx, "--format", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    assert [site for site in document["sites"] if site["applicability"] == "manual"] == []
    assert [site for site in document["sites"] if site["code"] == "PK904"] == []


def test_a_second_apply_writes_nothing(ported: Path) -> None:
    done = invoke("apply", ported, "--allow-dirty", "--check")
    assert (done.code, done.err) == (0, ""), done.out


def test_every_kernel_has_a_hip_source_beside_it(ported: Path) -> None:
    kernels = {path.with_suffix(".hip") for path in ported.rglob("*.cu")}
    assert len(kernels) == 50
    assert {path for path in kernels if not path.is_file()} == set()


@pytest.mark.parametrize("features", ["f16,ci-check", "rocm,f16,ci-check"])
def test_it_type_checks_with_rocm_and_without(ported: Path, features: str) -> None:
    root = ported
    entries = [LOCKED.format(name, version, REGISTRY, "") for name, version in YANKED.items()]
    entries[0] = LOCKED.format("wgpu", YANKED["wgpu"], REGISTRY, '"wgpu-core", "wgpu-hal"')
    own = '[[package]]\nname = "dfdx-core"\nversion = "0.13.0"\ndependencies = ["wgpu"]\n'
    (root / "Cargo.lock").write_text("\n".join(["version = 3", own, *entries]))
    needs(run(root, "cargo", "fetch", name="dfdx"), "dfdx")
    done = run(root, "cargo", "check", "--workspace", "--features", features, name="dfdx")
    assert done.returncode == 0, done.stdout[-6000:]
