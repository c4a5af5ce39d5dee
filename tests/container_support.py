"""A container for the steps of a workflow: a root file system of Debian 12, entered by bubblewrap.

It has what the README asks for, Python's venv, this machine's Rust, and nothing of this repository;
the root file system is that of ``ci/bare-machines``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hatchling.builders.wheel import WheelBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

CI = Path(__file__).parents[1] / "ci"
PYTHON = "/usr/bin/python3"
VENV = "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes python3-venv"
PASSED = ("SSL_CERT_FILE", "PIP_CERT", "PIP_INDEX_URL")
"""How this machine speaks to registries, through a proxy say, is no property of a container."""


@dataclass(frozen=True)
class Container:
    """A container.

    Attributes:
        root: its root file system.
        shared: a folder of this machine that it sees at the same path; it sees no other.
    """

    root: Path
    shared: Path

    def words(self, command: Sequence[str], where: str, environment: dict[str, str]) -> list[str]:
        """Return what runs a command in it, with these variables and no others."""
        rust = ["rustc", "--print", "sysroot"]
        sysroot = subprocess.run(rust, capture_output=True, text=True, check=True).stdout.strip()
        found = {**{k: v for k, v in os.environ.items() if k in PASSED}, **environment}
        return [
            *("bwrap", "--bind", str(self.root), "/", "--proc", "/proc", "--dev", "/dev"),
            *("--perms", "1777", "--tmpfs", "/tmp", "--bind", str(self.shared), str(self.shared)),
            *("--ro-bind", sysroot, "/opt/rust", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
            *("--die-with-parent", "--clearenv", "--chdir", where),
            *(word for pair in sorted(found.items()) for word in ("--setenv", *pair)),
            *command,
        ]


def make_container(folder: Path, shared: Path) -> Container:
    """Return a container whose root file system is made in a folder; skip where none can be."""
    if os.geteuid() != 0 or shutil.which("bwrap") is None:
        pytest.skip("a container is made by root, and entered by bubblewrap")
    machines = _machines()
    try:
        base = machines.made_base()
    except (machines.MachineError, machines.debian.DebianError) as error:
        pytest.skip(str(error))
    container = Container(folder / "root", shared)
    subprocess.run(["cp", "-a", "--reflink=auto", base, container.root], check=True)
    command = container.words(["sh", "-c", VENV], "/", {"PATH": machines.PATH, "HOME": "/root"})
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"python3-venv does not install: {done.stderr}")
    return container


def make_wheel(folder: Path) -> Path:
    """Return the wheel that ``make dist`` makes, made in a folder."""
    (made,) = WheelBuilder(str(CI.parent)).build(directory=str(folder), versions=["standard"])
    return Path(made)


def path_inside() -> str:
    """Return the ``PATH`` of a container."""
    return str(_machines().PATH)


def _machines() -> Any:
    """Return ``ci/bare-machines``, a program, as a module."""
    sys.path.insert(0, str(CI))
    try:
        loader = SourceFileLoader("bare_machines", str(CI / "bare-machines"))
        spec = importlib.util.spec_from_loader("bare_machines", loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["bare_machines"] = module
        loader.exec_module(module)
    finally:
        sys.path.remove(str(CI))
    return module
