"""The changes of a plan as a patch that ``git apply`` takes."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from portkit.transaction.transaction import Change

_NAMED: Final = {
    ord(char): f"\\{name}" for char, name in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)
}
"""The bytes that git writes by a letter."""


def render_patch(changes: Iterable[Change]) -> str:
    """Return the changes as one patch in git's extended format (git-diff(1)), ``a/`` to ``b/``.

    Line endings are kept; a missing newline at the end of a file is said as diff says it.
    """
    return "".join(line for change in changes for line in _render_file(change))


def _render_file(change: Change) -> Iterator[str]:
    if change.before == change.after:
        return
    old, new = _quote_path(f"a/{change.path}"), _quote_path(f"b/{change.path}")
    yield f"diff --git {old} {new}\n"
    if change.before is None:
        yield "new file mode 100644\n"
        old = "/dev/null"
    for line in unified_diff(
        _split_lines(change.before or b""), _split_lines(change.after), old, new
    ):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _quote_path(path: str) -> str:
    """Return a path as git writes it: quoted as in C where it holds something unusual.

    Source: git-config(1), ``core.quotePath``; git's ``quote.c``.
    """
    data = path.encode(errors="surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in data):
        return path
    return (
        '"'
        + "".join(_NAMED.get(b) or (chr(b) if 0x20 <= b < 0x7F else f"\\{b:03o}") for b in data)
        + '"'
    )


def _split_lines(data: bytes) -> list[str]:
    """Split at newlines alone: ``str.splitlines`` knows more line ends than git."""
    lines = data.decode().split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
