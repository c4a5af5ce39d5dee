"""Taking out of texts what tells who ran portkit and where."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from portkit.selftest.document import KIND
from portkit.selftest.stages import LIMITS
from portkit.workspace.regular_files import read_regular

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
_DOMAIN: Final = "DOMAIN"
"""What stands for a domain, with the names of machines in it."""
_SHORTEST: Final = 3
"""Letters of a name that is looked for; shorter ones are parts of anything."""
_LONGEST: Final = 600
"""Characters that are kept of a text."""
_MOST: Final = 2000
"""Entries that are kept of a list."""

_OCTET: Final = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_SECRET: Final = (
    r"(?:[A-Z0-9]+_)*(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_KEY(?:_ID)?"
    r"|PRIVATE_KEY|AUTHORIZATION)(?:_[A-Z0-9]+)*"
)
# Whoever it is: homes of people, addresses of mail, names and passwords in URLs, the numbers that
# machines and GPUs were made with ("ROCm environment variables", ROCR_VISIBLE_DEVICES), addresses
# of networks (RFC 4291 for IPv6), and tokens by which GitHub, GitLab, Hugging Face, AWS, Slack,
# crates.io, npm and OpenAI know somebody, as those services document them.
_PATTERNS: Final = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.S), "KEY"),
    (
        re.compile(r"\b(?:gh[oprsu]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|hf_\w{16,})"),
        "TOKEN",
    ),
    (re.compile(r"\b(?:xox[abprs]-[\w-]{10,}|npm_\w{16,}|cio\w{32}|sk-[\w-]{20,})"), "TOKEN"),
    (re.compile(r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}"), "TOKEN"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), "TOKEN"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/-]{8,}=*"), r"\1 TOKEN"),
    (
        re.compile(rf"(?i)\b(AWS_\w+|{_SECRET})(\"?\s*[=:]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s,;]+)"),
        r"\1\2TOKEN",
    ),
    (
        re.compile(
            r"(?<![\w.])/(?:home\d*|Users|var/home|export/home|usr/home|nfs/home)"
            r"/[^/\s:'\"`,;)]+"
        ),
        "~",
    ),
    (
        re.compile(
            r"(?<![\w.])/(?:net|nfs|lustre|scratch|work|data|mnt|gpfs|afs)(?:/[\w.-]+)*/"
            r"(?:home|homes|users?)/[^/\s:'\"`,;)]+"
        ),
        "~",
    ),
    (re.compile(r"//[^/\s@]+@"), "//"),
    (re.compile(r"[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}\b"), "MAIL"),
    (re.compile(r"\bGPU-[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]+)*"), "GPU-NUMBER"),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "NUMBER"),
    (
        re.compile(
            r"(?i)\b((?:serial(?:[ _-]?(?:number|no))?|s/n|asset[ _-]?tag|machine[ _-]?id"
            r"|unique[ _-]?id|uuid)\.?\"?\s*[=:]\s*\"?)(?:0x)?[\w-]{4,}"
        ),
        r"\1NUMBER",
    ),
    (
        re.compile(
            r"(?<![\w:-])[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2})(?:\1[0-9a-fA-F]{2}){4}"
            r"(?:\1[0-9a-fA-F]{2}){0,14}(?![\w:-])"
        ),
        "MAC",
    ),
    (re.compile(rf"(?<![\w.-]){_OCTET}(?:\.{_OCTET}){{3}}(?![\w.-])"), "ADDRESS"),
)


_MAY_BE_IPV6: Final = re.compile(r"(?<![\w.:])(?=[0-9a-fA-F:.]*\d)[0-9a-fA-F:.]{3,45}(?![\w:])")
_SEARCHED: Final = Path("/etc/resolv.conf")
"""The file with the domains that a machine looks for names in (resolv.conf(5))."""


@dataclass(frozen=True)
class Scrub:
    """What is replaced."""

    paths: Mapping[str, str]  # by what stands in their place; each with all that is below it
    names: Mapping[str, str]  # the same, as words of their own

    @classmethod
    def here(cls, folders: Mapping[Path, str]) -> Scrub:
        """Return what to take out of what is said on this machine."""
        variables = ("HOME", "CARGO_HOME", "RUSTUP_HOME", "XDG_CACHE_HOME", "CARGO_TARGET_DIR")
        paths = {os.environ.get(name, ""): f"${name}" for name in reversed(variables)}
        paths |= {tempfile.gettempdir(): "$TMPDIR", str(Path.cwd()): "."}
        for folder, shown in folders.items():
            paths |= {str(folder): shown, str(folder.resolve()): shown}
        paths = {path: shown for path, shown in paths.items() if Path(path).is_absolute()}
        hosts = {socket.gethostname(), socket.gethostname().partition(".")[0]}
        users = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")}
        users.add(Path(os.environ.get("HOME", "")).name)
        names = dict.fromkeys(_find_domains(), _DOMAIN)
        names |= dict.fromkeys(users, "USER") | dict.fromkeys(hosts, "HOST")
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
        text = _MAY_BE_IPV6.sub(_replace_address, text)
        for name in sorted(self.names, key=len, reverse=True):
            below = r"(?:[\w-]+\.)*" if self.names[name] == _DOMAIN else ""
            word = rf"(?<![A-Za-z0-9_]){below}{re.escape(name)}(?![A-Za-z0-9_])"
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


def _find_domains() -> set[str]:
    """Return the domains that the machine lies in; one without a dot is everybody's."""
    found = {socket.gethostname().partition(".")[2]}
    try:
        lines = read_regular(_SEARCHED, 1 << 16).decode(errors="replace").splitlines()
    except OSError:
        lines = []
    for words in map(str.split, lines):
        if words[:1] in (["search"], ["domain"]):
            found |= {word.strip(".") for word in words[1:]}
    return {each for each in found if "." in each}


def _replace_address(found: re.Match[str]) -> str:
    """Return what stands for an address of IPv6, or the text itself: it may be a path of Rust."""
    text = found[0].rstrip(".")
    try:
        address = IPv6Address(text)
    except ValueError:
        return found[0]
    # Nobody has an address in what is reserved, and a path such as a::b0 looks like one.
    nobodys = address.ipv4_mapped is None and (address.is_loopback or address.is_reserved)
    return found[0] if nobodys else f"ADDRESS{found[0][len(text) :]}"
