"""The house (docs/house.md): who may import whom, and what stands in the root."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "portkit"


def test_imports_go_downward() -> None:
    """import-linter's contract in pyproject.toml, imports for types included."""
    linter = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_package_has_a_floor() -> None:
    read = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = read["tool"]["importlinter"]["contracts"]
    floors = {name for layer in contract["layers"] for name in layer.split(" | ")}
    standing = {f"portkit.{p.parent.name}" for p in PACKAGE.glob("*/__init__.py")}
    standing |= {f"portkit.{p.stem}" for p in PACKAGE.glob("*.py") if p.stem != "__init__"}
    assert floors == standing | {"tools"}


def test_the_page_names_every_floor() -> None:
    page = (ROOT / "docs/house.md").read_text()
    table = page[page.index("| floor") : page.index("Packages of one floor")]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row)}
    standing = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert standing | {"cache", "errors"} == named


def test_nothing_else_stands_in_the_root() -> None:
    assert {p.stem for p in PACKAGE.glob("*.py")} == {"__init__", "__main__", "cache", "errors"}
