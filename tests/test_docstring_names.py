"""A docstring names only what exists: words in single backticks are names of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(
    path
    for folder in ("portkit", "tools")
    for path in (ROOT / folder).rglob("*.py")
    if "fixtures" not in path.parts
)
_NAMED = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)")
_ATTRIBUTE = re.compile(r"^\s{8}(\w+):", re.MULTILINE)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _defined() -> frozenset[str]:
    """Return the names that the package defines: modules, items, parameters and fields."""
    found: set[str] = set()
    for path in FILES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        found |= {*parts}
        for node in ast.walk(_parse(path)):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                    found.add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name):
                    found.add(name)
    return frozenset(found)


@cache
def _fields() -> frozenset[str]:
    """Return the names of the fields and properties of all classes."""
    nodes = (node for path in FILES for node in ast.walk(_parse(path)))
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.ClassDef(body=body):
                found |= {
                    n.target.id
                    for n in body
                    if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
                }
                found |= {n.name for n in body if isinstance(n, ast.FunctionDef)}
            case ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
    return frozenset(found)


def _list_docstrings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(_parse(path)):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node, clean=False)):
            yield getattr(node, "name", "the module"), text


def _list_stale_names(path: Path) -> Iterator[str]:
    for owner, text in _list_docstrings(path):
        named = (name for name in _NAMED.findall(text) if not {*name.split(".")} <= _defined())
        attributes = _ATTRIBUTE.findall(text.partition("Attributes:")[2])
        for name in (*named, *(name for name in attributes if name not in _fields())):
            yield f"{owner}: `{name}`"


def test_docstrings_name_what_exists() -> None:
    stale = {str(p.relative_to(ROOT)): found for p in FILES if (found := [*_list_stale_names(p)])}
    assert stale == {}, "write foreign code in double backticks, and mend the names of ours"


@pytest.mark.parametrize(
    "text",
    [
        "Ask `_no_such_thing`.",
        "See `portkit.port.no_such_module`.",
        "Attributes:\n        no_such_field: x",
    ],
)
def test_a_stale_name_is_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(f'"""{text}"""\n')
    assert [*_list_stale_names(path)]
