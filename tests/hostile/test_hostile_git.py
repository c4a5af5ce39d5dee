"""Settings of a git repository that run something: none of them counts, whatever they are called.

`ci/newest-git` puts the newest git that Debian has on the PATH: it runs hooks that the
configuration names (since 2.54). The version is in the report's head.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from cli_support import LIB, invoke, make_candle
from hostile_support import git, trap
from update_support import apply, make_upstream

from portkit.workspace.git_runner import query_config, run_git
from portkit.workspace.git_settings import Setting, is_allowed_key, read_settings, write_settings

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = (
    *("applypatch-msg", "commit-msg", "post-applypatch", "post-checkout", "post-commit"),
    *("post-index-change", "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc"),
    *("pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg"),
    "reference-transaction",
)
"""githooks(5)."""

COMMANDS = (
    *("scan", "apply --check", "apply --diff", "pull-request", "branch --check", "branch"),
    *("update --to upstream --check", "update --to upstream"),
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the traps are shell scripts")


def version() -> tuple[int, ...]:
    said = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:2]))


needs_hooks_in_settings = pytest.mark.skipif(
    shutil.which("git") is None or version() < (2, 54),
    reason='git before 2.54 has no hooks in its settings: eval "$(ci/newest-git)"',
)


def set_hooks(repository: Path, sprung: Path, *where: str) -> None:
    """Name a trap for each event, by settings of git 2.54, and as a file in the folder of hooks."""
    program = trap(repository.parent / "trap", sprung)
    for event in EVENTS:
        git(repository, "config", *where, f"hook.own-{event}.event", event)
        git(repository, "config", *where, f"hook.own-{event}.command", str(program))
        if not where:
            trap(repository / ".git" / "hooks" / event, sprung)


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """A repository on which each command does its work."""
    return make_upstream(tmp_path / "port")


def prepare(command: str, port: Path) -> None:
    """Bring a repository into the state in which a command does its work."""
    if command.startswith("update"):
        assert invoke("branch", port).code == 0
    elif command == "pull-request":
        apply(port)


def run(command: str, port: Path, sprung: Path) -> None:
    """Run a command among traps, and see that none of them was sprung."""
    os.utime(port / LIB, (1, 1))  # git must look at it again
    first, *words = command.split()
    done = invoke(first, port, *words)
    assert done.code in (0, 1), done.err
    assert not sprung.exists()


@needs_hooks_in_settings
def test_git_itself_runs_hooks_of_its_settings(candle: Path, tmp_path: Path) -> None:
    """Otherwise the tests below could not fail."""
    set_hooks(candle, tmp_path / "sprung")
    shutil.rmtree(candle / ".git" / "hooks")
    (candle / "more.txt").write_text("more\n")
    git(candle, "add", ".")
    assert (tmp_path / "sprung").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_no_hook_of_a_repository_is_run(port: Path, tmp_path: Path, command: str) -> None:
    prepare(command, port)
    set_hooks(port, tmp_path / "sprung")
    (tmp_path / "sprung").unlink(missing_ok=True)
    run(command, port, tmp_path / "sprung")


@needs_hooks_in_settings
@pytest.mark.parametrize("command", COMMANDS)
def test_no_hook_of_the_users_own_is_run(
    port: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    prepare(command, port)
    own = tmp_path / "gitconfig"
    own.write_text("[user]\n\tname = a\n\temail = a@localhost\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    set_hooks(port, tmp_path / "sprung", "--global")
    (tmp_path / "sprung").unlink(missing_ok=True)
    run(command, port, tmp_path / "sprung")


@pytest.mark.parametrize(
    "key",
    [
        *("alias.status", "core.askpass", "core.editor", "core.fsmonitor", "core.gitproxy"),
        *("core.hookspath", "core.pager", "core.sshcommand", "core.worktree", "credential.helper"),
        *("core.alternaterefscommand", "core.excludesfile", "core.attributesfile"),
        *("diff.external", "diff.x.command", "diff.x.textconv", "difftool.x.cmd", "filter.x.clean"),
        *("filter.x.process", "filter.x.smudge", "gpg.program", "gpg.ssh.defaultkeycommand"),
        *("hook.x.command", "hook.x.event", "include.path", "includeif.x.path", "init.templatedir"),
        *("interactive.difffilter", "merge.x.driver", "mergetool.x.cmd", "pager.log"),
        *("remote.x.receivepack", "remote.x.uploadpack", "remote.x.vcs", "sequence.editor"),
        *("submodule.x.update", "trailer.x.cmd", "trailer.x.command", "uploadpack.packobjectshook"),
        *("url.x.insteadof", "web.browser", "extensions.worktreeconfig", "of.the.next.git"),
    ],
)
def test_a_setting_that_runs_or_leads_somewhere_does_not_count(key: str) -> None:
    assert not is_allowed_key(key)
    assert write_settings([Setting(own=True, key=key, value="x")]) == b""


def test_git_reads_the_settings_as_they_were(candle: Path) -> None:
    """Quotes, lines, several values and a key without a value are the same for git afterwards."""
    url = 'https://a.example/x"y\\z\nsecond #line ;'
    git(candle, "config", 'remote.a."b\\c.url', url)
    git(candle, "config", "--add", "remote.d.fetch", "+refs/heads/*:refs/remotes/d/*")
    git(candle, "config", "--add", "remote.d.fetch", "+refs/tags/*:refs/tags/*")
    with (candle / ".git/config").open("a") as file:
        file.write("[core]\n\tsymlinks\n[of]\n\tnext = git\n")
    listed = ("config", "--local", "--list", "-z")
    before = read_settings(query_config(candle, "--list", "--show-scope", "-z").stdout)
    expected = [each for each in before if each.own and is_allowed_key(each.key)]
    shown = run_git(candle, *listed).stdout.decode().split("\0")
    found = [entry.partition("\n")[::2] for entry in shown if entry]
    assert found == [(each.key, each.value or "") for each in expected]
    assert ('remote.a."b\\c.url', url) in found
    assert not [key for key, _ in found if key.startswith("of.")]


@pytest.mark.parametrize("kind", ["linked", "submodule"])
def test_work_trees_of_other_forms(candle: Path, tmp_path: Path, kind: str) -> None:
    """Where `.git` is a file, git still finds HEAD, the branches and the index."""
    place = tmp_path / "other"
    if kind == "linked":
        git(candle, "worktree", "add", "--quiet", "-b", "other", str(place))
    else:
        git(candle, "clone", "--quiet", "--no-local", str(candle), str(place))
        moved = tmp_path / "modules"
        (place / ".git").rename(moved)
        (place / ".git").write_text(f"gitdir: {moved}\n")
        git(place, "config", "core.worktree", str(place))
    assert run_git(place, "status", "--porcelain").stdout == b""
    (place / "Cargo.toml").write_text("")
    assert run_git(place, "status", "--porcelain").stdout == b" M Cargo.toml\n"
    head = run_git(place, "rev-parse", "HEAD").stdout.decode().strip()
    done = run_git(place, "update-ref", "--create-reflog", "-m", "why", "refs/heads/new", head)
    assert done.returncode == 0, done.stderr
    said = subprocess.run(
        ["git", "reflog", "show", "refs/heads/new"], cwd=place, capture_output=True, check=True
    )
    assert b"why" in said.stdout


def test_a_branch_among_packed_ones_is_taken_away(candle: Path) -> None:
    git(candle, "branch", "old")
    git(candle, "pack-refs", "--all")
    assert run_git(candle, "update-ref", "-d", "refs/heads/old").returncode == 0
    assert "old" not in (candle / ".git/packed-refs").read_text()
    assert not (candle / ".git/packed-refs").is_symlink()
    assert not (candle / ".git/packed-refs.lock").exists()
    assert run_git(candle, "pack-refs", "--all").returncode == 0
    assert "refs/heads/main" in (candle / ".git/packed-refs").read_text()


def test_refs_are_packed_where_none_were(candle: Path) -> None:
    assert not (candle / ".git/packed-refs").exists()
    assert run_git(candle, "pack-refs", "--all").returncode == 0
    assert "refs/heads/main" in (candle / ".git/packed-refs").read_text()


def test_a_tree_that_looks_like_a_bare_repository(tmp_path: Path) -> None:
    """git itself would take the folder for a repository, and follow its configuration."""
    tree, sprung = tmp_path / "tree", tmp_path / "sprung"
    git(tmp_path, "init", "--quiet", "--bare", str(tree))
    git(tree, "config", "core.fsmonitor", str(trap(tmp_path / "trap", sprung)))
    git(tree, "config", "core.bare", "false")
    git(tree, "config", "core.worktree", str(tree))
    assert run_git(tree, "status").returncode != 0
    assert not sprung.exists()
