"""Declarations of a name in a source, and the tokens that see each of them.

This is what a translation needs of C++'s scopes: blocks, parameters, loops, templates, classes,
enumerations, namespaces and macros. Source: ISO C++17, [basic.scope].
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

STATEMENT: Final = frozenset(
    {"return", "else", "do", "case", "throw", "co_return", "co_yield", "goto"}
)
"""Words that stand before a name that is used; any other name there is its type."""

_OPERATORS: Final = frozenset({"sizeof", "new", "delete", "not", "and", "or", "xor", "operator"})
_CLASS: Final = frozenset({"struct", "class", "union"})
_LONGEST_LAUNCH: Final = 50
"""How many tokens before a name may belong to the same launch; a bound keeps long lists linear."""
_STOPS: Final = frozenset({";", "{", "}"})
_TYPES: Final = frozenset(
    {"auto", "bool", "char", "short", "int", "long", "unsigned", "signed", "float", "double"}
    | {"size_t", "const", "uint32_t", "int32_t", "uint64_t", "int64_t"}
)


def resolve_name(source: KernelSource, name: str) -> dict[int, list[int]]:
    """Return the tokens of a name that mean a declaration of the source, and of which.

    A declaration is that of a variable, parameter, member, enumerator or macro. Branches of the
    preprocessor may declare a name more than once in the innermost scope.
    """
    uses = source.names.get(name, [])
    found: dict[int, tuple[int, list[int]]] = {}  # where the scope ends, and what is declared in it
    for index, scope in _find_scopes(source, name):
        for use in uses[bisect_left(uses, scope.start) : bisect_left(uses, scope.stop)]:
            end, declared = found.get(use, (scope.stop, []))
            if scope.stop < end:
                declared = []
            if scope.stop <= end:
                found[use] = (scope.stop, [*declared, index])
    return {use: declared for use, (_, declared) in found.items()}


def _find_scopes(source: KernelSource, name: str) -> Iterator[tuple[int, range]]:
    """Yield each declaration of a name with each range of tokens that sees it."""
    for index in source.names.get(name, ()):
        before = source.tokens[index - 1] if index else None
        if before is None:
            continue
        if before.text == "#define":
            yield index, range(index, len(source.tokens))
        elif source.is_token(index - 2, "#define"):
            continue  # the value of a macro
        elif _is_declared(source, index):
            for scope in _find_scope(source, index):
                yield index, scope


def _is_declared(source: KernelSource, index: int) -> bool:
    before = source.tokens[index - 1]
    if before.kind == "name":
        return before.text not in STATEMENT and before.text not in _OPERATORS
    around = source.enclosing[index]
    bracket = source.texts[around] if around >= 0 else "{"
    following = source.texts[index + 1] if index + 1 < len(source.texts) else ""
    if before.text in ("*", "&", "&&"):
        return index > 1 and source.texts[index - 2] in _TYPES
    if before.text == ",":  # one declarator of many, an enumerator, or what a lambda captures
        is_one = bracket == "{" and following in ("=", ";", ",", "[", "}", "{")
        return (is_one and not _is_in_launch(source, index)) or (
            bracket == "[" and following == "="
        )
    if before.text == "{":
        return "enum" in _read_head(source, around)
    return before.text == "[" and following == "="


def _is_in_launch(source: KernelSource, index: int) -> bool:
    """Whether a token of a list stands between the brackets of a launch."""
    for _ in range(_LONGEST_LAUNCH):
        index -= 1
        if index < 0 or source.texts[index] in _STOPS:
            break
        if source.texts[index] == "<<<":
            return True
        if source.texts[index] in (")", "]"):
            index = source.closing(index) or index
    return False


def _find_scope(source: KernelSource, index: int) -> Iterator[range]:
    around = source.enclosing[index]
    template = _find_template(source, index)
    if template is not None:
        yield range(index, _find_body(source, template))
    elif around >= 0 and source.texts[around] in "([":
        close = source.closing(around) or len(source.tokens) - 1
        yield range(index, _find_body(source, close + 1, default=close))
    else:
        yield from _find_block_scope(source, index, around)


def _find_block_scope(source: KernelSource, index: int, around: int) -> Iterator[range]:
    if around < 0:
        yield range(index, len(source.tokens))
        return
    end = source.closing(around) or len(source.tokens)
    head = _read_head(source, around)
    if "namespace" in head and head[-1] != "namespace":
        yield range(index, end)
        yield from _find_other_parts(source, head[-1], end)
    elif head[-1:] == ["namespace"] or head[-2:] == ["extern", '"C"']:
        yield from _find_block_scope(source, index, source.enclosing[around])
    elif "enum" in head:
        yield range(around, end)
        if _CLASS.isdisjoint(head):
            yield from _find_block_scope(source, index, source.enclosing[around])
    elif name := _read_class_name(head):
        yield range(around, end)
        yield from _find_members(source, name, range(around, end))
    else:
        yield range(index, end)


def _find_other_parts(source: KernelSource, namespace: str, end: int) -> Iterator[range]:
    """Yield the blocks that open a namespace again, and all after it where it is used."""
    for index in source.names.get(namespace, ()):
        if index < end:
            continue
        if source.is_token(index + 1, "{"):
            yield range(index, source.closing(index + 1) or len(source.tokens))
        elif source.is_token(index - 1, "namespace") and source.is_token(index - 2, "using"):
            yield range(index, len(source.tokens))


def _find_members(source: KernelSource, name: str, own: range) -> Iterator[range]:
    """Yield the bodies of a class's functions outside of it, and of the classes made from it."""
    for index in source.names[name]:
        if index in own:
            continue
        following = index + 1
        if source.is_token(following, "<"):
            while following < len(source.tokens) and source.texts[following] not in (*_STOPS, "::"):
                following += 1
        is_member = source.is_token(following, "::")
        if is_member or ":" in _read_head(source, index):
            yield range(index, _find_body(source, index))


