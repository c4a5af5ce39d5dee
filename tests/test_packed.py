"""What is held of a tree: bytes that are compressed say the same, and syntax trees are let go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linear import INPUTS
from tree_support import crate, scan_of

from portkit.engine.session import scan_tree
from portkit.report.model import make_report
from portkit.syntax.compressed_source import CompressedSource, compress_source, release_in_turn
from portkit.syntax.source_file import SourceFile
from portkit.workspace import cargo_workspace

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "[package]\nname = 'a'\nversion = '0.1.0'\n[features]\ncuda = []\n"
NO_MENTION = "pub fn f() -> usize {\n    1\n}\n"


def test_bytes_are_compressed_until_they_are_asked_for() -> None:
    data = NO_MENTION.encode() * 100
    source = compress_source("src/lib.rs", data)
    assert source.size == len(data)
    assert len(SourceFile.data.__get__(source)) < len(data) / 5  # type: ignore[attr-defined]
    assert "data" not in source.__dict__
    assert source.data == data
    assert source.tree.root_node.end_byte == len(data)
    source.forget()
    assert not {"data", "tree"} & source.__dict__.keys()
    assert source.data == data


def test_one_is_let_go_when_the_next_is_another() -> None:
    a, b = compress_source("a.rs", b"1"), compress_source("b.rs", b"2")
    held = [(each.data, "data" in a.__dict__) for each in release_in_turn([a, a, b, b])]
    assert held == [(b"1", True), (b"1", True), (b"2", False), (b"2", False)]
    assert "data" not in b.__dict__


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {path: make(3) for path, make in INPUTS.values() if path.endswith(".toml")}
    for number, (path, make) in enumerate(INPUTS.values()):
        if path.endswith(".rs"):
            files[f"src/m{number}.rs"] = make(3)
    files["src/none.rs"] = f"// portkit: exclude PK301 nothing is here\n{NO_MENTION}"
    files["src/lib.rs"] = "".join(f"mod m{number};\n" for number in range(len(INPUTS)))
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "Cargo.toml").write_text(MANIFEST)
    return tmp_path


def test_a_large_tree_is_said_the_same_of(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = scan_tree(tree)
    monkeypatch.setattr(cargo_workspace, "HELD_IN_MEMORY", 100)
    large = scan_tree(tree)
    kinds = {type(source) for source in large.job.workspace.sources.values()}
    assert kinds == {SourceFile, CompressedSource}
    assert make_report(large, "a") == make_report(small, "a")
    assert large.unaccounted == small.unaccounted
    assert any(f.path == "src/none.rs" for f in large.findings)


def test_syntax_trees_are_let_go_in_a_scan() -> None:
    found = scan_of(crate("fn f( {\n    cuda();\n"))
    assert found.findings
    assert not [s.path for s in found.job.workspace.sources.values() if "tree" in s.__dict__]


def test_nothing_is_held_of_what_was_looked_at(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cargo_workspace, "HELD_IN_MEMORY", 0)
    found = scan_tree(tree)
    make_report(found, "a")
    sources = found.job.workspace.sources.values()
    assert not [s.path for s in sources if {"data", "tree"} & s.__dict__.keys()]
