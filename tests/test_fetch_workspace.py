from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from fetch_stand_in import (
    AWKWARD,
    CRATES,
    SCRIPT,
    UPSTREAM_COMMIT,
    VERSION,
    Registry,
    files,
    upstream_workspace,
)

from portkit.errors import DiskError, FetchError, PortkitError, ToolError
from portkit.fetch import fetch

if TYPE_CHECKING:
    from pathlib import Path

SPEC = f"candle@{VERSION}"


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    return upstream_workspace(tmp_path / "upstream")


@pytest.fixture
def registry(tmp_path: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    registry = Registry(tmp_path, monkeypatch)
    registry.publish(upstream)
    return registry


def git(root: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True).stdout


# Refusals: nothing may appear at the destination, nor beside it.


def refused(kind: type[PortkitError], words: str, spec: str, destination: Path) -> None:
    before = contents(destination)
    with pytest.raises(kind, match=words):
        fetch(spec, destination)
    assert contents(destination) == before
    assert list(destination.parent.glob(".portkit-*")) == []


def contents(place: Path) -> object:
    return files(place) if place.is_dir() else place.exists() and place.read_bytes()


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "candle",
        "candle@",
        "candle@newest",
        "candle@0.11",
        "candle@^0.11.1",
        "candle@0.11.1 ",
        "candle@0.11.1/../x",
        "../candle@0.11.1",
        "burn@0.11.1",
        "Candle@0.11.1",
        "candle@0.11.１",
    ],
)
def test_a_spec_must_name_a_known_codebase_and_a_full_version(
    registry: Registry, tmp_path: Path, spec: str
) -> None:
    refused(FetchError, "names no published workspace.*these names: candle", spec, tmp_path / "new")
    assert registry.asked() == []


def test_a_folder_that_is_not_empty_is_left_alone(registry: Registry, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "note").write_text("mine")
    refused(FetchError, "not an empty folder", SPEC, taken)
    assert registry.asked() == []


