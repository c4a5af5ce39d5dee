"""``cuda.patch``: what the build of a kernels crate changes in the CUDA sources, as a unified diff.

What each part replaces stands once in its file, so that a part is found wherever it has moved to,
and lines that somebody has edited are never taken for others. Files that are changed alike share
their parts, below a head with a line for each of them; `git apply` reads all else.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from difflib import SequenceMatcher
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from portkit.hipify.errors import KernelPatchError
from portkit.hipify.paths import PATCH_FILE
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OLD: Final = "--- a/src/"
_NEW: Final = "+++ b/src/"
_NO_END: Final = "\\ No newline at end of file\n"

_MOST_CONTEXT: Final = 40
"""Lines on each side of a change, at most, for it to stand nowhere else."""

_REPEATED: Final = (
    "{} is changed, and {} lines around the change stand elsewhere too: a patch cannot tell the"
    " places apart; let the kernels be translated"
)


class Change(Value, frozen=True):
    """One part of the patch."""

    old: tuple[str, ...]  # the lines that stand in the source, with their ends
    new: tuple[str, ...]  # those that take their place
    line: int  # the line of the patch that it begins at


def render_patch(files: Mapping[str, tuple[str, str]]) -> str:
    """Return the patch of files; nothing of one in which nothing is changed."""
    alike: dict[tuple[object, ...], list[_File]] = {}
    for path, (old, new) in files.items():
        file = _File(path, tuple(_split_lines(old)), tuple(_split_lines(new)))
        if file.edits:
            alike.setdefault(file.edited, []).append(file)
    said = []
    for group in alike.values():
        try:
            said.append(_render_combined(group))
        except KernelPatchError:
            said += [_render_combined([file]) for file in group]
    return "".join(sorted(said))


def parse_patch(patch: str) -> Mapping[str, Sequence[Change]]:
    """Return the parts of a patch, by the file that they change."""
    found: dict[str, list[Change]] = {}
    paths: list[str] = []
    parts: list[Change] = []
    of = ""
    for number, line in enumerate(_split_lines(patch), 1):
        kind, text = line[:1], line[1:]
        if line.startswith(_OLD):
            paths, parts = [], []
        elif line.startswith(_NEW):
            paths.append(line.removeprefix(_NEW).rstrip())
            found[paths[-1]] = parts
        elif line.startswith("@@ "):
            parts.append(Change((), (), number))
            of = ""
        elif parts:
            last = parts.pop()
            if kind == "\\":
                old = _strip_line_end(last.old) if of != "+" else last.old
                new = _strip_line_end(last.new) if of != "-" else last.new
            else:
                old = (*last.old, text) if kind != "+" else last.old
                new = (*last.new, text) if kind != "-" else last.new
            of = kind
            parts.append(Change(old, new, last.line))
    return found


def apply_changes(path: str, text: str, parts: Sequence[Change]) -> str:
    """Return a file with its changes."""
    lines = _split_lines(text)
    for part in parts:
        places = [*_find_occurrences(lines, [*part.old])]
        if len(places) != 1:
            raise KernelPatchError(
                f"{PATCH_FILE}, line {part.line}: {path} has {len(places)} places like this"
                " instead of"
                " one, so it was edited since: write the patch again (portkit apply --regenerate),"
                " or edit it"
            )
        lines[places[0] : places[0] + len(part.old)] = part.new
    return "".join(lines)


def _strip_line_end(lines: tuple[str, ...]) -> tuple[str, ...]:
    return (*lines[:-1], lines[-1].removesuffix("\n"))


def _find_occurrences(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    """Yield where lines stand together among others."""
    if not wanted:
        yield from range(len(lines) + 1)
        return
    at = -1
    with contextlib.suppress(ValueError):  # of a list in which there is no further one
        while True:
            at = lines.index(wanted[0], at + 1)
            if lines[at : at + len(wanted)] == wanted:
                yield at


def _split_lines(text: str) -> list[str]:
    """Return the lines as compilers see them, with their ends."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


class _File(Value, frozen=True, dict=True):
    """A file before and after, as lines with their ends."""

    path: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @cached_property
    def edits(self) -> tuple[tuple[int, int, int, int], ...]:
        """The lines from and to which it differs, before and after."""
        return tuple(_find_edits(self.before, self.after))

    @property
    def edited(self) -> tuple[object, ...]:
        """What is taken away and put in its place, wherever that is."""
        return tuple((self.before[i:j], self.after[k:n]) for i, j, k, n in self.edits)


