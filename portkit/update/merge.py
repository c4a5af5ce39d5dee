"""A merge in memory: nothing of the work tree or the index is touched.

The form of what git prints is that of git-merge-tree(1), "OUTPUT", with ``-z``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.update.repository import GitRepository


class Merge(Value, frozen=True):
    """What came of a merge.

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
    """Return what is said of each path in conflict: counts of paths, paths, a type, a sentence."""
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
