"""The message of a repair's commit: the defect, the fix, and how to test it."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.repairs.defect_repairs import Repair

_WIDTH: Final = 72
_PARAGRAPHS: Final = re.compile(r"\n\s*\n")


def format_message(repair: Repair) -> str:
    """Return the message: the subject, the defect, the fix, and how to test it."""
    lines = [repair.defect.subject, ""]
    # Of the ways to mend it the first is the one that is taken.
    fix = _PARAGRAPHS.split(repair.page.fix)[0]
    for paragraph in (f"{repair.page.title}.", *_PARAGRAPHS.split(repair.page.what), fix):
        lines += [*_laid_out(paragraph), ""]
    lines += _check(repair)
    return "\n".join(lines).rstrip("\n") + "\n"


def _check(repair: Repair) -> tuple[str, ...]:
    if repair.test is None:
        return ("There is no test that fails every time without this.",)
    gpu = " on a GPU" if repair.page.needs_gpu else ""
    fails = "fails" if repair.page.steady else "may fail"
    said = f"This {fails}{gpu} without the change, and passes with it:"
    return (said, "", f"    {repair.test.command}")


def _laid_out(paragraph: str) -> Iterator[str]:
    """Yield the lines of a paragraph; a table or a list keeps its own."""
    if paragraph.lstrip()[:2] in ("- ", "| ", "``"):
        yield from paragraph.split("\n")
        return
    yield from textwrap.wrap(
        " ".join(paragraph.split()), _WIDTH, break_long_words=False, break_on_hyphens=False
    )
