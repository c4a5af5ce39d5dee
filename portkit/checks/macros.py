"""A macro that a written line calls under the port's name exists after the port."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.ported_tree import Refusal
from portkit.context.macro_items import is_defined
from portkit.syntax.name_table import strip_comments_and_strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.checks.ported_tree import PortedTree, WrittenFile

_MISSING: Final = (
    "This calls {name}!, and nothing defines that after the port. The build with the feature would"
    " stop here. Write the macro or another call by hand."
)
_CALL: Final = re.compile(r"(?<![\w:$])([A-Za-z_]\w*)!\s*[(\[{]")
_DEFINED: Final = re.compile(r"\bmacro_rules!\s*(\w+)")


def check_macros(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse a call of a renamed macro that is neither defined nor imported.

    Args:
        ported: the tree after the port.
    """
    written = [*ported.find_written_files(".rs")]
    made: set[str] | None = None
    for each in written:
        for piece in each.pieces:
            text = each.source.text(piece.start, piece.end)
            for name in sorted(_find_calls(ported, text)):
                if made is None:
                    made = {n for other in written for n in _find_definitions(other)}
                if (
                    name not in made
                    and not is_defined(ported.job, name)
                    and not _is_imported(each, name)
                ):
                    yield Refusal((piece.finding,), _MISSING.format(name=name))


def _find_calls(ported: PortedTree, text: str) -> set[str]:
    """Return the macros that a text calls without a path and that are named after the port."""
    vendor = ported.job.vendor
    if not re.search(rf"(?:{vendor.variant}|{vendor.name})\w*!", text):
        return set()
    calls = _CALL.findall(strip_comments_and_strings(text))
    return {name for name in calls if name != "macro_rules" and ported.job.mentions_rocm(name)}


def _find_definitions(written: WrittenFile) -> Iterator[str]:
    """Yield the macros that edits of a file define."""
    for piece in written.pieces:
        text = written.source.text(piece.start, piece.end)
        if "macro_rules!" in text:
            yield from _DEFINED.findall(text)


def _is_imported(written: WrittenFile, name: str) -> bool:
    data = written.source.data
    return re.search(rb"\buse\b[^;]*\b%s\b" % re.escape(name.encode()), data) is not None
