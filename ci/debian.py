"""Packages of Debian, fetched and unpacked by any user: apt's own client with folders of its own.

Nothing of the system is changed and none of its packages is needed beside apt and dpkg, which every
Debian and Ubuntu has. apt checks the signature of the archive's index against Debian's keyring, and
every package against the index, as it does for the system.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

KEYRING = "usr/share/keyrings/debian-archive-keyring.gpg"

# What the machine's own configuration may say of its hooks, of pins and of unsigned archives does
# not hold here; its proxies and passwords do. apt.conf(5) names the options; `#clear` empties a
# list, and works in a file alone. An index that has gone stale is still signed.
SETTINGS = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "{home}";
Dir::State::lists "{home}/lists";
Dir::State::status "{home}/status";
Dir::State::extended_states "{home}/extended_states";
Dir::Cache "{home}/cache";
Dir::Cache::archives "{home}/packages";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "{home}/none";
APT::Sandbox::User "";
APT::Install-Recommends "false";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::Check-Date "false";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
"""
OF_DEBIAN = """\
Dir::Etc::sourcelist "{home}/sources.list";
Dir::Etc::sourceparts "{home}/none";
"""


class DebianError(Exception):
    """One sentence for the user."""


@dataclass(frozen=True, slots=True)
class Apt:
    """apt's client with a folder of its own, in which nothing is installed.

    Attributes:
        home: the folder, which holds the index and the packages.
    """

    home: Path

    def prepare(self, source: str | None) -> None:
        """Write the settings and fetch the index.

        Args:
            source: a line as of sources.list(5); None for the sources of the machine.

        Raises:
            DebianError: the index cannot be had, or is not signed by a key that is known.
        """
        for name in ("lists/partial", "packages/partial", "cache", "none"):
            (self.home / name).mkdir(parents=True)
        (self.home / "status").touch()
        settings = SETTINGS + (OF_DEBIAN if source else "")
        (self.home / "apt.conf").write_text(settings.format(home=self.home))
        (self.home / "sources.list").write_text(f"{source}\n")
        said = self._run("update")
        # An index that is not to be had is a warning to apt, as it may have an older one.
        if not any(self.home.glob("lists/*_Packages*")):
            raise DebianError(f"apt-get update: {said or 'no index'}")

    def fetch(self, packages: Sequence[str]) -> list[Path]:
        """Fetch packages with all that they depend on, and return their files.

        Raises:
            DebianError: one is not there, or cannot be had.
        """
        self._run("install", "--yes", "--download-only", *packages)
        return sorted(self.home.glob("packages/*.deb"))

    def fetch_alone(self, package: str) -> Path:
        """Fetch a package without what it depends on, and return its file.

        Raises:
            DebianError: it is not there, or cannot be had.
        """
        self._run("download", package)
        return next(self.home.glob("packages/*.deb"))

    def _run(self, *arguments: str) -> str:
        """Run apt-get and return its first complaint."""
        command = ["apt-get", "-q", "-c", str(self.home / "apt.conf"), *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=self.home / "packages",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise DebianError("this system has no apt") from error
        said = [line for line in done.stderr.splitlines() if line.startswith(("E: ", "W: "))]
        # The address of a file says nothing to a person; why it cannot be had stands behind it.
        first = re.sub(r"^[EW]: (Failed to fetch \S+ +)?", "", next(iter(said), ""))
        if done.returncode != 0:
            raise DebianError(f"apt-get {arguments[0]}: {first or f'exit code {done.returncode}'}")
        return first


def fetch(
    home: Path, suite: str, components: Sequence[str], packages: Sequence[str], default: str = ""
) -> tuple[str, list[Path]]:
    """Fetch packages of a suite of Debian's, with all that they depend on.

    The archive is the first of the machine's that has the suite, signed by Debian.

    Args:
        home: a folder to work in; the packages are left there.
        suite: such as ``sid``.
        components: such as ``main``.
        packages: names, or patterns as of apt-patterns(7).
        default: the archive to ask where none of the machine's has the suite, if any.

    Returns:
        The line of sources.list(5) that they come by, and their files.

    Raises:
        DebianError: they cannot be had.
    """
    source, apt = _archive(home, suite, components, default)
    return source, apt.fetch(packages)


def fetch_each(home: Path, suite: str, packages: Sequence[str]) -> list[Path]:
    """Fetch packages of a suite's main component without what they depend on; return their files.

    Args:
        home: a folder to work in; the packages are left there.
        suite: such as ``sid``.
        packages: names.

    Raises:
        DebianError: they cannot be had.
    """
    default = os.environ.get("PORTKIT_DEBIAN_ARCHIVE", "")
    _, apt = _archive(home, suite, ["main"], default)
    for package in packages:
        apt.fetch_alone(package)
    return sorted(apt.home.glob("packages/*.deb"))


def _archive(home: Path, suite: str, components: Sequence[str], default: str) -> tuple[str, Apt]:
    """Return the line of the first archive that has a suite, and a client for it."""
    key = keyring(home / "keyring")
    reason: object = "apt has no sources"
    archives = dict.fromkeys(filter(None, [*known_archives(), default]))
    for number, archive in enumerate(archives):
        apt = Apt(home / str(number))
        source = f"deb [signed-by={key}] {archive} {suite} {' '.join(components)}"
        try:
            apt.prepare(source)
        except DebianError as error:
            reason = error
            continue
        return source, apt
    raise DebianError(f"no archive of Debian's with {suite} can be reached: {reason}")


def known_archives() -> list[str]:
    """Return the addresses that the machine's apt fetches packages from, in its order."""
    command = ["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise DebianError("this system has no apt") from error
    return list(dict.fromkeys(done.stdout.split()))


def keyring(home: Path) -> Path:
    """Return the file with the keys of Debian's archive: the machine's, or one fetched by its apt.

    Args:
        home: a folder to work in, should it be fetched.

    Raises:
        DebianError: it cannot be had.
    """
    installed = Path("/", KEYRING)
    if installed.exists():
        return installed
    return fetch_own(home, "debian-archive-keyring") / KEYRING


def fetch_own(home: Path, package: str) -> Path:
    """Fetch a package from the machine's own sources, alone, and return where it is unpacked.

    Args:
        home: a folder to work in.
        package: its name.

    Raises:
        DebianError: it cannot be had.
    """
    apt = Apt(home / "apt")
    apt.prepare(None)
    unpack([apt.fetch_alone(package)], home / "root")
    return home / "root"


def unpack(packages: Sequence[Path], root: Path) -> None:
    """Unpack packages into a folder; nothing of theirs is run.

    Raises:
        DebianError: a package cannot be read or written.
    """
    root.mkdir(parents=True, exist_ok=True)
    for package in packages:
        command = ["dpkg-deb", "--extract", str(package), str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DebianError(f"{package.name}: {done.stderr.strip()}")


def versions(packages: Sequence[Path]) -> dict[str, str]:
    """Return the version of each package, by name, as the names of apt's files have them."""
    named = (package.name.split("_") for package in packages)
    return {name: version.replace("%3a", ":") for name, version, _ in named}
