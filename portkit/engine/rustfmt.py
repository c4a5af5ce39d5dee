"""rustfmt, on texts: with the tree's settings, and nothing else of the tree's.

In the tree rustup would take the toolchain that its ``rust-toolchain.toml`` names, and that file
may name a folder of programs (the rustup book, "The toolchain file"). So rustfmt runs where no tree
lies, and is told which settings to read.
"""

from __future__ import annotations

import subprocess
import tomllib
from enum import Enum
from pathlib import Path
from typing import Final

from portkit.errors import ToolError
from portkit.workspace.programs import NOWHERE, find_program, query_program
from portkit.workspace.regular_files import read_regular

_LARGEST: Final = 1 << 20  # How many bytes settings may have.
_SETTINGS: Final = ("rustfmt.toml", ".rustfmt.toml")
"""What rustfmt calls its settings, in the order in which it looks for them (its README)."""
_PATIENCE: Final = 20.0
"""How long one file may take, in seconds; the largest file seen takes a third of one."""


class FormatFailure(Enum):
    """Why rustfmt has not laid out a text."""

    UNREADABLE = "it cannot read the text"
    SLOW = f"it took more than {_PATIENCE:.0f} s"


class Rustfmt:
    """rustfmt with the settings that hold in a folder.

    Args:
        root: the folder; settings are looked for there and in those above it, as rustfmt does.
    """

    def __init__(self, root: Path) -> None:
        program = find_program("rustfmt")
        if not program:
            raise ToolError(
                "rustfmt is missing: install it (rustup component add rustfmt) or pass --no-format"
            )
        self._command = [_resolve_rustup_proxy(program), "--emit", "stdout", "--quiet"]
        self._follows = True
        root = root.resolve()
        for folder in (root, *root.parents):
            for name in _SETTINGS:
                if (folder / name).is_file():
                    self._command += ["--config-path", str(folder / name)]
                    self._follows = _follows_file(folder / name)
                    return

    def check(self) -> None:
        """Check that rustfmt runs at all."""
        done = self._run(["--version"], b"")
        if done is None or done.returncode != 0:
            said = (
                done.stderr.decode(errors="replace").strip() if done else FormatFailure.SLOW.value
            )
            first = f" ({said.splitlines()[0]})" if said else ""
            raise ToolError(
                f"rustfmt does not run outside the tree{first}: choose a default toolchain with"
                " `rustup default stable`, or pass --no-format"
            )

    def formatted(self, text: bytes, edition: str) -> bytes | FormatFailure:
        """Return a file's text as rustfmt formats it, or why it does not.

        Args:
            text: the file's text. rustfmt reads it alone and follows no ``mod`` of it.
        """
        arguments = ["--edition", edition]
        # What it prints has line ends of Unix, where in the file itself it would keep the others.
        if self._follows and text[: text.find(b"\n") + 1].endswith(b"\r\n"):
            arguments += ["--config", "newline_style=Windows"]
        done = self._run(arguments, text)
        if done is None:
            return FormatFailure.SLOW
        return done.stdout if done.returncode == 0 else FormatFailure.UNREADABLE

    def _run(self, arguments: list[str], text: bytes) -> subprocess.CompletedProcess[bytes] | None:
        """Run rustfmt on a text; None if it takes too long."""
        try:
            return subprocess.run(
                [*self._command, *arguments],
                input=text,
                capture_output=True,
                cwd=NOWHERE,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        except OSError as error:
            raise ToolError(
                f"{self._command[0]} cannot be run ({error.strerror}): mend that or pass"
                " --no-format"
            ) from error


def _follows_file(settings: Path) -> bool:
    """Whether line ends are to be as they are (rustfmt's setting ``newline_style``, by default)."""
    try:
        said = tomllib.loads(read_regular(settings, _LARGEST).decode())
    except (OSError, ValueError):  # rustfmt says what is wrong with it
        return True
    return bool(said.get("newline_style", "Auto") == "Auto")


def _resolve_rustup_proxy(program: str) -> str:
    """Return the program that rustup's proxy starts; any other program as it is.

    A port is hundreds of starts, and the proxy takes half as long again as rustfmt itself. Where
    rustup names nothing, the proxy stays: what it says is what a user has to mend.
    """
    rustup = Path(program).with_name("rustup")
    if not (rustup.exists() and rustup.samefile(program)):
        return program
    done = query_program(str(rustup), "which", "rustfmt")
    if done is None or done.returncode != 0:
        return program
    found = done.stdout.strip()
    return found if Path(found).is_absolute() else program