def _find_edits(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the lines from and to which texts differ, before and after.

    Between lines that stand once in each text, in the same order, it is difflib that compares: its
    time grows with the square of what it is given.
    """
    first = second = 0
    for i, k in [*_find_anchors(before, after), (len(before), len(after))]:
        high, end = i, k
        while high > first and end > second and before[high - 1] == after[end - 1]:
            high, end = high - 1, end - 1
        if high > first or end > second:
            matcher = SequenceMatcher(None, before[first:high], after[second:end], autojunk=False)
            for tag, *(a, b, c, d) in matcher.get_opcodes():
                if tag != "equal":
                    yield first + a, first + b, second + c, second + d
        first, second = i, k


def _find_anchors(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield places before and after of lines that stand once in each, as they follow in both."""
    counts = Counter(before), Counter(after)
    there = {line: k for k, line in enumerate(after) if counts[1][line] == 1}
    last = -1
    for i, line in enumerate(before):
        k = there.get(line, -1)
        if k > last and counts[0][line] == 1:
            yield i, k
            last = k


def _render_combined(files: Sequence[_File]) -> str:
    """Return the patch of files that are edited alike."""
    first = files[0]
    said = [f"{_OLD}{first.path}\n", *(f"{_NEW}{file.path}\n" for file in files)]
    shift = 0
    for low, high, lines in _find_parts(files):
        removed, added = high - low, sum(line[0] != "-" for line in lines)
        said.append(f"@@ -{low + 1},{removed} +{low + 1 + shift},{added} @@\n")
        if any(line.startswith((_OLD, _NEW)) for line in lines):
            raise KernelPatchError(
                f"{first.path}: a line reads like the head of a patch: change it"
            )
        said += (line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines)
        shift += added - removed
    patch = "".join(said)
    parts = parse_patch(patch)
    for file in files:
        # A part may have made lines that a later one looks for; other files may differ around them.
        try:
            made = apply_changes(file.path, "".join(file.before), parts[file.path])
        except KernelPatchError:
            made = ""
        if made != "".join(file.after):
            raise KernelPatchError(_REPEATED.format(file.path, _MOST_CONTEXT))
    return patch


def _find_parts(files: Sequence[_File]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the parts: their first and last line in the first file, and the lines of the diff."""
    edits = files[0].edits
    before, after = files[0].before, files[0].after
    spans: list[tuple[int, int]] = []
    for each in zip(*(file.edits for file in files), strict=True):
        places = [(file.before, i, j) for file, (i, j, _, _) in zip(files, each, strict=True)]
        above, below = _count_context(places)
        low, high = each[0][0] - above, each[0][1] + below
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


def _count_context(places: Sequence[tuple[tuple[str, ...], int, int]]) -> tuple[int, int]:
    """Return the fewest lines above and below by which a change is told from others."""
    lines, low, high = places[0]
    most_above = min(_count_equal_lines(lines, low, each, i, -1) for each, i, _ in places)
    most_below = min(_count_equal_lines(lines, high, each, j, 1) for each, _, j in places)
    one = min(1, most_above)
    others = [
        (
            _count_equal_lines(each, i, each, first, -1),
            _count_equal_lines(each, j, each, first + j - i, 1),
        )
        for each, i, j in places
        for at in _find_occurrences(each, each[i - one : j])
        if (first := at + one) != i
    ]
    found = []
    for above in range(one, most_above + 1):
        told = [alike_below + 1 for alike_above, alike_below in others if alike_above >= above]
        below = max([min(1, most_below), *told])
        if below <= most_below:
            found.append((above + below, abs(above - below), above, below))
    if not found:
        raise KernelPatchError(_REPEATED.format(f"line {low + 1}", _MOST_CONTEXT))
    return min(found)[2:]


def _count_equal_lines(
    one: Sequence[str], at: int, other: Sequence[str], there: int, step: int
) -> int:
    """Return how many lines are the same, from two places on downward or, by -1, upward."""
    far = step * _MOST_CONTEXT
    if step > 0:
        pairs = zip(one[at : at + far], other[there : there + far], strict=False)
    else:
        above = one[max(at + far, 0) : at], other[max(there + far, 0) : there]
        pairs = zip(*(reversed(lines) for lines in above), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
