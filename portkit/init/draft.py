"""What a tree tells about the profile that its port needs, and what it leaves open."""

from __future__ import annotations

from portkit.syntax.value import Value


class Inferred(Value, frozen=True):
    """A value of the profile."""

    value: str
    evidence: str


class Question(Value, frozen=True):
    """What the tree does not tell and a person can, in one line."""

    key: str
    proposed: str
    evidence: str


class Draft(Value, frozen=True):
    """A profile, as far as the tree tells it.

    Attributes:
        bindings: where ``portkit.toml`` has the tree take the HIP bindings from; none where the
            port brings its own, or needs none.
        sources: patterns over CUDA sources whose translations are to lie beside them.
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
