"""Merge two commits in memory, and explain each conflict by the rule that wrote the other side."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from portkit.syntax.value import Value
from portkit.verify.blame import Authors
from portkit.workspace.finding import identify_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.engine.scan import Scan
    from portkit.update.repository import GitRepository
    from portkit.workspace.finding import Finding


_RULE: Final = (
    "you changed what portkit writes here, and it now writes another text: take the port's side and"
    " make your change again in it, or keep yours"
)
_MANIFEST: Final = (
    "you changed a manifest where portkit writes, and it now writes another text: take the port's"
    " side, and put back in it what you added or changed; the port's code does not build without"
    " its lines"
)
_UPSTREAM: Final = (
    "upstream changed what you changed, and no rule has a part in it: bring both together, as in"
    " any merge"
)
_GONE: Final = (
    "you changed what upstream, or the port of it, no longer has: let it go, or find where your"
    " change belongs now"
)
_DELETED: Final = (
    "you changed a file that is gone from upstream, or from the port of it: delete it, or find"
    " where your change belongs now"
)
_KEPT_OUT: Final = (
    "you deleted a file that has changed in upstream, or in the port of it: delete it again, or"
    " take it"
)


class ConflictSite(Value, frozen=True):
    """The text of a rule at a conflict.

    Attributes:
        id: the identity of the place, as reports have it: the code and eight digits.
        position: where upstream's file has it: ``path:line``.
        construct: the construct in words, and the item that holds it.
    """

    id: str
    position: str
    construct: str
    message: str


class ConflictSide(Value, frozen=True):
    """One side of a conflict.

    Attributes:
        line: the number of the first line in that side's file, or of what follows where the side
            has none; from 1.
        text: its lines, without their ends; none where it has taken all of them away.
    """

    line: int
    text: tuple[str, ...]


class Conflict(Value, frozen=True):
    """A conflict.

    Attributes:
        position: where the user's file has it, ``path:line``, or the path where it is a whole file.
        places: what rules wrote there; none where it is upstream's own.
        sides: the user's and the port's; none where it is a whole file.
    """

    position: str
    places: tuple[ConflictSite, ...]
    advice: str
    sides: tuple[ConflictSide, ConflictSide] | None = None


class _Hunk(Value, frozen=True):
    """The changed lines of a hunk, numbered from 1.

    Attributes:
        our_line: the first that the user has changed, or that stands where some were taken away.
        their_lines: those that the port has changed; none where it only takes away.
        sides: what the user and the port have.
    """

    our_line: int
    their_lines: Sequence[int]
    sides: tuple[ConflictSide, ConflictSide]


def explain_conflicts(git: GitRepository, merge: Merge, scan: Scan) -> tuple[Conflict, ...]:
    """Return the conflicts of a merge of a generated port, sorted by path."""
    found = dict(identify_findings(scan.findings))

    def read(path: str) -> bytes:
        return git.blob(merge.theirs, git.below + path) or b""

    authors = Authors(read, lambda: scan)
    return tuple(
        conflict
        for path in sorted(merge.stages.keys() | merge.said.keys())
        for conflict in _explain_file(git, merge, path, authors, found)
    )


def _explain_file(
    git: GitRepository, merge: Merge, path: str, authors: Authors, found: dict[str, Finding]
) -> Iterator[Conflict]:
    stages = set(merge.stages.get(path, ()))
    below = path.removeprefix(git.below)
    if {2, 3} <= stages:
        ours, theirs = (git.blob(commit, path) or b"" for commit in (merge.ours, merge.theirs))
        hunks = list(_find_hunks(git.blob(merge.tree, path) or b"", merge, ours, theirs))
        for hunk in hunks:
            written = [authors.of(below, line) for line in hunk.their_lines]
            origins = {author.site: author.origin for author in written if author}
            places = tuple(
                _describe_site(site, origin, found[site])
                for site, origin in origins.items()
                if site in found
            )
            ruled = _MANIFEST if path.endswith(".toml") else _RULE
            advice = ruled if places else _UPSTREAM if hunk.their_lines else _GONE
            yield Conflict(f"{path}:{hunk.our_line}", places, advice, hunk.sides)
        if hunks:
            return
    if stages == {1, 2}:
        yield Conflict(path, (), _DELETED)
    elif stages == {1, 3}:
        yield Conflict(path, (), _KEPT_OUT)
    else:
        yield Conflict(path, (), _render_git_message(merge, path))


def _render_git_message(merge: Merge, path: str) -> str:
    """Return git's message about a conflict that is not one of lines, in the user's words."""
    said = merge.said.get(path, "both sides changed it: bring both together, as in any merge")
    return said.replace(merge.ours, "your branch").replace(merge.theirs, "the port")


def _describe_site(site: str, origin: str, finding: Finding) -> ConflictSite:
    construct = f"{finding.construct} ({finding.symbol})" if finding.symbol else finding.construct
    return ConflictSite(site, origin.partition(" ")[0], construct, finding.message)


def _find_hunks(merged: bytes, merge: Merge, ours: bytes, theirs: bytes) -> Iterator[_Hunk]:
    """Yield the hunks of a merged file that are in conflict.

    The markers bear the hashes of the two commits, which no line of a file does by chance.
    """
    marks = {f"{'<' * 7} {merge.ours}".encode(): "ours", f"{'>' * 7} {merge.theirs}".encode(): ""}
    side = ""
    views: dict[str, list[bytes]] = {"ours": [], "base": [], "theirs": []}
    spans: list[dict[str, range]] = []
    starts: dict[str, int] = {}
    for line in merged.splitlines():
        bare = line.rstrip()
        if bare in marks:
            if not marks[bare] and side:
                spans.append({n: range(starts[n], len(view)) for n, view in views.items()})
            side = marks[bare]
            starts = {name: len(view) for name, view in views.items()}
        elif side == "ours" and bare.startswith(b"|" * 7 + b" "):
            side = "base"
        elif side in ("ours", "base") and bare == b"=" * 7:
            side = "theirs"
        else:
            for name in [side] if side else views:
                views[name].append(line)
    places = {n: _number_lines(views[n], data) for n, data in (("ours", ours), ("theirs", theirs))}
    for span in spans:
        base, mine, port = (
            views[name][span[name].start : span[name].stop] for name in ("base", "ours", "theirs")
        )
        first = min(_find_changed_lines(base, mine), default=0)
        same = _count_shared_lines(mine, port)
        yield _Hunk(
            places["ours"][span["ours"].start + first],
            [places["theirs"][span["theirs"].start + at] for at in _find_changed_lines(base, port)],
            (
                _build_side(mine, same, places["ours"], span["ours"].start),
                _build_side(port, same, places["theirs"], span["theirs"].start),
            ),
        )


def _count_shared_lines(mine: Sequence[bytes], port: Sequence[bytes]) -> tuple[int, int]:
    """Return how many lines both sides of a hunk begin with, and how many they end with.

    The style with the base between the sides leaves such lines in the hunk.
    """
    most = min(len(mine), len(port))
    first = next((n for n in range(most) if mine[n] != port[n]), most)
    rest = most - first
    last = next((n for n in range(rest) if mine[-1 - n] != port[-1 - n]), rest)
    return first, last


def _build_side(
    lines: Sequence[bytes], shared: tuple[int, int], numbers: Sequence[int], start: int
) -> ConflictSide:
    first, last = shared
    text = (line.decode(errors="backslashreplace") for line in lines[first : len(lines) - last])
    return ConflictSide(numbers[start + first], tuple(text))


def _find_changed_lines(base: Sequence[bytes], side: Sequence[bytes]) -> list[int]:
    matcher = SequenceMatcher(None, base, side, autojunk=False)
    return [at for tag, _, _, c, d in matcher.get_opcodes() if tag != "equal" for at in range(c, d)]


def _number_lines(view: Sequence[bytes], data: bytes) -> list[int]:
    """Return the numbers, from 1, that the lines of a view have in a file.

    A view is one side of a merged file: it lacks what the other side took away, and has what the
    other side brought, whose lines are given the number of what follows.

    Returns:
        One more than there are lines: that of what follows the last.
    """
    lines = data.splitlines()
    numbers = [0] * len(view) + [len(lines) + 1]
    for match in SequenceMatcher(None, view, lines, autojunk=False).get_matching_blocks():
        for offset in range(match.size):
            numbers[match.a + offset] = match.b + offset + 1
    for at in range(len(view) - 1, -1, -1):
        numbers[at] = numbers[at] or numbers[at + 1]
    return numbers


class Merge(Value, frozen=True):
    """The result of a merge.

    Attributes:
        tree: the hash of the merged files; where there are conflicts, with their markers.
        stages: of each path in conflict the blobs, by stage: 1 the base, 2 ours, 3 theirs.
        said: what git says of each path in conflict.
    """

    ours: str
    theirs: str
    tree: str
    stages: Mapping[str, Mapping[int, str]]
    said: Mapping[str, str]


def merge_commits(git: GitRepository, ours: str, theirs: str) -> Merge:
    """Merge two commits."""
    # The base is shown between the sides, so that each hunk tells what it was before.
    arguments = ("merge-tree", "--write-tree", "-z", "--messages", ours, theirs)
    printed = git.run("-c", "merge.conflictStyle=diff3", *arguments, accept=(0, 1))
    tree, *rest = printed.decode(errors="surrogateescape").split("\0")
    end = rest.index("")
    stages: dict[str, dict[int, str]] = {}
    for entry in rest[:end]:
        word, path = entry.split("\t", 1)
        _, blob, stage = word.split()
        stages.setdefault(path, {})[int(stage)] = blob
    return Merge(ours, theirs, tree, stages, dict(_parse_messages(rest[end + 1 :])))


def _parse_messages(fields: list[str]) -> Mapping[str, str]:
    """Return the message about each conflicting path."""
    found: dict[str, str] = {}
    at = 0
    while at < len(fields) and fields[at].isdecimal():
        count = int(fields[at])
        paths = fields[at + 1 : at + 1 + count]
        kind, sentence = fields[at + 1 + count : at + 3 + count]
        if kind.startswith("CONFLICT"):
            for path in paths:
                found.setdefault(path, " ".join(sentence.split()))
        at += 3 + count
    return found
