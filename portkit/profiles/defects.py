"""``upstream.toml``: the defects of a codebase's own code, and how each is repaired there.

Patches that a port has for its copies name the defect that they are about (``page``); here stands
what else the repair of a defect needs, or why there is none.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from portkit.codebases.directory import Directory
from portkit.profiles.entries import Entry, Page, TokenPatch, describe
from portkit.syntax.typed_toml import InvalidValueError

FILE: Final = "upstream.toml"
"""In the directory of a codebase."""
SUBJECT: Final = 72
"""How many characters the first line of a commit's message may have, as git's own have."""


class DefectPatch(TokenPatch, frozen=True, kw_only=True, tag=False):
    """Tokens of the source vendor's side that a repair writes in another way, and no copy has."""

    count: Annotated[
        int, describe("How often they stand in each item; 0 for any number.", ge=0)
    ] = 1

    def __post_init__(self) -> None:
        Entry.__post_init__(self)
        if bool(self.write) == bool(self.template):
            raise InvalidValueError("there is write and template, or neither: give one of them")
        _ = self.pattern


class Defect(Entry, frozen=True, kw_only=True):
    """A defect of the codebase."""

    page: Annotated[Page, describe("The page about it, without its ending.")]
    subject: Annotated[
        str, describe("The first line of the repair's commit.", max_length=SUBJECT)
    ] = ""
    crate: Annotated[str, describe("The package that has the test.")] = ""
    without: Annotated[str, describe("Why there is no repair.")] = ""
    change: Annotated[
        tuple[DefectPatch, ...],
        describe("What the repair changes besides what the patches for copies say."),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.subject) == bool(self.without):
            raise InvalidValueError("there is subject and without, or neither: give one of them")


class DefectFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The defects of a codebase, in the order in which they are repaired."""

    defect: tuple[Defect, ...] = ()


def load_defects(directory: Directory) -> tuple[Defect, ...]:
    """Return the defects of a codebase; none if its directory declares none."""
    if not directory.has(FILE):
        return ()
    found = directory.typed(FILE, DefectFile).defect
    for number, defect in enumerate(found):
        if any(defect.page == other.page for other in found[:number]):
            key = ("defect", number, "page")
            raise directory.fault(FILE, key, f"{defect.page} is there twice: take one out")
    return found
