"""The changes of a plan as a patch that ``git apply`` takes."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from portkit.write.transaction import Change


def patch(changes: Iterable[Change]) -> str:
    """Return the changes as one patch in git's extended format (git-diff(1)), ``a/`` to ``b/``.

    Line endings are kept; a missing newline at the end of a file is said as diff says it.
    """
    return "".join(line for change in changes for line in _patch(change))


def _patch(change: Change) -> Iterator[str]:
    if change.before == change.after:
        return
    old, new = f"a/{change.path}", f"b/{change.path}"
    yield f"diff --git {old} {new}\n"
    if change.before is None:
        yield "new file mode 100644\n"
        old = "/dev/null"
    for line in unified_diff(_lines(change.before or b""), _lines(change.after), old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    """Split at newlines alone: ``str.splitlines`` knows more line ends than git."""
    lines = data.decode().split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
