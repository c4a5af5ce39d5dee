"""Run the tree's code in a sandbox: bubblewrap, no network, the tree read-only.

The system is visible and cannot be written to. The user's home, ``/run`` and the folders for
temporary files are not: there lie secrets, and sockets over which a program could have others act.
From them come the tree, toolchains, portkit and its cache alone. What is written goes to folders
of the sandbox's own, so that nothing made in it is used outside. Options are those of bwrap(1).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portkit.cache import cache_folder, path_key
from portkit.errors import DiskError, ToolError
from portkit.verify.digests import LOCK
from portkit.workspace.programs import NOWHERE, find_program

_APART: Final = (
    *("--unshare-all", "--cap-drop", "ALL", "--die-with-parent"),
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
)
"""No network, no other processes, no rights; the system as it is, read-only."""

_GPU: Final = ("/dev/kfd", "/dev/dri")
"""What a program needs of ``/dev`` to use an AMD GPU."""

_HIDDEN: Final = ("/run", "/tmp", "/var/tmp")
_TOOLS: Final = ("ROCM_PATH", "HIP_PATH", "CUDA_HOME", "CUDA_PATH")
"""Variables that name folders with toolchains."""
_PROGRAMS: Final = ("HIPCC", "NVCC", "CC", "CXX")
"""Variables that may name a program by its path."""
_WRITTEN: Final = ("CARGO_TARGET_DIR", "PORTKIT_DEVICE_REPORT")
"""Variables that name folders to write to."""
_SECRETS: Final = ("credentials.toml", "credentials")
"""Files of cargo's home with the tokens of registries (The Cargo Book, "Cargo Home")."""

_PATIENCE: Final = 20.0
"""How long bubblewrap may take to begin, in seconds."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A sandbox for one tree.

    Attributes:
        own: the folder of what is written in the sandbox.
    """

    program: str
    root: Path
    own: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that differ in the sandbox."""
        return {
            "CARGO_TARGET_DIR": str(self.own / "target"),
            "CARGO_NET_OFFLINE": "true",
            "TMPDIR": "/tmp",
        }

    def around(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Return a command that runs another in the sandbox."""
        try:
            mounts = [*self._hidden(environment), *self._written(folder, environment)]
        except OSError as error:
            raise DiskError(
                f"the sandbox cannot write to {self.own} ({error.strerror}): make room, or set"
                " XDG_CACHE_HOME to a folder that can be written"
            ) from error
        return (self.program, *_APART, *mounts, "--chdir", str(folder), "--", *command)

    def _hidden(self, environment: Mapping[str, str]) -> Iterator[str]:
        """Yield arguments that hide folders, and that show the needed parts of them again."""
        home = Path.home().resolve()
        hidden = {Path(name).resolve() for name in (*_HIDDEN, tempfile.gettempdir(), home)}
        hidden = {folder for folder in hidden if folder.is_dir() and folder != NOWHERE}
        for folder in sorted(hidden):
            yield from ("--tmpfs", str(folder))
        for shown in sorted({path for path in self._needed(environment) if path.is_dir()}):
            if any(shown.is_relative_to(folder) for folder in hidden):
                yield from ("--ro-bind", str(shown), str(shown))
        for device in _GPU:
            yield from ("--dev-bind-try", device, device)
        for name in _SECRETS:
            if (secret := _find_cargo_home(environment) / name).is_file():
                yield from ("--ro-bind", os.devnull, str(secret))

    def _needed(self, environment: Mapping[str, str]) -> Iterator[Path]:
        """Yield the folders of the tree, of portkit and of toolchains."""
        yield from (self.root, cache_folder(), _find_cargo_home(environment))
        yield Path(environment.get("RUSTUP_HOME") or Path.home() / ".rustup")
        yield from (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2])
        named = [environment.get(name, "") for name in _TOOLS]
        named += [str(Path(environment.get(name, "")).parent) for name in _PROGRAMS]
        named += environment.get("PATH", "").split(os.pathsep)
        for folder in map(Path, filter(None, named)):
            # Whoever puts his home on PATH does not mean to show it.
            if folder.is_absolute() and not Path.home().is_relative_to(folder):
                yield folder

    def _written(self, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
        for place in (Path(environment[name]) for name in _WRITTEN if name in environment):
            place.mkdir(parents=True, exist_ok=True)
            yield from ("--bind", str(place), str(place))
        # Objects that build scripts share between trees: here they share none.
        objects, shared = self.own / "device-objects", cache_folder() / "device-objects"
        for place in (objects, shared):
            place.mkdir(parents=True, exist_ok=True)
        yield from ("--bind", str(objects), str(shared))
        # cargo may settle versions anew, in a copy.
        lock = folder / LOCK
        if lock.is_file():
            copy = self.own / f"{path_key(folder)}.lock"
            if not copy.is_file() or copy.stat().st_mtime < lock.stat().st_mtime:
                shutil.copyfile(lock, copy)
            yield from ("--bind", str(copy), str(lock))


def open_sandbox(root: Path) -> Sandbox:
    """Return a sandbox for a tree, after a try."""
    program = find_program("bwrap")
    if not program:
        raise ToolError(
            "bubblewrap, which makes the sandbox, is missing: install it (apt install bubblewrap),"
            " or leave --sandbox away and pass --trust"
        )
    if not (root / LOCK).is_file():
        raise ToolError(
            f"{root} has no {LOCK}, and in the sandbox cargo can neither write it nor download:"
            " run `cargo fetch` there first, which builds nothing"
        )
    try:
        tried = subprocess.run(
            [program, *_APART, "--", "true"],
            cwd=NOWHERE,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
        said = tried.stderr.decode(errors="replace").strip()
    except (OSError, subprocess.SubprocessError) as error:
        tried, said = None, str(error)
    if tried is None or tried.returncode != 0:
        raise ToolError(
            f"bubblewrap makes no sandbox here ({said or 'no message'}): allow user namespaces, or"
            " leave --sandbox away and pass --trust"
        )
    return Sandbox(program, root, cache_folder() / "sandbox" / path_key(root))


def _find_cargo_home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("CARGO_HOME") or Path.home() / ".cargo")
