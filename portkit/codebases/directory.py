"""The directory of a codebase or a vendor, where the paths of profiles are resolved.

A codebase's directory holds ``codebase.toml``, and beside it what the codebase has of these:
``templates/``, ``kernels.toml``, ``verify.toml``, ``phases.toml``, ``budgets/``,
``crosscheck.toml``, ``mutants.toml``, ``operations.toml``, ``fetch.toml``, ``proven.toml``,
``upstream.toml``, ``upstream/``, ``versions.toml`` (docs/guide-rule.md says what for).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, TypeVar

from portkit.errors import PortkitError, ProfileError
from portkit.syntax.typed_toml import Key, decode_toml, find_key_line
from portkit.syntax.value import Value
from portkit.workspace.regular_files import read_regular

T = TypeVar("T")

VENDORS: Final = Path(__file__).parents[1] / "vendors"
"""Where the vendors' directories lie."""
TEMPLATES: Final = "templates"

_SHOWN: Final = 100  # How many characters are shown of a name that is too long.
LARGEST: Final = 1 << 22
"""How many bytes a file of a directory may have; the largest of portkit's own has 130,000."""


class Directory(Value, frozen=True):
    """A directory of data, of which nothing outside is read."""

    root: Path

    def __str__(self) -> str:
        return str(self.root)

    def has(self, name: str) -> bool:
        """Whether there is a file."""
        return self._place(name).is_file()

    def text(self, name: str) -> str:
        """Return the text of a file."""
        place = self._place(name)
        try:
            return read_regular(place, LARGEST).decode()
        except UnicodeDecodeError:
            raise ProfileError(f"{place} is not UTF-8: save it so") from None
        except OSError as error:
            raise ProfileError(f"{place} cannot be read ({error.strerror}): add it") from None

    def typed(self, name: str, kind: type[T], error: type[PortkitError] = ProfileError) -> T:
        """Decode a TOML file as a value of a type.

        Raises:
            ProfileError: the name leads out of the directory, or the file cannot be read.
            PortkitError: of the type ``error``; the message names the line.
        """
        return decode_toml(self.text(name), str(self.root / name), kind, error)

    def fault(self, name: str, key: Key, sentence: str) -> ProfileError:
        """Return an error about a key of a TOML file, with its line."""
        return ProfileError(f"{self.root / name}:{find_key_line(self.text(name), key)}: {sentence}")

    def files(self, folder: str) -> tuple[str, ...]:
        """Return the names of the files directly in a folder, such as ``a.csv``, sorted.

        What is a link is left out.
        """
        place = self._place(folder)
        return (
            tuple(sorted(p.name for p in place.iterdir() if p.is_file() and not p.is_symlink()))
            if place.is_dir()
            else ()
        )

    def digest(self) -> str:
        """Return a hash of the names and the contents of all its files."""
        found = hashlib.sha256()
        for place in sorted(p for p in self.root.rglob("*") if p.is_file() and not p.is_symlink()):
            name = place.relative_to(self.root).as_posix().encode(errors="surrogateescape")
            for part in (name, place.read_bytes()):
                found.update(len(part).to_bytes(8, "little") + part)
        return found.hexdigest()

    def _place(self, name: str) -> Path:
        try:
            place = (self.root / name).resolve()
            place.is_file()  # which refuses what is too long, where resolve does not
        except OSError as error:
            raise ProfileError(
                f"{name[:_SHOWN]!r} cannot be looked for in {self.root} ({error.strerror}): mend it"
            ) from None
        if not place.is_relative_to(self.root.resolve()):
            raise ProfileError(
                f"{name!r} leads out of {self.root}: a profile reads nothing outside its directory"
            )
        return place


def vendor_directory(name: str) -> Directory:
    """Return the directory of a vendor that portkit brings."""
    return Directory(VENDORS / name)
