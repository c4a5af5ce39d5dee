"""What a tree tells about the profile that its port needs, and what it leaves open."""

from __future__ import annotations

from portkit.syntax.value import Value


class Inferred(Value, frozen=True):
    """A value of the profile.

    Attributes:
        value: the value.
        evidence: where the tree tells it, as half a sentence.
    """

    value: str
    evidence: str


class Question(Value, frozen=True):
    """What the tree does not tell and a person can, in one line.

    Attributes:
        key: the identifier that gets a name.
        proposed: a name that is free.
        evidence: why it is asked.
    """

    key: str
    proposed: str
    evidence: str


class Draft(Value, frozen=True):
    """A profile, as far as the tree tells it.

    Attributes:
        name: the codebase.
        crate: the crate that tells it.
        first_version: the version of the tree.
        options: other keys of the file, with their values.
        uses: the codebases that it is built on.
        bindings: where ``portkit.toml`` has the tree take the HIP bindings from; none where the
            port brings its own, or needs none.
        words: identifiers that a person names, and their names.
        sources: patterns over CUDA sources whose translations are to lie beside them.
        derived: what needs no line, since every scan derives it.
        questions: names that a person may give.
        left: what else a person has to see to, a sentence each.
    """

    name: Inferred
    crate: Inferred
    first_version: Inferred
    options: tuple[tuple[str, Inferred], ...] = ()
    uses: tuple[Inferred, ...] = ()
    bindings: Inferred | None = None
    words: tuple[tuple[str, str], ...] = ()
    sources: tuple[Inferred, ...] = ()
    derived: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    left: tuple[str, ...] = ()
