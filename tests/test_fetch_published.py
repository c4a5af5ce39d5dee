"""The versions of a crate and a codebase, from cargo's cache of the registry's index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cli_support import invoke
from fetch_stand_in import VERSION, Registry, files, upstream_workspace
from typer.testing import CliRunner

from portkit.cli import load_program
from portkit.errors import FetchError
from portkit.fetch import fetch, list_published_versions
from portkit.fetch.registry import query_versions

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
    assert query_versions("candle-core") == ("0.9.0", "0.9.2-alpha.1")


def test_an_index_of_another_form_is_named(registry: Registry) -> None:
    keep(registry, entry(("0.9.0", False), form=4))
    with pytest.raises(FetchError, match="candle-core is of a form that portkit does not know"):
        query_versions("candle-core")


def test_an_index_that_is_not_there_is_missed(registry: Registry) -> None:
    with pytest.raises(FetchError, match="holds no index with candle-core"):
        query_versions("candle-core")


def test_a_registry_that_cannot_be_asked_is_named(registry: Registry) -> None:
    keep(registry, entry(("0.9.0", False)))
    registry.program("cargo", "echo 'error: could not resolve host' >&2; exit 101")
    with pytest.raises(FetchError, match=r"could not ask the registry for candle-core \(could not"):
        query_versions("candle-core")


# --- of a codebase -----------------------------------------------------------------------------

KNOWN = (
    *((number, False) for number in ("0.6.0", "0.9.10", "0.9.2", "0.11.1", "0.9.2-alpha.11")),
    *(("0.9.2-alpha.2", False), ("0.12.0", True), ("0.12.0-alpha.1", False)),
)
ORDERED = [
    *("0.12.0-alpha.1", "0.11.1", "0.9.10", "0.9.2", "0.9.2-alpha.11", "0.9.2-alpha.2", "0.6.0"),
]


@pytest.fixture
def fetched(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry whose 0.11.1 was fetched before."""
    made = Registry(tmp_path / "with-crates", monkeypatch)
    made.publish(upstream_workspace(tmp_path / "upstream"))
    fetch(f"candle@{VERSION}", tmp_path / "before")
    lost = "echo 'error: could not find it' >&2; exit 101"  # what the stand-in never published
    made.program("cargo", f'case "$2" in *@*) {lost};; esac')
    keep(made, entry(*KNOWN))
    return made


def test_versions_of_a_codebase_come_newest_first(fetched: Registry) -> None:
    found = list_published_versions("candle")
    assert [each.version for each in found] == ORDERED
    assert [each.version for each in found if each.latest] == ["0.11.1"]
    assert [each.version for each in found if each.fetched] == ["0.11.1"]


def test_fetch_without_a_version_lists_them(fetched: Registry) -> None:
    done = invoke("fetch", "candle")
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines()] == ORDERED
    assert "\n0.11.1          latest, fetched before\n" in done.out
    assert "\n0.9.2-alpha.2   pre-release\n" in done.out
    assert "\n0.6.0           the port begins at 0.7.0\n" in done.out
    assert "Next: `portkit fetch candle@0.11.1 candle`." in done.err


def test_offline_the_list_is_what_the_cache_has(fetched: Registry) -> None:
    fetched.program("cargo", "exit 101")
    failed = invoke("fetch", "candle")
    assert failed.code == FetchError.exit_code
    assert "pass --offline for what was fetched before" in failed.err
    assert invoke("fetch", "candle", "--offline").out == "0.11.1  latest, fetched before\n"
    fetched.archive("candle-nn").unlink()
    gone = invoke("fetch", "candle", "--offline")
    assert (gone.code, gone.out) == (0, "")
    assert "run without --offline" in gone.err


def test_latest_is_the_last_release(fetched: Registry, tmp_path: Path) -> None:
    for number, options in enumerate(((), ("--offline",))):
        place = tmp_path / f"new{number}"
        done = invoke("fetch", "candle@latest", place, *options)
        assert "candle 0.11.1: 5 crates in " in done.out
        assert files(place) == files(tmp_path / "before")


def test_a_codebase_with_pre_releases_alone_has_no_latest(
    registry: Registry, tmp_path: Path
) -> None:
    keep(registry, entry(("0.9.0-alpha.1", False)))
    for options, said in (((), "only 0.9.0-alpha.1: name one"), (("--offline",), "was fetched")):
        done = invoke("fetch", "candle@latest", tmp_path / "new", *options)
        assert done.code == FetchError.exit_code
        assert said in done.err


def test_what_is_missing_of_a_spec_is_said(registry: Registry, tmp_path: Path) -> None:
    without = invoke("fetch", "candle@0.11.1")
    assert without.code == 2
    assert "`portkit fetch candle@0.11.1 candle`" in " ".join(without.err.split())
    assert "or latest, and one of" in invoke("fetch", "candle", tmp_path / "new").err
    assert "no published codebase" in invoke("fetch", "no-such").err


def test_a_shell_completes_versions_without_asking_anybody(registry: Registry) -> None:
    keep(registry, entry(*KNOWN))
    registry.program("cargo", "exit 101")
    asked = {"_PORTKIT_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    words = asked | {"COMP_WORDS": "portkit fetch candle@0.9"}
    done = CliRunner().invoke(load_program(), [], prog_name="portkit", env=words)
    assert done.stdout.split() == [f"candle@{each}" for each in ORDERED if each[:3] == "0.9"]
