"""A first profile that is inferred from a tree, and its text with evidence."""

from __future__ import annotations

from collections.abc import Iterator

from portkit.profiles.accepted_findings import quote_toml
from portkit.syntax.value import Value


class Inferred(Value, frozen=True):
    """A value of the profile."""

    value: str
    evidence: str


class Question(Value, frozen=True):
    """A name that only a person can choose."""

    key: str
    proposed: str
    evidence: str


class Draft(Value, frozen=True):
    """A profile as far as it can be inferred from a tree."""

    name: Inferred
    crate: Inferred
    first_version: Inferred
    options: tuple[tuple[str, Inferred], ...] = ()
    uses: tuple[Inferred, ...] = ()
    # Where ``portkit.toml`` has the tree take the HIP bindings from; none where the port brings its
    # own, or needs none.
    bindings: Inferred | None = None
    words: tuple[tuple[str, str], ...] = ()
    # Patterns over CUDA sources whose translations are to lie beside them.
    sources: tuple[Inferred, ...] = ()
    # Files that cargo does not read, and that no rule speaks of.
    kept: tuple[Inferred, ...] = ()
    derived: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    left: tuple[str, ...] = ()


def format_profile(draft: Draft) -> str:
    """Return the ``codebase.toml`` of a draft.

    Comments hold no control characters (TOML 1.0, "Comment"), whatever files are called.
    """
    shown = ("".join(c if c.isprintable() else "?" for c in line) for line in _lines(draft))
    return "".join(f"{line}\n" for line in shown)


def _lines(draft: Draft) -> Iterator[str]:
    yield f"# What is particular to {draft.name.value}, as `portkit init` found it."
    for derived in draft.derived:
        yield f"# Derived by every scan: {derived}."
    yield ""
    for key in ("name", "crate", "first_version"):
        yield from _format_inferred(key, getattr(draft, key))
    for key, said in draft.options:
        yield from _format_inferred(key, said)
    if draft.uses:
        for each in draft.uses:
            yield f"# {each.evidence}."
        yield f"uses = [{', '.join(quote_toml(each.value) for each in draft.uses)}]"
    yield ""
    yield "[names.words]"
    for word, name in draft.words:
        yield f"{word} = {quote_toml(name)}"
    given = dict(draft.words)
    for question in draft.questions:
        if question.key not in given:
            yield f"# {question.evidence}: give its copy a name to port it."
            yield f"# {question.key} = {quote_toml(question.proposed)}"
    for source in draft.sources:
        yield ""
        yield "[[hip_sources]]"
        yield f"source = {quote_toml(source.value)}"
        yield f"reason = {quote_toml(source.evidence)}"
    for kept in draft.kept:
        yield ""
        yield "[[keep]]"
        yield f"path = {quote_toml(kept.value)}"
        yield f"reason = {quote_toml(kept.evidence)}"
    if draft.left:
        yield ""
        yield "# Left to a person:"
        yield from (f"# - {each}." for each in draft.left)


def _format_inferred(key: str, said: Inferred) -> Iterator[str]:
    yield f"# {said.evidence}."
    yield f"{key} = {quote_toml(said.value)}"
