"""What most rules need: findings for tokens, and whose a name is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.preprocessor_conditions import find_amd_only, is_within
from portkit.hipify.scopes import STATEMENT
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.hipify.kernel_source import KernelSource

MEMBER: Final = frozenset({".", "->", "::"})
"""What stands before the name of a member, or of what is in a namespace: somebody's own."""


def report_rewrite(
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


def report_rename(source: KernelSource, code: str, index: int, new: str, construct: str) -> Finding:
    """Return a finding that replaces the token at ``index`` by ``new``."""
    token = source.tokens[index]
    edit = Edit(token.start, token.end, new)
    message = f"{token.text} becomes {new}"
    return report_rewrite(source, code, index, index, (edit,), construct=construct, message=message)


def report_manual(
    source: KernelSource, code: str, first: int, last: int, *, construct: str, message: str
) -> Finding:
    """Return a finding that nothing is written for, with what to do."""
    return _report_without_edit(source, code, first, last, construct, message, Applicability.MANUAL)


def report_unchanged(
    source: KernelSource, code: str, first: int, last: int, *, construct: str, message: str
) -> Finding:
    """Return a finding about what HIP has as it stands, with the reason."""
    return _report_without_edit(source, code, first, last, construct, message, Applicability.KEEP)


def _report_without_edit(
    source: KernelSource,
    code: str,
    first: int,
    last: int,
    construct: str,
    message: str,
    applicability: Applicability,
) -> Finding:
    tokens = source.tokens
    span = Span(tokens[first].start, tokens[last].end)
    return Finding(
        code=code,
        path=source.path,
        span=span,
        construct=construct,
        symbol=tokens[first].text,
        applicability=applicability,
        status=Status.NONE,
        message=message,
        claims=(span,),
    )


def find_cuda_uses(source: KernelSource, name: str) -> list[int]:
    """Return where a name is used that is no member, but for what AMD's compiler alone reads."""
    return [
        index
        for index in drop_amd_uses(source, source.names.get(name, ()))
        if not (index and source.tokens[index - 1].text in MEMBER)
    ]


def drop_amd_uses(source: KernelSource, uses: Sequence[int]) -> list[int]:
    """Leave out the tokens that AMD's compiler alone reads."""
    hip = find_amd_only(source) if uses else []
    return [index for index in uses if not is_within(hip, source.tokens[index].start)]


def is_declared_in_source(source: KernelSource, name: str, uses: Sequence[int]) -> bool:
    """Whether the source declares the name: a macro, a type, or a function."""
    for index in uses:
        before = source.tokens[index - 1] if index > 0 else None
        if before is None:
            continue
        if before.text in ("#define", "struct", "class", "enum"):
            return True
        is_typed = before.text in ("*", "&", ">") or before.kind == "name"
        if is_typed and before.text not in STATEMENT and source.is_token(index + 1, "("):
            close = source.closing(index + 1)
            if close is not None and _is_declaration_end(source, index, close):
                return True
    return False


def _is_declaration_end(source: KernelSource, index: int, close: int) -> bool:
    """Whether what follows a function's parameters is its body, or nothing after a type's name."""
    if source.is_token(close + 1, "{"):
        return True
    return source.is_token(close + 1, ";") and source.tokens[index - 1].kind == "name"


def join_template_arguments(source: KernelSource, arguments: Sequence[range]) -> list[range]:
    """Return a call's arguments, in which ``kernel<8, true>`` is one."""
    joined: list[range] = []
    depth = 0
    for argument in arguments:
        if depth > 0:
            joined[-1] = range(joined[-1].start, argument.stop)
        else:
            joined.append(argument)
            depth = 0
        index = argument.start
        while index < argument.stop:
            text = source.texts[index]
            if text == "<":
                depth += 1
            elif text in (">", ">>"):
                depth -= len(text)
            index = (source.closing(index) or index) + 1
    return joined if depth <= 0 else list(arguments)
