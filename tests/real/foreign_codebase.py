"""Codebases of others: fetched by commit, never kept here; where that fails, a test says so."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_support import commit, invoke

from portkit.cache import cache_folder
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.device.toolkit import build_toolkit
from portkit.verify.device_choice import ARCH_OF_WAVE, STREAMS_OF_WAVE

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(
    root: Path, *words: str, name: str = "foreign", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder; git and cargo ask nobody for a password.

    Args:
        root: the folder.
        words: the program and its arguments.
        name: the folder of cargo's products in the cache.
        environment: other variables.
    """
    return subprocess.run(
        words,
        cwd=root,
        env=os.environ
        | {
            "CARGO_TARGET_DIR": str(cache_folder() / "target" / name),
            "CARGO_TERM_COLOR": "never",
            "GIT_TERMINAL_PROMPT": "0",
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def needs(done: subprocess.CompletedProcess[str], name: str) -> None:
    """Leave the tests out where something could not be fetched."""
    if done.returncode:
        pytest.skip(f"{name} is not tested: {' '.join(done.args)}: {done.stdout.strip()[-300:]}")


def fetched(root: Path, name: str, repository: str, revision: str) -> Path:
    """Return a codebase as upstream has it, in a git repository of its own.

    Args:
        root: a folder that is not there yet.
        name: the codebase; ``PORTKIT_NAME`` may name a clone to take it from, or a folder without
            git that has the commit's files.
        repository: where it is otherwise taken from.
        revision: the commit.
    """
    source = os.environ.get(f"PORTKIT_{name.upper()}", repository)
    if Path(source).is_dir() and run(Path(source), "git", "rev-parse", "--git-dir").returncode:
        shutil.copytree(source, root, symlinks=True)
        commit(root)
        return root
    root.mkdir()
    needs(run(root, "git", "init", "--quiet"), name)
    needs(run(root, "git", "fetch", "--quiet", "--depth", "1", source, revision), name)
    needs(run(root, "git", "checkout", "--quiet", revision), name)
    shutil.rmtree(root / ".git")
    commit(root)
    return root


def port_of(tree: Path) -> Path:
    """Return the port of a codebase, in a copy beside it."""
    root = tree.with_name("ported")
    shutil.copytree(tree, root)
    done = invoke("apply", root)
    assert done.code == 0, done.err
    return root


def devices(archs: str = "CANDLE_ROCM_ARCHS") -> Iterator[dict[str, str]]:
    """Yield the variables with which cargo's tests run on the CPU device, for each wavefront.

    Args:
        archs: the variable that names the architectures of the port's kernels.
    """
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    base = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    for wave, arch in ARCH_OF_WAVE.items():
        yield build_toolkit().environment(arch=arch, base=base) | {
            archs: ",".join(ARCH_OF_WAVE.values()),
            "CANDLE_ROCM_KERNELS": "all",
            "CARGO_PROFILE_DEV_DEBUG": "0",
            "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
            "PORTKIT_DEVICE_STREAMS": STREAMS_OF_WAVE[wave],
        }
