"""The settings of a git repository that count when portkit runs git on it.

A repository's own configuration may name programs: monitors, hooks, filters, merge drivers,
signers, transports, and whatever the next git adds. So portkit shows git a configuration that holds
the settings below and no other. The user's and the system's configuration is not touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final

from portkit.syntax.value import Value

_OWN_SCOPES: Final = frozenset({"local", "worktree"})
"""The scopes, as ``git config --show-scope`` names them, of what comes with a repository."""
_ALLOWED: Final = {
    "author": frozenset({"email", "name"}),
    "branch": frozenset({"merge", "remote"}),
    "committer": frozenset({"email", "name"}),
    "core": frozenset(
        {
            *("abbrev", "autocrlf", "bigfilethreshold", "checkstat", "commentchar", "eol"),
            *("filemode", "ignorecase", "logallrefupdates", "precomposeunicode", "quotepath"),
            *("repositoryformatversion", "safecrlf", "sharedrepository", "sparsecheckout"),
            *("sparsecheckoutcone", "symlinks", "trustctime", "untrackedcache", "whitespace"),
        }
    ),
    "diff": frozenset({"algorithm", "indentheuristic", "renamelimit", "renames"}),
    "i18n": frozenset({"commitencoding"}),
    "index": frozenset({"sparse", "version"}),
    "merge": frozenset({"conflictstyle", "directoryrenames", "renamelimit", "renames"}),
    "remote": frozenset({"fetch", "partialclonefilter", "promisor", "url"}),
    "submodule": frozenset({"active", "url"}),
    "user": frozenset({"email", "name", "useconfigonly"}),
}
"""The keys that count, by section (git-config(1)): none of them names a program."""
_EXTENSIONS: Final = "extensions"
"""The section that says how the repository is stored; git refuses what it does not know there."""
_OWN_FILE: Final = "extensions.worktreeconfig"
"""The extension by which git reads one more file of settings."""


class Setting(Value, frozen=True):
    """One line of git's configuration."""

    own: bool
    key: str
    value: str | None


def read_settings(listed: bytes) -> list[Setting]:
    """Parse the output of ``git config --list --show-scope -z``."""
    fields = listed.decode(errors="surrogateescape").split("\0")
    found = []
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, equals, value = entry.partition("\n")
        found.append(Setting(scope in _OWN_SCOPES, key, value if equals else None))
    return found


def is_allowed_key(key: str) -> bool:
    """Whether a key counts if the repository itself sets it."""
    section, _, rest = key.partition(".")
    if section == _EXTENSIONS:
        return key != _OWN_FILE
    return rest.rpartition(".")[2] in _ALLOWED.get(section, frozenset())


def write_settings(settings: Iterable[Setting]) -> bytes:
    """Return the allowed ones of a repository's own settings as a file for git."""
    lines = [_write(each) for each in settings if each.own and is_allowed_key(each.key)]
    return os.fsencode("".join(lines))


def switch_off_hooks(settings: Sequence[Setting]) -> dict[str, str]:
    """Return settings that disable each hook of the user's configuration (git 2.54)."""
    sections = {key for each in settings if (key := each.key.rpartition(".")[0])}
    return {f"{each}.enabled": "false" for each in sorted(sections) if each.startswith("hook.")}


def find_repository_filters(settings: Sequence[Setting]) -> frozenset[str]:
    """Return the names of the filters that only the repository itself names."""
    own, others = (
        {each.key for each in settings if each.own is wanted and each.key.startswith("filter.")}
        for wanted in (True, False)
    )
    return frozenset(key.removeprefix("filter.").rpartition(".")[0] for key in own - others)


def _write(setting: Setting) -> str:
    section, _, rest = setting.key.partition(".")
    below, _, name = rest.rpartition(".")
    head = f"[{section} {_quote(below)}]" if below else f"[{section}]"
    return f"{head}\n\t{name}{'' if setting.value is None else f' = {_quote(setting.value)}'}\n"


def _quote(text: str) -> str:
    """Return a text in quotes, as git reads it (git-config(1), "Syntax")."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
