"""Defects seeded into a port, ``mutants.toml``, and which step of the ladder finds them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from portkit.errors import VerificationError
from portkit.syntax.regex import Regex, compile_regex
from portkit.syntax.typed_toml import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from portkit.codebases.directory import Directory

FILE: Final = "mutants.toml"
"""In the directory of a codebase."""

SWITCH: Final = "PORTKIT_MUTANT"
"""The environment variable that turns a defect on, by its name."""


_Text = Annotated[str, Meta(pattern=r"\S", title="a text with something in it")]


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """A defect, as an edit.

    Attributes:
        name: what kind of mistake it is.
        defect: what is wrong then, for a person.
        file: where, below the root of the tree.
        find: regular expression of what is replaced, once.
        replace: what stands there instead, groups by their numbers after a backslash.
        after: regular expression; what is replaced stands after its first match.
        shape: whether it changes what there is, in place of what an expression gives.
        operations: a part of the names of what the cross-check has to show it in, such as ``cat/``;
            all by default.
    """

    name: Annotated[_Text, Meta(description="What kind of mistake it is.")]
    defect: Annotated[_Text, Meta(description="What is wrong then, for a person.")]
    file: Annotated[_Text, Meta(description="Where, below the root of the tree.")]
    find: Annotated[Regex, Meta(description="What is replaced, once (RE2).")]
    replace: Annotated[str, Meta(description="What stands there instead.")]
    after: Annotated[Regex, Meta(description="What is replaced stands after its first fit.")] = ""
    shape: Annotated[
        bool, Meta(description="Whether it changes what there is, not what an expression gives.")
    ] = False
    operations: Annotated[
        str, Meta(description="A part of the names of operations and types that it spoils.")
    ] = ""

    def __post_init__(self) -> None:
        compile_regex(self.find, "find")
        compile_regex(self.after, "after")

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
            switched: whether ``SWITCH`` decides, as the program runs, if it is there. Both sides
                are expressions of one type then; kernels can ask for it on the CPU device alone,
                where they run in the program.

        Raises:
            VerificationError: what it replaces is not there.
        """
        start = compile_regex(self.after, "after").search(text)
        place = start and compile_regex(self.find, "find").search(text, start.end())
        if not place:
            raise VerificationError(
                f"the mutant {self.name!r} finds nothing in {self.file}: mend its patterns"
            )
        wrong: str = place.expand(self.replace)
        if switched and self.is_kernel:
            set_to = f'::getenv("{SWITCH}")'
            on = f'{set_to} && !__builtin_strcmp({set_to}, "{self.name}")'
            wrong = f"({on} ? ({wrong}) : ({place[0]}))"
        elif switched:
            on = f'std::env::var_os("{SWITCH}").is_some_and(|name| name == "{self.name}")'
            wrong = f"(if {on} {{ {wrong} }} else {{ {place[0]} }})"
        first, end = place.span()
        return text[:first] + wrong + text[end:]


class MutantsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Defects that are put into a port, to see which step finds each."""

    mutant: Annotated[tuple[Mutant, ...], Meta(min_length=1)]

    def __post_init__(self) -> None:
        names = [mutant.name for mutant in self.mutant]
        for name in names:
            if names.count(name) > 1:
                raise InvalidValueError(f"two mutants have the name {name!r}: rename one", "mutant")


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
                ' whose kernels are "translated" (portkit.toml)'
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
    return directory.typed(FILE, MutantsFile).mutant
