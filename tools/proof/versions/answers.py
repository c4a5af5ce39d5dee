"""What trees have answered, kept from run to run, and the page that shows it."""

from __future__ import annotations

import csv
import io
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Final

from portkit.profiles.tested_versions import TestedVersions
from portkit.syntax.semver import version_precedence
from tools.proof.versions.asked import GATINGS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

PORT: Final = "port"
FEATURE: Final = "rocm"
QUESTIONS: Final = (PORT, "no feature", FEATURE)
"""Whether the tree can be ported, and whether the port type-checks with these features."""

PASSED: Final = "passed"
FAILED: Final = "failed"
UPSTREAM: Final = "upstream"
GIT: Final = "git"

_HEADS: Final = {PORT: "ported", "no feature": "type-checks", FEATURE: "with `rocm`"}
_WORDS: Final = {
    "": "not asked",
    PASSED: "yes",
    FAILED: "**no**",
    UPSTREAM: "upstream does not",
    GIT: "not to be had",
}


@dataclass(frozen=True, slots=True, order=True)
class Answer:
    """What one tree has answered to one question.

    Attributes:
        day: of the tree: when it was committed, as ``2025-05-15``; empty for a published version.
        name: the version, or the commit.
        version: what its manifest says.
        gating: ``dummy`` or ``cfg``.
        question: one of ``QUESTIONS``.
        result: ``passed``; ``failed``; ``upstream``, where the tree fails before the port as well;
            ``git``, where a dependency from git cannot be had.
        detail: the first of what is wrong.
        crates: what was type-checked, by name, with spaces between; empty for the port.
        content: names the content of the port (`trees.digest`).
        asked_on: the day.
        asker: names the content of the portkit that ported.
    """

    day: str
    name: str
    version: str
    gating: str
    question: str
    result: str
    detail: str
    crates: str
    content: str
    asked_on: str
    asker: str


class Answers:
    """The answers of all trees of a kind, in a file of comma-separated values."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._known: dict[tuple[str, str, str], Answer] = {}
        self._read()

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._known.values())

    def get(self, name: str, gating: str, question: str) -> Answer | None:
        """Return what a tree has answered."""
        return self._known.get((name, gating, question))

    def put(self, answer: Answer) -> None:
        """Keep an answer, also on the disk. Those about another port of the tree are forgotten.

        What another run has kept meanwhile stays.
        """
        self._read()
        for question in QUESTIONS:
            old = self.get(answer.name, answer.gating, question)
            if old is not None and old.content != answer.content:
                del self._known[answer.name, answer.gating, question]
        self._add(answer)
        self.write()

    def write(self) -> None:
        """Write the file, in the trees' order."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([field.name for field in fields(Answer)])
        writer.writerows(astuple(self._known[key]) for key in sorted(self._known, key=self._order))
        self._place.parent.mkdir(parents=True, exist_ok=True)
        self._place.write_text(text.getvalue(), encoding="utf-8")

    def trees(self) -> tuple[str, ...]:
        """Return the names of the trees, in their order."""
        return tuple(dict.fromkeys(name for name, _, _ in sorted(self._known, key=self._order)))

    def proven(self, name: str, crates: Sequence[str]) -> bool:
        """Whether a tree's port is proven: whatever was asked passed, and enough was.

        Enough is that it was ported, and type-checked with the port's feature in one gating.

        Args:
            name: the tree.
            crates: what must have been type-checked, by name.
        """
        found = [each for each in self if each.name == name]
        return all(each.result == PASSED for each in found) and any(
            each.question == FEATURE and set(crates) <= set(each.crates.split()) for each in found
        )

    def _order(self, key: tuple[str, str, str]) -> tuple[object, ...]:
        """Return what sorts answers: by the tree's day, or its version; then as they are asked."""
        answer = self._known[key]
        place = (GATINGS.index(answer.gating), QUESTIONS.index(answer.question))
        return answer.day, version_precedence(answer.version) or (), answer.name, place

    def _read(self) -> None:
        if self._place.is_file():
            self._known.clear()
            with self._place.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    self._add(Answer(**row))

    def _add(self, answer: Answer) -> None:
        self._known[answer.name, answer.gating, answer.question] = answer


def proven(published: Answers, commits: Answers, crates: Sequence[str]) -> TestedVersions:
    """Return what a port was proven on (`Answers.proven`).

    Args:
        published: the answers of published versions.
        commits: those of commits.
        crates: what must have been type-checked, by name.
    """
    passed = [name for name in commits.trees() if commits.proven(name, crates)]
    days = [each.day for each in commits if each.name in passed]
    return TestedVersions(
        tuple(name for name in published.trees() if published.proven(name, crates)),
        len(passed),
        max(days, default=""),
    )


def page(title: str, introduction: str, answers: Answers, crates: Collection[str]) -> str:
    """Return a page with a table of what each tree has answered, and the reasons below it.

    Args:
        title: of the page.
        introduction: of the page.
        answers: all of them.
        crates: what a whole answer has been asked of.
    """
    dated = any(answer.day for answer in answers)
    head = [*(["commit", "day"] if dated else []), "version"]
    head += [f"`{gating}`: {_HEADS[question]}" for gating in GATINGS for question in QUESTIONS]
    lines = [
        f"# {title}",
        "",
        introduction,
        "",
        _row([*head, "asked on"]),
        _row(["---"] * (len(head) + 1)),
    ]
    reasons: dict[str, None] = {}
    for name in answers.trees():
        found = [answers.get(name, gating, q) for gating in GATINGS for q in QUESTIONS]
        there = [each for each in found if each is not None]
        cells = [f"`{name}`", there[0].day] if dated else []
        cells += [there[0].version, *(_cell(each, crates) for each in found)]
        lines.append(_row([*cells, min(each.asked_on for each in there)]))
        for each in there:
            if each.detail:
                where = f"{name}, `{each.gating}`, {_HEADS[each.question]}"
                reasons[f"- {where}: {each.detail.replace('|', chr(92) + '|')}"] = None
    if reasons:
        lines += ["", "## What is not so, and why", "", *reasons]
    return "\n".join(lines) + "\n"


def _cell(answer: Answer | None, crates: Collection[str]) -> str:
    """Return the answer in a word, with a mark where the examples were not asked."""
    if answer is None:
        return _WORDS[""]
    partly = answer.question != PORT and not set(crates) <= set(answer.crates.split())
    return _WORDS[answer.result] + (" ¹" if partly and answer.result == PASSED else "")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
