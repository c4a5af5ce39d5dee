"""The versions of a crate, from cargo's cache of the registry's index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from fetch_stand_in import Registry

from portkit.errors import FetchError
from portkit.fetch.registry import published

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "registry/index/example.org-1949cf8c/.cache/ca/nd/candle-core"


def entry(*versions: tuple[str, bool], form: int = 3) -> bytes:
    """An entry as cargo 1.95 writes it (src/cargo/sources/registry/index/cache.rs)."""
    parts = [b"etag: abc"]
    for number, yanked in versions:
        line = {"name": "candle-core", "vers": number, "deps": [], "yanked": yanked}
        parts += [number.encode(), json.dumps(line).encode()]
    return bytes([form]) + (2).to_bytes(4, "little") + b"\0".join(parts) + b"\0"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    made = Registry(tmp_path, monkeypatch)
    made.program("cargo", "exit 0")
    return made


def keep(registry: Registry, data: bytes) -> None:
    place = registry.cargo_home / PLACE
    place.parent.mkdir(parents=True)
    place.write_bytes(data)


def test_versions_are_those_that_were_not_withdrawn(registry: Registry) -> None:
    keep(registry, entry(("0.9.0", False), ("0.9.1", True), ("0.9.2-alpha.1", False)))
    assert published("candle-core") == ("0.9.0", "0.9.2-alpha.1")


def test_an_index_of_another_form_is_named(registry: Registry) -> None:
    keep(registry, entry(("0.9.0", False), form=4))
    with pytest.raises(FetchError, match="candle-core is of a form that portkit does not know"):
        published("candle-core")


def test_an_index_that_is_not_there_is_missed(registry: Registry) -> None:
    with pytest.raises(FetchError, match="holds no index with candle-core"):
        published("candle-core")


def test_a_registry_that_cannot_be_asked_is_named(registry: Registry) -> None:
    keep(registry, entry(("0.9.0", False)))
    registry.program("cargo", "echo 'error: could not resolve host' >&2; exit 101")
    with pytest.raises(FetchError, match=r"could not ask the registry for candle-core \(could not"):
        published("candle-core")
