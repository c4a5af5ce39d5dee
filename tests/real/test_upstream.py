"""The pages in docs/upstream: what they show fails on the versions they name, and nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from port_of_candle import PRODUCTS, VERSIONS
from turns import by_turn

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).parents[2] / "docs" / "upstream"

MANIFEST = """\
[package]
name = "reproductions"
version = "0.1.0"
edition = "2021"

[dependencies]
candle-core = {{ path = "{root}/candle-core" }}
candle-nn = {{ path = "{root}/candle-nn" }}
float8 = "{float8}"

[features]
cuda = []

[workspace]
"""
HUNG = 60


@dataclass(frozen=True)
class Page:
    """One finding."""

    name: str
    title: str
    table: dict[str, str]
    code: str

    @property
    def target(self) -> str:
        return self.name.replace("-", "_")

    @property
    def wrong(self) -> list[str]:
        return re.findall(r"\d+\.\d+\.\d+", self.table["wrong in"])

    @property
    def right(self) -> list[str]:
        return re.findall(r"\d+\.\d+\.\d+", self.table["right in"])


def read(path: Path) -> Page:
    text = path.read_text()
    rows = re.findall(r"^\| ([a-z ]+) \| (.*?) ?\|$", text, re.MULTILINE)
    code = re.findall(r"^```rust\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(code) <= 1
    return Page(path.stem, text.splitlines()[0].removeprefix("# "), dict(rows), "".join(code))


PAGES = [read(path) for path in sorted(FOLDER.glob("*.md")) if path.stem != "index"]
ON_CPU = [page for page in PAGES if page.table["runs on"] == "the CPU"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_what_a_maintainer_needs(page: Page) -> None:
    text = (FOLDER / f"{page.name}.md").read_text()
    assert set(page.table) - {"seen on"} == {"where", "wrong in", "right in", "runs on"}
    assert re.search(r"`candle-[\w-]+/src/[\w/.]+`", page.table["where"])
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        *("What", "Reproduction", "Fix", "In the port"),
    ]
    assert set(page.wrong) | set(page.right) == set(VERSIONS)
    assert not set(page.wrong) & set(page.right)


def test_the_index_lists_every_page() -> None:
    text = (FOLDER / "index.md").read_text()
    rows = re.findall(r"^\| \[(.*)\]\((.*)\.md\) \| (.*) \| (.*) \|$", text, re.MULTILINE)
    assert sorted(rows) == sorted(
        (page.title, page.name, page.table["wrong in"], page.table["runs on"]) for page in PAGES
    )


@pytest.mark.real
@by_turn("defects upstream")
@pytest.mark.xdist_group(PRODUCTS)
@pytest.mark.parametrize(
    "version",
    ["0.11.1", *(pytest.param(v, marks=pytest.mark.slow) for v in VERSIONS if v != "0.11.1")],
)
def test_the_reproductions_fail_where_they_should(
    pristine: Callable[[str], Path], tmp_path: Path, version: str
) -> None:
    root = pristine(version)
    known = re.search(
        r'^float8 = \{ version = "(\d+\.\d+)', (root / "Cargo.toml").read_text(), re.M
    )
    assert known is not None
    crate = tmp_path / "reproductions"
    (crate / "tests").mkdir(parents=True)
    (crate / "src").mkdir()
    (crate / "src" / "lib.rs").touch()
    (crate / "Cargo.toml").write_text(MANIFEST.format(root=root, float8=known[1]))
    pages = [page for page in PAGES if page.code]
    for page in pages:
        (crate / "tests" / f"{page.target}.rs").write_text(page.code)
    # Those that need a GPU are compiled and left at that.
    done = cargo(crate, "test", "--no-run")
    assert done is not None
    assert done.returncode == 0, done.stdout[-6000:]
    failing = [page.name for page in ON_CPU if not succeeds(crate, page)]
    assert failing == [page.name for page in ON_CPU if version in page.wrong]


def succeeds(crate: Path, page: Page) -> bool:
    """Whether a reproduction finds all in order; one that never ends does not."""
    done = cargo(crate, "test", "--test", page.target)
    return done is not None and done.returncode == 0


def cargo(crate: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    process = subprocess.Popen(
        ["cargo", *arguments],
        cwd=crate,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        limit = None if "--no-run" in arguments else HUNG
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return None
    return subprocess.CompletedProcess(arguments, process.returncode, out, "")
