"""Defects seeded into a port, ``mutants.toml``, and which step of the ladder finds them."""

from __future__ import annotations

import re
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import ProfileError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE: Final = Path(__file__).resolve().parent / "mutants.toml"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A defect, as an edit.

    Attributes:
        name: what kind of mistake it is.
        defect: what is wrong then, for a person.
        file: where, below the root of the tree.
        find: regular expression of what is replaced, once.
        replace: what stands there instead, as ``re.sub`` takes it.
        after: regular expression; what is replaced stands after its first match.
    """

    name: str
    defect: str
    file: str
    find: str
    replace: str
    after: str = ""

    @property
    def is_kernel(self) -> bool:
        """Whether it is in code for the GPU."""
        return self.file.endswith((".hip", ".h"))

    def seeded(self, text: str) -> str:
        """Return a file's text with the defect.

        Raises:
            VerificationError: what it replaces is not there.
        """
        start = re.search(self.after, text)
        place = start and re.compile(self.find).search(text, start.end())
        if not place:
            raise VerificationError(
                f"the mutant {self.name!r} finds nothing in {self.file}: mend its patterns"
            )
        return text[: place.start()] + place.expand(self.replace) + text[place.end() :]


@contextmanager
def seeded(root: Path, mutant: Mutant) -> Iterator[None]:
    """Put a defect into a tree for as long as the context lasts.

    Args:
        root: of a copy of a ported tree: it is written to.
        mutant: the defect.

    Raises:
        VerificationError: the tree does not have what the defect replaces.
    """
    place = root / mutant.file
    try:
        text = place.read_text(encoding="utf-8")
    except OSError as error:
        raise VerificationError(
            f"the mutant {mutant.name!r} needs {place} ({error.strerror}): take a ported tree"
        ) from None
    changed = mutant.seeded(text)
    try:
        place.write_text(changed, encoding="utf-8")
        yield
    finally:
        place.write_text(text, encoding="utf-8")


def load_mutants(place: Path = TABLE) -> tuple[Mutant, ...]:
    """Return the defects of a file, in its order.

    Raises:
        ProfileError: it is malformed, or two have one name.
    """
    try:
        found = tuple(
            Mutant(**entry) for entry in tomllib.loads(place.read_text(encoding="utf-8"))["mutant"]
        )
        for mutant in found:
            re.compile(mutant.find)
            re.compile(mutant.after)
    except (OSError, KeyError, TypeError, ValueError, re.error) as error:
        raise ProfileError(f"{place} is malformed: {error}") from None
    names = [mutant.name for mutant in found]
    if len(set(names)) < len(names):
        raise ProfileError(f"{place} is malformed: two mutants have one name")
    return found
