"""The versions of a codebase that its port was proven on: ``proven.toml`` in its directory.

``ci/versions`` writes it, from the tables in ``reports/versions``.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from portkit.codebases.directory import Directory
from portkit.profiles.entries import describe
from portkit.profiles.profile import CodebaseProfile
from portkit.syntax.semver import version_precedence

FILE: Final = "proven.toml"
"""In the directory of a codebase."""


class TestedVersions(Struct, frozen=True, forbid_unknown_fields=True):
    """What a port was proven on."""

    versions: Annotated[tuple[str, ...], describe("The published versions, in their order.")]
    commits: Annotated[int, describe("How many commits between and after them.")] = 0
    newest: Annotated[str, describe("The day of the newest commit, as 2026-08-14.")] = ""

    @property
    def span(self) -> str:
        """The first and the last version, as ``0.9.0 to 0.11.1``."""
        return f"{self.versions[0]} to {self.versions[-1]}"

    @property
    def said(self) -> str:
        """The whole in words, as documents have it."""
        count = len(self.versions)
        text = f"{count} published version{'' if count == 1 else 's'} from {self.span}"
        return f"{text} and {self.commits} commits up to {self.newest}" if self.commits else text

    def holds(self, version: str) -> bool:
        """Whether a version lies between the first and the last, pre-releases included."""
        key = version_precedence(version)
        first, last = version_precedence(self.versions[0]), version_precedence(self.versions[-1])
        return key is not None and first is not None and last is not None and first <= key <= last


def load_tested_versions(directory: Directory) -> TestedVersions | None:
    """Return the versions that a port was tested on, or None."""
    return directory.typed(FILE, TestedVersions) if directory.has(FILE) else None


def format_tested_versions(proven: TestedVersions) -> str:
    """Return the text of the file of tested versions."""
    versions = "".join(f'    "{version}",\n' for version in proven.versions)
    return (
        "# Written by ci/versions from reports/versions: the published versions that passed every\n"
        "# question, how many commits did, and the day of the newest of them.\n"
        f"versions = [\n{versions}]\n"
        f"commits = {proven.commits}\n"
        f'newest = "{proven.newest}"\n'
    )


def warn_if_untested(codebase: CodebaseProfile, version: str) -> str:
    """Return a warning if a version is outside the tested ones, else an empty string."""
    proven = load_tested_versions(codebase.directory) if codebase.directory else None
    if proven is None or not proven.versions or proven.holds(version):
        return ""
    return (
        f"{codebase.name} {version or 'without a version'} is outside what the port was proven on,"
        f" {proven.span}: what it has beside may be left to you; `portkit verify` says what holds"
    )
