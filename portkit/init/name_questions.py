"""The names that a profile needs, all at once: a name that is given leads to more code to name."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec.structs import replace

from portkit.codebases.directory import Directory
from portkit.codebases.registry import MAIN
from portkit.engine.scan import Scan
from portkit.engine.session import scan_tree
from portkit.init.draft import Draft, Question, format_profile
from portkit.init.inference import find_questions, infer_profile

_ROUNDS: Final = 8
"""No tree has needed more than three."""


def draft_profile(directory: Path, found: Scan) -> Draft:
    """Infer a profile, with the questions that the answers to its own questions would raise."""
    draft = infer_profile(found)
    renamed = tuple(option for option in draft.options if option[0] == "source_feature")
    if renamed:
        # Only a scan that knows the feature sees what is under it.
        known = infer_profile(_scan_with(directory, draft))
        draft = replace(known, options=(*renamed, *known.options))
    questions: dict[str, Question] = {each.key: each for each in draft.questions}
    for _ in range(_ROUNDS if questions else 0):
        words = tuple((each.key, each.proposed) for each in questions.values())
        after = _scan_with(directory, replace(draft, words=words))
        new = {each.key: each for each in find_questions(after) if each.key not in questions}
        if not new:
            break
        questions |= new
    return replace(draft, questions=tuple(questions.values()))


def _scan_with(directory: Path, draft: Draft) -> Scan:
    """Scan a tree as if it had the profile of a draft."""
    with TemporaryDirectory() as folder:
        (Path(folder) / MAIN).write_text(format_profile(draft))
        return scan_tree(directory, profile=Directory(Path(folder)))
