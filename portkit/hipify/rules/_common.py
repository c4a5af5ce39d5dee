"""What most rules need: findings for tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.span import Span
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from portkit.hipify.kernel_source import KernelSource


def rewritten(
    source: KernelSource,
    code: str,
    first: int,
    last: int,
    edits: tuple[Edit, ...],
    *,
    construct: str,
    message: str,
) -> Finding:
    """Return a finding that rewrites the tokens from ``first`` to ``last``.

    Args:
        source: the file.
        code: the rule's code.
        first: index of the first token of the construct.
        last: index of its last token.
        edits: what to change.
        construct: the kind of construct in words.
        message: one sentence.

    Returns:
        The finding, mechanical and to be done.
    """
    tokens = source.tokens
    span = Span(tokens[first].start, tokens[last].end)
    return Finding(
        code=code,
        path=source.path,
        span=span,
        construct=construct,
        symbol=tokens[first].text,
        applicability=Applicability.SAFE,
        status=Status.TODO,
        message=message,
        edits=edits,
        claims=(span,),
    )


def renamed(source: KernelSource, code: str, index: int, new: str, construct: str) -> Finding:
    """Return a finding that replaces the token at ``index`` by ``new``."""
    token = source.tokens[index]
    edit = Edit(token.start, token.end, new)
    message = f"{token.text} becomes {new}"
    return rewritten(source, code, index, index, (edit,), construct=construct, message=message)


def refused(
    source: KernelSource, code: str, first: int, last: int, *, construct: str, message: str
) -> Finding:
    """Return a finding that nothing is written for, with what to do."""
    tokens = source.tokens
    span = Span(tokens[first].start, tokens[last].end)
    return Finding(
        code=code,
        path=source.path,
        span=span,
        construct=construct,
        symbol=tokens[first].text,
        applicability=Applicability.MANUAL,
        status=Status.NONE,
        message=message,
        claims=(span,),
    )
