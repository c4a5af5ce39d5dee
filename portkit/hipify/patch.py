"""Patches: what a profile changes in a codebase's own sources before the rules see them.

A patch matches tokens, so that blanks, line breaks and comments do not matter. In its pattern
``$name`` stands for the tokens up to the next token of the pattern, brackets balanced; in its
replacement for their text, and ``$all`` for the text of the whole place.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.hipify.kernel_source import KernelSource
from portkit.syntax.span import Span
from portkit.syntax.token_patterns import fill_template, find_matches
from portkit.syntax.value import Value
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Patch(Value, frozen=True, dict=True):
    """One change to a codebase's sources."""

    code: str  # stable, ``PH3nn``; patches of one purpose share it
    files: tuple[str, ...]  # globs over paths of the codebase
    match: str  # the pattern
    replace: str  # the replacement
    reason: str  # why, one sentence
    # how often the pattern stands in each matching file, in one version or another
    hits: tuple[int, ...]
    # whether it mends a defect of the CUDA source, which is then a finding for its authors
    upstream_bug: bool = False
    with_comments: bool = False  # whether the comments right before the place go with it
    beside: str = ""  # a name that a file holds where it has what the patch changes; empty for all
    page: str = ""  # the page about that defect, without its ending
    # what stands in the CUDA source once it is repaired (`portkit.repairs`); empty where that is
    # what the port has
    repair: str = ""

    @property
    def expected(self) -> str:
        """The numbers of hits in words."""
        return " or ".join(map(str, self.hits))

    @cached_property
    def pattern(self) -> KernelSource:
        """The pattern, as a source of its own."""
        return KernelSource("", self.match)

    def concerns(self, path: str) -> bool:
        """Whether the patch is meant for the file."""
        return any(fnmatchcase(path, glob) for glob in self.files)

    def is_likely_in(self, source: KernelSource) -> bool:
        """Whether the file has what the patch changes, as far as its name and names in it tell."""
        return self.concerns(source.path) and (not self.beside or self.beside in source.names)

    def build_repair(self) -> Patch:
        """Return the patch as it repairs the CUDA source, which has nothing of the port's."""
        return replace(self, replace=self.repair or self.replace)

    def find(self, source: KernelSource) -> Iterator[Finding]:
        """Return a finding for each place that matches."""
        for match in find_matches(self.pattern.texts, source.texts, self._beginnings(source)):
            position, end = match.first, match.end
            captured = {name: _read_tokens(source, *ends) for name, ends in match.captured.items()}
            start = source.tokens[position].start
            captured["$all"] = _read_tokens(source, position, end)
            if self.with_comments:
                start = _skip_comments_back(source, position)
            span = Span(start, source.tokens[end - 1].end)
            yield Finding(
                code=self.code,
                path=source.path,
                span=span,
                construct="upstream defect" if self.upstream_bug else "particular source",
                symbol=source.tokens[position].text,
                applicability=Applicability.REVIEW if self.upstream_bug else Applicability.SAFE,
                status=Status.TODO,
                message=self.reason,
                edits=(*_find_edits(source.text, span, fill_template(self.replace, captured)),),
                claims=(span,),
            )

    def _beginnings(self, source: KernelSource) -> Iterable[int]:
        """Return the indices of the tokens that the pattern's first token equals."""
        first = self.pattern.tokens[0]
        if first.kind == "name":
            return source.names.get(first.text, ())
        return (i for i, text in enumerate(source.texts) if text == first.text)


def _find_edits(text: str, span: Span, new: str) -> Iterator[Edit]:
    """Yield what makes a place the tokens of a new text.

    Between tokens that stay the text stays as it is, with its line breaks and comments: what is
    changed can be read from a diff.
    """
    old = text[span.start : span.end]
    one, other = KernelSource("", old), KernelSource("", new)
    before, after = one.tokens, other.tokens
    same = SequenceMatcher(None, one.texts, other.texts, autojunk=False)
    for tag, low, high, first, last in same.get_opcodes():
        if tag == "equal":
            continue
        start = before[low - 1].end if low else 0
        end = before[high].start if high < len(before) else len(old)
        begin = after[first - 1].end if first else 0
        stop = after[last].start if last < len(after) else len(new)
        yield Edit(span.start + start, span.start + end, new[begin:stop])


def _read_tokens(source: KernelSource, first: int, end: int) -> str:
    """Return the text of the tokens ``[first, end)``."""
    tokens = source.tokens
    return source.text[tokens[first].start : tokens[end - 1].end] if end > first else ""


def _skip_comments_back(source: KernelSource, index: int) -> int:
    """Return where the comments between the token at ``index`` and the one before it start."""
    previous = source.tokens[index - 1].end if index else 0
    token = source.tokens[index].start
    starts = [start for start, _ in source.comments if previous <= start < token]
    return min(starts, default=token)
