"""Taking out of texts what tells who ran portkit and where."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from portkit.trial.document import KIND
from portkit.trial.stages import LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOBODY: Final = frozenset(
    {"root", "user", "admin", "dev", "build", "test", "tests", "runner", "localhost", "rocm", "amd"}
    | {"gpu", "cpu", "ubuntu", "debian", "fedora", "portkit", "device", "kernel", "linux"}
)
"""Names that tell nothing of a person, and are words of their own."""
_OURS: Final = frozenset(
    {"passed", "failed", "skipped", "interrupted", "not taken", "ok", "ignored", "FAILED", KIND}
) | frozenset(LIMITS)
"""Whole texts that programs read, whatever a person is called."""
_SHORTEST: Final = 3
"""Letters of a name that is looked for; shorter ones are parts of anything."""
_LONGEST: Final = 600
"""Characters that are kept of a text."""
_MOST: Final = 2000
"""Entries that are kept of a list."""

_OCTET: Final = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
# Whoever it is: a home of somebody's, an address of mail, a name or password in a URL, the number
# that a GPU was made with ("ROCm environment variables", ROCR_VISIBLE_DEVICES), an IP address.
_PATTERNS: Final = (
    (re.compile(r"(?<![\w.])/(?:home|Users|var/home)/[^/\s:'\"`,;)]+"), "~"),
    (re.compile(r"//[^/\s@]+@"), "//"),
    (re.compile(r"[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}\b"), "MAIL"),
    (re.compile(r"\bGPU-[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]+)*"), "GPU-NUMBER"),
    (re.compile(rf"(?<![\w.-]){_OCTET}(?:\.{_OCTET}){{3}}(?![\w.-])"), "ADDRESS"),
)


@dataclass(frozen=True)
class Scrub:
    """What is replaced.

    Attributes:
        paths: by what stands in their place; each with all that is below it.
        names: the same, as words of their own.
    """

    paths: Mapping[str, str]
    names: Mapping[str, str]

    @classmethod
    def here(cls, folders: Mapping[Path, str]) -> Scrub:
        """Return what to take out of what is said on this machine.

        Args:
            folders: further folders, by what stands in their place.
        """
        variables = ("HOME", "CARGO_HOME", "RUSTUP_HOME", "XDG_CACHE_HOME", "CARGO_TARGET_DIR")
        paths = {os.environ.get(name, ""): f"${name}" for name in reversed(variables)}
        paths |= {tempfile.gettempdir(): "$TMPDIR", str(Path.cwd()): "."}
        for folder, shown in folders.items():
            paths |= {str(folder): shown, str(folder.resolve()): shown}
        paths = {path: shown for path, shown in paths.items() if Path(path).is_absolute()}
        hosts = {socket.gethostname(), socket.gethostname().partition(".")[0]}
        users = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")}
        users.add(Path(os.environ.get("HOME", "")).name)
        names = dict.fromkeys(users, "USER") | dict.fromkeys(hosts, "HOST")
        kept = {n: s for n, s in names.items() if len(n) >= _SHORTEST and n.lower() not in _NOBODY}
        return cls({path: shown for path, shown in paths.items() if len(path) > 1}, kept)

    def text(self, text: str) -> str:
        """Return a text without what tells of a person or a machine, cut where it is long."""
        if text in _OURS:
            return text
        for path in sorted(self.paths, key=len, reverse=True):
            # Not within a name: /root is no part of /rooted.
            shown = self.paths[path].replace("\\", "\\\\")
            text = re.sub(rf"{re.escape(path)}(?![\w.-])", shown, text)
        for pattern, shown in _PATTERNS:
            text = pattern.sub(shown, text)
        for name in sorted(self.names, key=len, reverse=True):
            word = rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"
            text = re.sub(word, self.names[name], text, flags=re.IGNORECASE)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

    def document(self, value: Any) -> Any:
        """Return a document of JSON with every text in it so; names of fields are ours."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.document(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [self.document(entry) for entry in value[:_MOST]]
        return value
