"""What the commands open and run on a tree that names programs and files: what is harmless.

Each command is run on a tree full of traps and on its twin without any. What it opens or runs
outside the tree must be the same but for portkit's own modules and Python's.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest
from apply_support import git
from calls_support import Calls, library, needs_compiler, needs_strace, recorded, traced
from cli_support import add_file, environment, make_candle
from hostile_support import trap

PORTKIT = Path(__file__).parents[2]
OWN = tuple(
    str(Path(folder).resolve()) + os.sep
    for folder in (PORTKIT / "portkit", sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"))
)
"""Where portkit's modules lie, and Python's."""

KERNEL = '#include "h.cuh"\n__global__ void k(float* x) { x[threadIdx.x] = cuda_one(); }\n'
CODE = """\
#[path = "OUTSIDE/hidden.rs"]
mod hidden;
const TEXT: &str = include_str!("OUTSIDE/secret");
pub fn f(d: &crate::Device) -> bool { d.is_cuda() }
"""


def make_tree(base: Path, *, hostile: bool) -> Path:
    """Make a small candle below a folder; the hostile one names programs and files outside."""
    tree, outside = make_candle(base / "tree"), base / "outside"
    outside.mkdir()
    for name in ("hidden.rs", "secret", "h.cuh", "config"):
        (outside / name).write_text("// cuda\n")
    add_file(tree, "kernels/k.cu", KERNEL.encode())
    add_file(tree, "kernels/h.cuh", b"#pragma once\n__device__ int cuda_one();\n")
    add_file(tree, "candle-core/src/more.rs", CODE.replace("OUTSIDE", str(outside)).encode())
    if not hostile:
        git(tree, "add", "--all")
        git(tree, "commit", "--quiet", "--message", "more")
        os.utime(tree / "candle-core/src/more.rs", (1, 1))  # git must look at it again
        return tree
    sprung = base / "sprung"
    # Programs under the names that are run, in the folder in which portkit is.
    for name in ("git", "rustfmt", "cargo", "rustc", "rustup", "hipcc", "python3", "strip", "sh"):
        trap(tree / name, sprung)
        trap(tree / "toolchain" / "bin" / name, sprung)
    files = {
        "rust-toolchain.toml": f'[toolchain]\npath = "{tree}/toolchain"\n',
        ".cargo/config.toml": f'[build]\nrustc = "{tree}/rustc"\nrustc-wrapper = "{tree}/rustc"\n'
        f'[registry]\nglobal-credential-providers = ["{tree}/cargo"]\n',
        "candle-core/build.rs": f'fn main() {{ std::fs::write("{sprung}", "x").unwrap(); }}\n',
        "sitecustomize.py": f"open({str(sprung)!r}, 'w')\n",
        "usercustomize.py": f"open({str(sprung)!r}, 'w')\n",
        "typer.py": f"open({str(sprung)!r}, 'w')\n",
        "tree_sitter.py": f"open({str(sprung)!r}, 'w')\n",
        ".gitattributes": "*.rs filter=caught diff=caught\n*.toml filter=caught\n",
    }
    for path, text in files.items():
        add_file(tree, path, text.encode())
    (tree / "candle-core/src/link.rs").symlink_to(outside / "hidden.rs")
    (tree / "candle-core/src/folder").symlink_to(outside)
    (tree / "kernels/device.cuh").symlink_to("/dev/zero")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "more")
    program = str(trap(base / "trap", sprung))
    for key in (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"),
        *("diff.external", "diff.caught.textconv", "gpg.program", "alias.status"),
        *("filter.caught.clean", "filter.caught.smudge", "filter.caught.process"),
    ):
        git(tree, "config", key, program)
    git(tree, "config", "filter.caught.required", "true")
    hooks = trap(base / "hooks" / "post-index-change", sprung).parent
    git(tree, "config", "core.hooksPath", str(hooks))
    os.utime(tree / "candle-core/src/more.rs", (1, 1))  # as in the harmless one
    return tree


def variables(base: Path) -> dict[str, str]:
    """Return an environment whose PATH leads into the folder in which portkit is run, too."""
    (base / "home").mkdir(exist_ok=True)
    kept = environment()
    home = Path.home()
    return {
        **kept,
        "CARGO_HOME": kept.get("CARGO_HOME", str(home / ".cargo")),
        "RUSTUP_HOME": kept.get("RUSTUP_HOME", str(home / ".rustup")),
        "HOME": str(base / "home"),
        "XDG_STATE_HOME": str(base / "home" / "state"),
        "XDG_CACHE_HOME": str(base / "home" / "cache"),
        "PATH": f".{os.pathsep}{os.pathsep}{kept['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "RUSTUP_TOOLCHAIN": "",
        "PORTKIT_TRUST": "",  # nobody trusts such a tree
    }


COMMANDS = {
    "scan": ("scan", ".", "--all"),
    "scan --kernels": ("scan", ".", "--kernels", "--format", "json"),
    "apply --diff": ("apply", "--diff", "."),
    "apply --check": ("apply", "--check", "."),
    "apply": ("apply", "."),
    "hipify": ("hipify", "kernels/k.cu", "--output", "out"),
    "--version": ("--version",),
}


def outside(calls: Calls, base: Path) -> tuple[set[str], set[str]]:
    """Return what was opened and run that is not in the tree, nor portkit's, nor Python's."""

    def shown(path: str) -> str:
        """Return a path without what is random in it, or depends on where the tree lies.

        That is the name of the repository that git is shown, the file by which Python tries the
        folder for temporary files, and the file that would say that the tree is trusted.
        """
        temporary = re.escape(tempfile.gettempdir())
        return re.sub(rf"portkit-git-\w+|^{temporary}/\w{{8}}$|trusted/\w+", "ANY", path)

    def told(paths: frozenset[str]) -> set[str]:
        return {
            "PROCESS" if path.startswith("/proc/") else shown(path.replace(str(base), "BASE"))
            for path in paths
            if not path.startswith((f"{base}/tree/", *OWN)) and path != f"{base}/tree"
        }

    return told(calls.opened), told(calls.run)


def look(base: Path, command: str, way: str, *, hostile: bool) -> tuple[Calls, int, str]:
    base.mkdir()
    tree = make_tree(base, hostile=hostile)
    # As the installed program: without the working directory among the places of modules.
    words = [sys.executable, "-P", "-m", "portkit", *COMMANDS[command]]
    if way == "strace":
        calls, done = traced(words, folder=tree, environment=variables(base), log=base / "log")
    else:
        shim = library(base)
        calls, done = recorded(words, folder=tree, environment=variables(base), shim=shim)
        calls = Calls(calls.opened, calls.run - {str(shim)})
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1), done.stderr
    return calls, done.returncode, done.stdout


FAST = ("scan", "apply", "hipify")
"""The commands that the fast tests take; the others, and strace, take half a minute each."""


@pytest.mark.parametrize(
    ("command", "way"),
    [
        pytest.param(
            command,
            way,
            marks=[marks, *([] if command in FAST and way == "calls.c" else [pytest.mark.real])],
        )
        for way, marks in (("calls.c", needs_compiler), ("strace", needs_strace))
        for command in COMMANDS
    ],
)
def test_a_tree_full_of_traps(tmp_path: Path, command: str, way: str) -> None:
    harmless, _, shown = look(tmp_path / "harmless", command, way, hostile=False)
    hostile, _, _ = look(tmp_path / "hostile", command, way, hostile=True)
    assert shown
    assert not (tmp_path / "hostile" / "sprung").exists()
    opened, run = outside(hostile, tmp_path / "hostile")
    known, programs = outside(harmless, tmp_path / "harmless")
    assert opened - known == set()
    assert run - programs == set()
    assert not [path for path in hostile.run if path.startswith(str(tmp_path))]
    # That nothing is found means something: the files of the tree were seen to be opened.
    seen = {path for path in hostile.opened if path.startswith(f"{tmp_path}/hostile/tree/")}
    assert len(seen) > 3 or command == "--version"
    named = {Path(path).name for path in hostile.run}
    assert ("git" in named) >= command.startswith("apply")
    assert ("rustfmt" in named) >= (command.startswith("apply") and bool(shutil.which("rustfmt")))


@needs_compiler
@needs_strace
@pytest.mark.real
def test_the_two_ways_see_the_same(tmp_path: Path) -> None:
    """What calls.c overlooks, a test without strace would overlook too."""
    by = {}
    for way in ("calls.c", "strace"):
        base = tmp_path / way
        calls, _, _ = look(base, "apply --diff", way, hostile=True)
        by[way] = {
            path.replace(str(base), "BASE")
            for path in calls.opened
            # The names of git's objects hold when the two trees were committed.
            if path.startswith(f"{base}/") and not {"cache", "objects"} & {*Path(path).parts}
        }
    assert {path for path in by["strace"] if path.startswith("BASE/tree/")} <= by["calls.c"]


@needs_compiler
def test_the_traps_are_traps(tmp_path: Path) -> None:
    """git itself, on the same tree: it runs what the configuration names."""
    base = tmp_path / "base"
    base.mkdir()
    tree = make_tree(base, hostile=True)
    program = shutil.which("git") or "git"
    recorded([program, "status"], folder=tree, environment=variables(base), shim=library(base))
    assert (base / "sprung").exists()
