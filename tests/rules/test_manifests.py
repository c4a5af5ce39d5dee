"""Cargo loads every fixture after the port that it loads before."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from harness import Case, Run, every_case

from portkit.port.new_files import list_added_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from portkit.context.port_job import PortJob

CASES = [case for case in every_case() if any((case.folder / "before").rglob("Cargo.toml"))]


def added(job: PortJob) -> dict[str, bytes]:
    """Return what stands for the crates that the port adds: their names and features."""
    found: dict[str, bytes] = {}
    for addition in list_added_files(job):
        if (said := addition.manifest) is not None:
            features = "".join(f"{name} = []\n" for name in said["features"])
            version = said["package"]["version"] or "0.1.0"
            text = f'[package]\nname = "{addition.name}"\nversion = "{version}"\n\n[features]\n'
            found[f"{addition.name}/Cargo.toml"] = f"{text}{features}".encode()
            found[f"{addition.name}/src/lib.rs"] = b""
    return found


def fault(tree: Mapping[str, bytes], root: Path) -> str:
    """Return what cargo refuses in the manifests of a tree, or an empty string."""
    for path, data in tree.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    if not any((root / f"src/{name}.rs").exists() for name in ("lib", "main")):
        (root / "src").mkdir(exist_ok=True)
        (root / "src/lib.rs").write_bytes(b"")
    run = subprocess.run(
        ["cargo", "metadata", "--offline", "--no-deps", "--format-version", "1"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode or json.loads(run.stdout)["packages"]
    return run.stderr if run.returncode else ""


@pytest.mark.real
@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.name}")
def test_cargo_loads_the_port_of_what_it_loads(case: Case, tmp_path: Path) -> None:
    if fault(Run(case, "dummy").before, tmp_path / "before"):
        pytest.skip("cargo does not load the fixture before the port")
    for gating in ("dummy", "cfg"):
        run = Run(case, gating)
        made = {**added(run.scan(run.before).job), **run.job(run.before)}
        assert fault(made, tmp_path / f"{gating}-after") == ""
