"""``portkit fetch`` with the real cargo, and on the real candle; these need the Rust registry."""

from __future__ import annotations

import json
import subprocess
import tomllib
from typing import TYPE_CHECKING

import pytest
from fetch_stand_in import CRATES, FIXTURES, VERSION, Registry, files, upstream_workspace

from portkit.errors import FetchError
from portkit.fetch import fetch, fetch_crate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

UPSTREAM_TREES = tomllib.loads((FIXTURES / "upstream_trees.toml").read_text())

# What everyone gets. A commit here changes only when portkit means to rebuild a version in another
# way.
COMMITS = {
    "0.9.2": "d437fc15bf0c1ddfc94d7b2f46bf2417474ce47e",
    "0.10.2": "9cdaeb6e0933213cb8654cbea377873e70a251e8",
    "0.11.1": "98b33e0c8d6de4d14aa548b307176bbb38c415ba",
}


def run(folder: Path, *command: str) -> str:
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def metadata(workspace: Path) -> dict[str, str]:
    """Return the folders of the members by name."""
    command = ("cargo", "metadata", "--format-version=1", "--no-deps", "--offline")
    packages = json.loads(run(workspace, *command))["packages"]
    return {
        package["name"]: package["manifest_path"].removesuffix("/Cargo.toml").rpartition("/")[2]
        for package in packages
    }


def test_what_cargo_packages_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = upstream_workspace(tmp_path / "upstream")
    run(upstream, "git", "init", "--quiet")
    run(upstream, "git", "add", "--force", ".")
    identity = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org")
    run(upstream, "git", *identity, "commit", "--quiet", "--message", "As upstream has it")
    package = ("cargo", "package", "--no-verify", "--allow-dirty", f"--target-dir={tmp_path}")
    members = metadata(upstream)
    run(upstream, *package, "--workspace")
    for name in set(CRATES) - set(members):
        run(upstream / name, *package)

    registry = Registry(tmp_path / "stand-in", monkeypatch)
    for archive in (tmp_path / "package").glob("*.crate"):
        archive.rename(registry.crates / archive.name)
    fetched = fetch(f"candle@{VERSION}", tmp_path / "fetched")
    assert fetched.upstream_commits == (run(upstream, "git", "rev-parse", "HEAD"),)
    assert files(fetched.path).keys() == files(upstream).keys()
    for name in CRATES:
        assert files(fetched.path / name) == files(upstream / name)
        normalized = tomllib.loads((fetch_crate(name, VERSION) / "Cargo.toml").read_text())
        assert normalized == tomllib.loads((FIXTURES / "published" / f"{name}.toml").read_text())
    monkeypatch.undo()
    assert metadata(fetched.path) == members


@pytest.mark.parametrize("version", UPSTREAM_TREES)
def test_candle_is_as_in_upstreams_history(version: str, tmp_path: Path) -> None:
    fetched = fetch(f"candle@{version}", tmp_path / "candle")
    trees = UPSTREAM_TREES[version]
    assert trees.pop("commit") in fetched.upstream_commits
    for folder, tree in trees.items():
        assert run(fetched.path, "git", "rev-parse", f"HEAD:{folder}") == tree
    with_submodule = {"candle-flash-attn", "candle-flash-attn-v3"}
    assert set(fetched.crates) - with_submodule == set(trees) - with_submodule
    members = metadata(fetched.path)
    assert all(name == folder for name, folder in members.items())
    assert {"candle-core", "candle-nn", "candle-transformers"} <= members.keys()
    outside = {"candle-kernels", "candle-metal-kernels", "candle-onnx"}
    assert not outside & members.keys()
    root = tomllib.loads((fetched.path / "Cargo.toml").read_text())
    assert outside <= set(root["workspace"]["exclude"])


@pytest.mark.parametrize(("version", "commit"), COMMITS.items())
def test_the_commit_is_the_same_for_everyone(version: str, commit: str, tmp_path: Path) -> None:
    assert fetch(f"candle@{version}", tmp_path / "candle").commit == commit


def test_a_version_that_was_never_published(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"has no candle-core 0\.99\.0"):
        fetch("candle@0.99.0", tmp_path / "candle")


def test_a_network_that_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CARGO_HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("CARGO_NET_RETRY", "0")
    with pytest.raises(FetchError, match=r"could not download candle-core.*check the network"):
        fetch(f"candle@{VERSION}", tmp_path / "candle")
    assert not (tmp_path / "candle").exists()