def read_function_head(source: KernelSource, index: int, known: dict[int, list[str]]) -> list[str]:
    """Return the head of the outermost function around a token; nothing outside of functions.

    ``known``: the heads that were read before, by the bracket; this adds to it.
    """
    path: list[int] = []
    while (index := source.enclosing[index]) >= 0 and index not in known:
        path.append(index)
    found = known[index] if index >= 0 else []
    for bracket in reversed(path):
        if not found and source.texts[bracket] == "{":
            head = _read_head(source, bracket)
            if "()" in head and "namespace" not in head and _read_class_name(head) is None:
                found = head
        known[bracket] = found
    return found


def _read_head(source: KernelSource, index: int) -> list[str]:
    """Return the tokens before one, back to the statement or block before it, without brackets."""
    head: list[str] = []
    while (index := index - 1) >= 0:
        kind, text, _, _ = source.tokens[index]
        if text in _STOPS or kind == "directive" or text in ("(", "["):
            break
        if text in (")", "]"):
            begin = source.closing(index)
            if begin is None:
                break
            index, text = begin, "()"
        head.append(text)
    return head[::-1]


def _read_class_name(head: list[str]) -> str | None:
    """Return the name of the class that a block defines; empty without one, None of others."""
    places = [i for i, text in enumerate(head) if text in _CLASS]
    if not places or head[-1] in ("()", "const", "noexcept"):
        return None
    rest = head[places[-1] + 1 :]
    if ":" in rest:
        rest = rest[: rest.index(":")]
    names = [text for i, text in enumerate(rest) if text != "()" and rest[i + 1 : i + 2] != ["()"]]
    if "<" in names:  # of a specialization
        names = names[: names.index("<")]
    return next((name for name in reversed(names) if name != "final"), "")


def _find_template(source: KernelSource, index: int) -> int | None:
    """Return the index after the parameters of the template that a parameter belongs to."""
    begin = index
    while (begin := begin - 1) >= 0 and source.texts[begin] not in (*_STOPS, "(", ")"):
        if source.texts[begin] == "template":
            break
    else:
        return None
    if begin < 0:
        return None
    depth = 0
    for at in range(begin + 1, len(source.texts)):
        text = source.texts[at]
        depth += (text == "<") - (text == ">")
        if depth == 0:
            return at + 1 if at > index else None
    return None


def _find_body(source: KernelSource, index: int, default: int | None = None) -> int:
    """Return the end of the body that follows a head; that of the statement without a body."""
    for_loop = default is not None and _is_loop(source, default)
    at = index
    while at < len(source.tokens):
        text = source.texts[at]
        if text == "{":
            close = source.closing(at) or len(source.tokens)
            if not (source.is_token(close + 1, "{") or source.is_token(close + 1, ",")):
                return close
            at = close  # a member that a constructor sets
        elif text in ("(", "["):
            at = source.closing(at) or len(source.tokens)
        elif text in (";", "}", ")", "]") or (text in (",", "=") and not for_loop):
            return at if default is None or for_loop else default
        at += 1
    return at


def _is_loop(source: KernelSource, close: int) -> bool:
    begin = source.closing(close)
    return begin is not None and begin > 0 and source.texts[begin - 1] in ("for", "while", "if")
