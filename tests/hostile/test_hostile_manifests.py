"""Manifests in which any value is of another kind: a sentence or a finding, and never a failure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import add_file

from portkit.engine.plan import build_plan
from portkit.engine.session import scan_tree
from portkit.errors import PortkitError
from portkit.verify.scratch_tree import ScratchTree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CUDARC = {"version": "0.19", "optional": True, "package": "cudarc", "features": ["f16"]}
TARGETS = [{"name": "gpu", "path": "gpu.rs", "required-features": ["cuda"]}]
MANIFEST: dict[str, Any] = {
    "package": {
        "name": "layers",
        "version": "0.1.0",
        "edition": "2021",
        "build": "build.rs",
        "metadata": {"docs": {"rs": {"features": ["cuda"]}}},
    },
    "workspace": {
        "members": ["near"],
        "exclude": ["far"],
        "package": {"version": "0.1.0", "edition": "2021", "repository": "https://a.example"},
        "dependencies": {"cudarc": {"version": "0.19", "features": ["f16"]}, "half": "2"},
    },
    "features": {"default": [], "cuda": ["dep:cudarc", "dep:bindgen_cuda", "near/cuda"]},
    "dependencies": {"cudarc": CUDARC, "near": {"path": "near"}, "half": "2"},
    "dev-dependencies": {"beside": {"path": "../beside"}},
    "build-dependencies": {"bindgen_cuda": {"version": "0.1", "optional": True}},
    "target": {"cfg(unix)": {"dependencies": {"cudarc": CUDARC}}},
    "patch": {"crates-io": {"near": {"path": "../near"}}},
    "lib": {"name": "layers", "crate-type": ["cdylib"]},
    "bin": TARGETS,
    "example": TARGETS,
    "test": TARGETS,
    "bench": TARGETS,
    "profile": {"release": {"lto": True}},
}
OTHER: tuple[Any, ...] = (3, "../x", [3], {"a": 3})


def written(value: Any) -> str:
    """Return a value as TOML has it in a line."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(k)} = {written(v)}' for k, v in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value)


def manifest(tables: dict[str, Any]) -> str:
    """Return a manifest whose tables have headers, as people write them."""
    lines = []
    for name, table in sorted(tables.items(), key=lambda each: isinstance(each[1], dict)):
        if isinstance(table, dict):
            lines.append(f"[{name}]")
            lines += [f"{json.dumps(key)} = {written(value)}" for key, value in table.items()]
        else:
            lines.append(f"{name} = {written(table)}")
    return "\n".join([*lines, ""])


def variants(value: Any) -> Iterator[Any]:
    """Yield a value with one part of it, or all of it, of another kind."""
    yield from OTHER
    if isinstance(value, dict):
        for key in value:
            for other in variants(value[key]):
                yield {**value, key: other}
    elif isinstance(value, list):
        for at, each in enumerate(value):
            for other in variants(each):
                yield [*value[:at], other, *value[at + 1 :]]


def port(root: Path) -> None:
    scan = scan_tree(root)
    build_plan(scan, rustfmt=False)
    ScratchTree(scan.job.workspace, "apply")


@pytest.mark.parametrize("table", MANIFEST)
def test_a_value_of_another_kind(
    tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``target = 3`` ended a scan with exit 70."""
    # Else a file that portkit fails on is a finding like others.
    monkeypatch.setenv("PORTKIT_TRACEBACK", "1")
    add_file(tmp_path, "src/lib.rs", b"pub fn f(d: &D) -> bool {\n    d.is_cuda()\n}\n")
    add_file(tmp_path, "gpu.rs", b'#[cfg(feature = "cuda")]\nfn main() {}\n')
    add_file(tmp_path, "build.rs", b"fn main() {}\n")
    place = tmp_path / "Cargo.toml"
    place.write_text(manifest(MANIFEST))
    port(tmp_path)
    for other in variants(MANIFEST[table]):
        place.write_text(manifest({**MANIFEST, table: other}))
        try:
            port(tmp_path)
        except PortkitError:
            continue
        except Exception as error:
            raise AssertionError(place.read_text()) from error
