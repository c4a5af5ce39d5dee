"""``cuda.patch``: what the build of a kernels crate changes in the CUDA sources, as a unified diff.

What each part replaces stands once in its file, so that a part is found wherever it has moved to,
and lines that somebody has edited are never taken for others. `git apply` reads it too.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from portkit.hipify.errors import KernelPatchError
from portkit.hipify.paths import PATCH
from portkit.lang.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OLD: Final = "--- a/src/"
_NEW: Final = "+++ b/src/"
_NO_END: Final = "\\ No newline at end of file\n"

_MOST_CONTEXT: Final = 40
"""Lines on each side of a change, at most, for it to stand nowhere else."""


class Change(Value, frozen=True):
    """One part of the patch.

    Attributes:
        old: the lines that stand in the source, with their ends.
        new: those that take their place.
        line: the line of the patch that it begins at.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int


def diff(path: str, old: str, new: str) -> str:
    """Return what the patch says of one file; nothing where nothing is changed.

    Args:
        path: the file, below the folder of the sources.
        old: its text.
        new: what it is to be.

    Raises:
        KernelPatchError: no patch can tell of it.
    """
    before, after = _lines(old), _lines(new)
    if before == after:
        return ""
    said = [f"{_OLD}{path}\n{_NEW}{path}\n"]
    shift = 0
    for low, high, lines in _parts(before, after):
        removed, added = high - low, sum(line[0] != "-" for line in lines)
        said.append(f"@@ -{low + 1},{removed} +{low + 1 + shift},{added} @@\n")
        if any(line.startswith((_OLD, _NEW)) for line in lines):
            raise KernelPatchError(f"{path}: a line reads like the head of a patch: change it")
        said += (line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines)
        shift += added - removed
    return "".join(said)


def changes(patch: str) -> Mapping[str, Sequence[Change]]:
    """Return the parts of a patch, by the file that they change."""
    found: dict[str, list[Change]] = {}
    path = of = ""
    for number, line in enumerate(_lines(patch), 1):
        kind, text = line[:1], line[1:]
        if line.startswith(_NEW):
            path = line.removeprefix(_NEW).rstrip()
        elif line.startswith("@@ "):
            found.setdefault(path, []).append(Change((), (), number))
            of = ""
        elif path in found and not line.startswith(_OLD):
            last = found[path].pop()
            if kind == "\\":
                old = _without_end(last.old) if of != "+" else last.old
                new = _without_end(last.new) if of != "-" else last.new
            else:
                old = (*last.old, text) if kind != "+" else last.old
                new = (*last.new, text) if kind != "-" else last.new
            of = kind
            found[path].append(Change(old, new, last.line))
    return found


def changed(path: str, text: str, parts: Sequence[Change]) -> str:
    """Return a file with its changes.

    Raises:
        KernelPatchError: what one of them replaces does not stand there, or more than once.
    """
    lines = _lines(text)
    for part in parts:
        places = [*_places(lines, [*part.old])]
        if len(places) != 1:
            raise KernelPatchError(
                f"{PATCH}, line {part.line}: {path} has {len(places)} places like this instead of"
                " one, so it was edited since: write the patch again (portkit apply --regenerate),"
                " or edit it"
            )
        lines[places[0] : places[0] + len(part.old)] = part.new
    return "".join(lines)


def _without_end(lines: tuple[str, ...]) -> tuple[str, ...]:
    return (*lines[:-1], lines[-1].removesuffix("\n"))


def _places(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    """Yield where lines stand together among others."""
    for first in range(len(lines) - len(wanted) + 1):
        if lines[first : first + 1] == wanted[:1] and lines[first : first + len(wanted)] == wanted:
            yield first


def _lines(text: str) -> list[str]:
    """Return the lines as compilers see them, with their ends."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


def _parts(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the parts of a diff: the first and last line in the old text, and the diff's lines."""
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    edits = [(i, j, k, n) for tag, i, j, k, n in codes if tag != "equal"]
    spans: list[tuple[int, int]] = []
    for low, high in (_alone(before, i, j) for i, j, _, _ in edits):
        if spans and low <= spans[-1][1]:
            spans[-1] = (min(low, spans[-1][0]), max(spans[-1][1], high))
        else:
            spans.append((low, high))
    for low, high in spans:
        lines: list[str] = []
        at = low
        for i, j, k, n in edits:
            if low <= i and j <= high:
                lines += (f" {line}" for line in before[at:i])
                lines += (f"-{line}" for line in before[i:j])
                lines += (f"+{line}" for line in after[k:n])
                at = j
        lines += (f" {line}" for line in before[at:high])
        yield low, high, lines


def _alone(lines: Sequence[str], low: int, high: int) -> tuple[int, int]:
    """Return lines around a change that stand nowhere else together; at least one on each side.

    Raises:
        KernelPatchError: there are none, since the file repeats itself.
    """
    for context in range(1, _MOST_CONTEXT):
        first, last = max(low - context, 0), min(high + context, len(lines))
        if len([*_places(lines, lines[first:last])]) == 1:
            return first, last
    raise KernelPatchError(
        f"line {low + 1} is changed, and {_MOST_CONTEXT} lines around it stand elsewhere too: a"
        " patch cannot tell the places apart; let the kernels be translated"
    )