def test_a_file_is_no_destination(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    refused(FetchError, "not an empty folder", SPEC, tmp_path / "file")


def test_the_current_folder_is_not_pulled_away(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    refused(FetchError, "is the current folder", SPEC, tmp_path / "here")


def test_an_unknown_version(registry: Registry, tmp_path: Path) -> None:
    refused(FetchError, "has no candle-core 0.99.0", "candle@0.99.0", tmp_path / "new")


def test_a_registry_that_cannot_be_reached(registry: Registry, tmp_path: Path) -> None:
    registry.program(
        "cargo",
        "printf 'error: download of config.json failed\\n\\nCaused by:\\n"
        "  [7] Could not connect to server\\n' >&2; exit 101",
    )
    words = r"\(download of config.json failed: \[7\] Could not connect to server\).*network"
    refused(FetchError, words, SPEC, tmp_path / "new")


def test_a_cargo_that_is_set_to_stay_offline_is_told_otherwise(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARGO_NET_OFFLINE", "true")
    assert fetch(SPEC, tmp_path / "new").crates == CRATES


def test_two_crates_that_claim_one_file(registry: Registry, upstream: Path, tmp_path: Path) -> None:
    registry.publish(upstream, ("candle-onnx",), folder="candle-kernels")
    words = "candle-onnx holds candle-kernels/src/lib.rs, which another crate has as well"
    refused(FetchError, words, SPEC, tmp_path / "new")


def test_a_cargo_without_info(registry: Registry, tmp_path: Path) -> None:
    registry.program("cargo", "echo 'error: no such command: `info`' >&2; exit 101")
    refused(ToolError, "cargo 1.82 or newer", SPEC, tmp_path / "new")


@pytest.mark.parametrize("program", ["cargo", "git"])
def test_a_program_that_is_missing(
    registry: Registry, tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if program == "git":
        fetch(SPEC, tmp_path / "first")  # so that cargo and its shell are no longer needed
        registry.program("cargo", "#!/bin/false")
    monkeypatch.setenv("PATH", str(registry.programs))
    (registry.programs / program).unlink()
    with pytest.raises(ToolError, match=f"{program} is not on PATH"):
        fetch(SPEC, tmp_path / "new", offline=program == "git")
    assert not (tmp_path / "new").exists()
    assert list(tmp_path.glob(".portkit-*")) == []


def test_a_git_that_fails(registry: Registry, tmp_path: Path) -> None:
    registry.program("git", "echo no space >&2; exit 128")
    refused(ToolError, r"`git init` failed \(no space\)", SPEC, tmp_path / "new")


def test_an_interrupted_run_leaves_nothing(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(folder: Path, message: str) -> str:
        assert (folder / "candle-core/src/lib.rs").is_file()
        raise KeyboardInterrupt

    monkeypatch.setattr("portkit.fetch.workspace.commit_tree", interrupt)
    (tmp_path / "work").mkdir()
    with pytest.raises(KeyboardInterrupt):
        fetch(SPEC, tmp_path / "work" / "new")
    assert list((tmp_path / "work").iterdir()) == []


def test_a_destination_taken_meanwhile_is_left_alone(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(folder: Path, message: str) -> str:
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "note").write_text("mine")
        return ""

    monkeypatch.setattr("portkit.fetch.workspace.commit_tree", take)
    with pytest.raises(DiskError, match="new could not be written"):
        fetch(SPEC, tmp_path / "new")
    assert files(tmp_path / "new") == {"note": (b"mine", False)}


# Results.


@pytest.fixture
def fetched(registry: Registry, tmp_path: Path) -> Path:
    return fetch(SPEC, tmp_path / "deep" / "new").path


def test_every_file_is_upstreams_and_none_is_cargos(fetched: Path, upstream: Path) -> None:
    ours, theirs = files(fetched), files(upstream)
    assert ours.pop("Cargo.toml") != theirs.pop("Cargo.toml")  # see test_fetch_root_manifest.py
    assert ours == theirs
    assert ours[SCRIPT][1]


def test_the_report(registry: Registry, tmp_path: Path) -> None:
    workspace = fetch(SPEC, tmp_path / "new")
    assert (workspace.name, workspace.version) == ("candle", VERSION)
    assert workspace.path == tmp_path / "new"
    assert workspace.crates == CRATES
    assert "candle-ug" in workspace.absent
    assert not set(workspace.absent) & set(workspace.crates)
    assert workspace.upstream_commits == (UPSTREAM_COMMIT,)
    assert git(workspace.path, "rev-parse", "HEAD").decode().strip() == workspace.commit


def test_an_empty_folder_is_a_destination(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert (fetch(SPEC, tmp_path / "empty").path / "candle-core/src/lib.rs").is_file()


def test_the_commit_holds_the_very_bytes(fetched: Path) -> None:
    assert git(fetched, "rev-list", "--count", "--all") == b"1\n"
    committed = git(fetched, "ls-files").decode().splitlines()
    assert sorted(committed) == sorted(files(fetched))
    for at, data in AWKWARD.items():
        assert git(fetched, "cat-file", "blob", f"HEAD:{at}") == data


def test_a_build_leaves_the_tree_clean(fetched: Path) -> None:
    (fetched / "target").mkdir()
    (fetched / "target" / "out").touch()
    (fetched / "Cargo.lock").touch()
    assert git(fetched, "status", "--porcelain") == b""
    (fetched / "candle-core" / "new.rs").touch()
    assert git(fetched, "status", "--porcelain") == b"?? candle-core/new.rs\n"


def test_the_commit_does_not_depend_on_the_user(
    registry: Registry, fetched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = git(fetched, "rev-parse", "HEAD").decode().strip()
    home = tmp_path / "home"
    hooks = home / "template" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    (home / "ignore").write_text("*.rs\n")
    (home / "attributes").write_text("*.rs text eol=crlf\n")
    (home / ".gitconfig").write_text(
        f"[user]\nname = Someone\nemail = someone@example.org\n[commit]\ngpgSign = true\n"
        f"[core]\nautocrlf = true\nhooksPath = {hooks}\nexcludesFile = {home}/ignore\n"
        f"attributesFile = {home}/attributes\n"
        f"[init]\ntemplateDir = {home}/template\ndefaultBranch = trunk\n"
        "[i18n]\ncommitEncoding = ISO-8859-1\n"
    )
    monkeypatch.setenv("HOME", str(home))
    for name, value in {
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_AUTHOR_NAME": "Someone",
        "GIT_COMMITTER_DATE": "2020-02-02T02:02:02Z",
        "GIT_DEFAULT_HASH": "sha256",
        "TZ": "Asia/Kathmandu",
    }.items():
        monkeypatch.setenv(name, value)
    old_mask = os.umask(0o077)
    try:
        assert fetch(SPEC, tmp_path / "again").commit == expected
    finally:
        os.umask(old_mask)


# Later runs.


def test_a_later_run_asks_only_for_what_was_absent(
    registry: Registry, fetched: Path, tmp_path: Path
) -> None:
    assert {f"info {name}@{VERSION}" for name in CRATES} < set(registry.asked())
    again = fetch(SPEC, tmp_path / "again")
    assert set(registry.asked()) == {f"info {name}@{VERSION}" for name in again.absent}


def test_a_crate_that_is_published_late_is_found(
    registry: Registry, upstream: Path, tmp_path: Path
) -> None:
    late = registry.crates / f"candle-onnx-{VERSION}.crate"
    late.rename(tmp_path / "later")
    assert "candle-onnx" in fetch(SPEC, tmp_path / "early").absent
    (tmp_path / "later").rename(late)
    assert "candle-onnx" in fetch(SPEC, tmp_path / "new").crates


def test_offline_nobody_is_asked(registry: Registry, fetched: Path, tmp_path: Path) -> None:
    (registry.programs / "cargo").unlink()
    again = fetch(SPEC, tmp_path / "again", offline=True)
    assert again.commit == git(fetched, "rev-parse", "HEAD").decode().strip()


def test_offline_before_any_run(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=f"candle {VERSION} was not fetched here before"):
        fetch(SPEC, tmp_path / "new", offline=True)
    assert registry.asked() == []


def test_a_lost_archive_is_downloaded_again(
    registry: Registry, fetched: Path, tmp_path: Path
) -> None:
    registry.archive("candle-nn").unlink()
    with pytest.raises(FetchError, match=f"no longer has candle-nn {VERSION}"):
        fetch(SPEC, tmp_path / "offline", offline=True)
    again = fetch(SPEC, tmp_path / "online")
    assert again.commit == git(fetched, "rev-parse", "HEAD").decode().strip()


def test_a_changed_archive_is_not_used(registry: Registry, fetched: Path, tmp_path: Path) -> None:
    registry.archive("candle-nn").write_bytes(registry.archive("candle-onnx").read_bytes())
    with pytest.raises(FetchError, match=f"no longer has candle-nn {VERSION}"):
        fetch(SPEC, tmp_path / "offline", offline=True)
    words = rf"holds no candle-nn-{VERSION}\.crate with the SHA-256 [0-9a-f]{{64}} that it had"
    refused(FetchError, words, SPEC, tmp_path / "online")


def test_an_archive_that_was_bad_from_the_start_is_not_noted(
    registry: Registry, tmp_path: Path
) -> None:
    bad = registry.archive("candle-nn", "example.org-1949cf8c")
    bad.parent.mkdir(parents=True)
    bad.write_bytes(b"bad")
    refused(FetchError, f"{bad} is not an archive .* delete it", SPEC, tmp_path / "new")
    bad.unlink()
    fetch(SPEC, tmp_path / "new")


def test_changed_sources_beside_the_archives_do_not_matter(
    registry: Registry, tmp_path: Path
) -> None:
    sources = registry.cargo_home / "registry/src/example.org-1949cf8c" / f"candle-nn-{VERSION}"
    (sources / "src").mkdir(parents=True)
    (sources / "src/lib.rs").write_text('compile_error!("edited");\n')
    fetched = fetch(SPEC, tmp_path / "new").path
    assert (fetched / "candle-nn/src/lib.rs").read_text() == "pub use candle::name;\n"


def test_two_registries_that_disagree_are_named(registry: Registry, tmp_path: Path) -> None:
    other = registry.cargo_home / "registry/cache/mirror-0" / f"candle-nn-{VERSION}.crate"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"another")
    refused(FetchError, "mirror-0.* differ: delete", SPEC, tmp_path / "new")
