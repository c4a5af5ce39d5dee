"""Defects seeded into a port, ``mutants.toml``, and which step of the ladder finds them."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.errors import ProfileError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from portkit.codebases.directory import Directory

FILE: Final = "mutants.toml"
"""In the directory of a codebase."""

SWITCH: Final = "PORTKIT_MUTANT"
"""The environment variable that turns a defect on, by its name."""


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
        shape: whether it changes what there is, in place of what an expression gives.
    """

    name: str
    defect: str
    file: str
    find: str
    replace: str
    after: str = ""
    shape: bool = False

    @property
    def is_kernel(self) -> bool:
        """Whether it is in code for the GPU."""
        return self.file.endswith((".hip", ".h"))

    @property
    def can_be_switched(self) -> bool:
        """Whether the defect can be there and not be there in one build."""
        return not self.is_kernel and not self.shape

    def seeded(self, text: str, *, switched: bool = False) -> str:
        """Return a file's text with the defect.

        Args:
            text: of the file.
            switched: whether ``SWITCH`` decides, as the program runs, if it is there.

        Raises:
            VerificationError: what it replaces is not there.
        """
        start = re.search(self.after, text)
        place = start and re.compile(self.find).search(text, start.end())
        if not place:
            raise VerificationError(
                f"the mutant {self.name!r} finds nothing in {self.file}: mend its patterns"
            )
        wrong = place.expand(self.replace)
        if switched:
            on = f'std::env::var_os("{SWITCH}").is_some_and(|name| name == "{self.name}")'
            wrong = f"(if {on} {{ {wrong} }} else {{ {place[0]} }})"
        return text[: place.start()] + wrong + text[place.end() :]


@contextmanager
def seeded(root: Path, *mutants: Mutant, switched: bool = False) -> Iterator[None]:
    """Put defects into a tree for as long as the context lasts.

    Switched, they are all there in one build, and the variable ``SWITCH`` names the one that counts
    (R. Untch, A. Offutt, M. Harrold: "Mutation analysis using mutant schemata", 1993).

    Args:
        root: of a copy of a ported tree: it is written to.
        mutants: the defects.
        switched: whether each can be turned on as a program runs.

    Raises:
        VerificationError: the tree does not have what a defect replaces.
    """
    texts: dict[Path, str] = {}
    changed: dict[Path, str] = {}
    for mutant in mutants:
        place = root / mutant.file
        try:
            texts.setdefault(place, place.read_text(encoding="utf-8"))
        except OSError as error:
            raise VerificationError(
                f"the mutant {mutant.name!r} needs {place} ({error.strerror}): take a ported tree"
            ) from None
        changed[place] = mutant.seeded(changed.get(place, texts[place]), switched=switched)
    try:
        for place, text in changed.items():
            place.write_text(text, encoding="utf-8")
        yield
    finally:
        for place, text in texts.items():
            place.write_text(text, encoding="utf-8")


def load_mutants(directory: Directory) -> tuple[Mutant, ...]:
    """Return the defects of a codebase, in the order of the file.

    Raises:
        ProfileError: it is malformed, or two have one name.
    """
    place, data = directory.root / FILE, directory.table(FILE)
    try:
        found = tuple(Mutant(**entry) for entry in data["mutant"])
        for mutant in found:
            re.compile(mutant.find)
            re.compile(mutant.after)
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise ProfileError(f"{place} is malformed: {error}") from None
    names = [mutant.name for mutant in found]
    if len(set(names)) < len(names):
        raise ProfileError(f"{place} is malformed: two mutants have one name")
    return found
