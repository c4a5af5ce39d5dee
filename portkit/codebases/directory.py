"""The directory of a codebase or a vendor: the one place where the paths of profiles are resolved.

A codebase's directory holds ``codebase.toml``, and beside it what the codebase has of these:
``templates/``, ``kernels.toml``, ``verify.toml``, ``phases.toml``, ``budgets/``,
``crosscheck.toml``, ``mutants.toml``, ``fetch.toml``, ``proven.toml``, ``versions.toml``
(docs/guide-rule.md says what for).
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from portkit.errors import ProfileError

VENDORS: Final = Path(__file__).parents[1] / "vendors"
"""Where the vendors' directories lie."""

TEMPLATES: Final = "templates"


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of data, of which nothing outside is read.

    Attributes:
        root: where it lies.
    """

    root: Path

    def __str__(self) -> str:
        return str(self.root)

    def has(self, name: str) -> bool:
        """Whether there is a file.

        Raises:
            ProfileError: the name leads out of the directory.
        """
        return self._place(name).is_file()

    def text(self, name: str) -> str:
        """Return the text of a file.

        Raises:
            ProfileError: the name leads out of the directory, or the file cannot be read.
        """
        place = self._place(name)
        try:
            return place.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ProfileError(f"{place} is not UTF-8: save it so") from None
        except OSError as error:
            raise ProfileError(f"{place} cannot be read ({error.strerror}): add it") from None

    def table(self, name: str) -> dict[str, Any]:
        """Return what a TOML file holds.

        Raises:
            ProfileError: the name leads out of the directory, or the file cannot be read as TOML.
        """
        try:
            return tomllib.loads(self.text(name))
        except tomllib.TOMLDecodeError as error:
            raise ProfileError(f"{self.root / name} is not valid TOML: {error}") from None

    def files(self, folder: str) -> tuple[str, ...]:
        """Return the names of the files directly in a folder, such as ``a.csv``, sorted.

        Raises:
            ProfileError: the folder's name leads out of the directory.
        """
        place = self._place(folder)
        return (
            tuple(sorted(p.name for p in place.iterdir() if p.is_file())) if place.is_dir() else ()
        )

    def digest(self) -> str:
        """Return hexadecimal digits that stand for the names and the contents of all its files."""
        found = hashlib.sha256()
        for place in sorted(p for p in self.root.rglob("*") if p.is_file()):
            name = place.relative_to(self.root).as_posix().encode(errors="surrogateescape")
            for part in (name, place.read_bytes()):
                found.update(len(part).to_bytes(8, "little") + part)
        return found.hexdigest()

    def _place(self, name: str) -> Path:
        place = (self.root / name).resolve()
        if not place.is_relative_to(self.root.resolve()):
            raise ProfileError(
                f"{name!r} leads out of {self.root}: a profile reads nothing outside its directory"
            )
        return place


def vendor_directory(name: str) -> Directory:
    """Return the directory of a vendor that portkit brings."""
    return Directory(VENDORS / name)
