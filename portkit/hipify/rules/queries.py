"""Questions about the tokens of a source that several rules ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.preprocessor_conditions import find_amd_only, is_within
from portkit.hipify.rules.rule import Hit
from portkit.hipify.scopes import STATEMENT
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.hipify.kernel_source import KernelSource

MEMBER: Final = frozenset({".", "->", "::"})
"""Tokens before the name of a member, or of an item in somebody's own namespace."""


def rename(source: KernelSource, index: int, new: str, construct: str = "") -> Hit:
    """Return a hit that replaces the token at ``index`` by ``new``."""
    token = source.tokens[index]
    edits = (Edit(token.start, token.end, new),)
    return Hit(index, index, f"{token.text} becomes {new}", edits, construct)


def find_cuda_uses(source: KernelSource, name: str) -> list[int]:
    """Return the uses of a name that is no member, except those that only AMD's compiler reads."""
    uses = drop_amd_uses(source, source.uses(name))
    return [i for i in uses if not (i and source.texts[i - 1] in MEMBER)]


def drop_amd_uses(source: KernelSource, uses: Sequence[int]) -> list[int]:
    """Leave out the tokens that only AMD's compiler reads."""
    hip = find_amd_only(source) if uses else []
    return [index for index in uses if not is_within(hip, source.tokens[index].start)]


def is_declared_in_source(source: KernelSource, name: str) -> bool:
    """Whether the source declares the name: a macro, a type, or a function."""
    for index in source.uses(name):
        if index == 0:
            continue
        before = source.tokens[index - 1]
        if before.text in ("#define", "struct", "class", "enum"):
            return True
        is_typed = before.text in ("*", "&", ">") or before.kind == "name"
        if is_typed and before.text not in STATEMENT and source.is_token(index + 1, "("):
            close = source.closing(index + 1)
            if close is not None and (
                source.is_token(close + 1, "{")
                or (source.is_token(close + 1, ";") and before.kind == "name")
            ):
                return True
    return False


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
