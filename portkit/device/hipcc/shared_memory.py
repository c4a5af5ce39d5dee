"""Variables in shared memory: references to a place that the runtime gives the block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.device.hipcc.source import SHARED, SourceError, split_tokens, strip_extents
from portkit.syntax.cxx_tokens import join_tokens

if TYPE_CHECKING:
    from portkit.device.hipcc.source import Source

_STORAGE: Final = frozenset({"extern", "static"})
_ALIGNMENT: Final = frozenset({"__attribute__", "alignas", "_Alignas"})


def rewrite_shared(source: Source) -> None:
    """Rewrite every ``__shared__`` declaration of a source."""
    for index, token in enumerate(source.tokens):
        if token == SHARED:
            _rewrite(source, index)


def _rewrite(source: Source, keyword: int) -> None:
    first = keyword
    while source.at(first - 1) in (*_STORAGE, "volatile", "const"):
        first -= 1
    last = keyword
    while source.at(last) != ";":
        if source.at(last) in ("(", "[", "{"):
            last = source.closing(last)
        last += 1
        if last >= len(source.tokens):
            raise SourceError(f"{source.place(keyword)}: a __shared__ declaration has no end")
    kept = _drop_attributes([t for t in source.tokens[first:last] if t not in (*_STORAGE, SHARED)])
    parts = split_tokens(kept)
    kind, stars, name, extents = _read_declarator(parts[0]) if parts else ([], "", "", "")
    if not kind or not name.isidentifier():
        raise SourceError(f"{source.place(keyword)}: a __shared__ declaration cannot be read")
    spelled = join_tokens(kind)
    if "extern" in source.tokens[first:keyword]:
        _rewrite_dynamic(source, first, last, spelled, name)
        return
    if not _is_in_function(source, first):
        raise SourceError(
            f"{source.place(keyword)}: a __shared__ variable outside of a function: move {name}"
            " into the kernel"
        )
    result = []
    for part in parts:
        if part is not parts[0]:
            _, stars, name, extents = _read_declarator([*kind, *part])
        result.append(
            f'static ::hipcpu::Shared {name}_hipcpu_slot{{{{0, "{name}"}}}};'
            f" {spelled} {stars}(&{name}){extents} = {name}_hipcpu_slot;"
        )
    source.replace(first, last, " ".join(result))


def _rewrite_dynamic(source: Source, first: int, last: int, kind: str, name: str) -> None:
    """Rewrite a declaration of the memory whose size the launch says."""
    if _is_in_function(source, first):
        place = f"*reinterpret_cast<{kind} (*)[]>(hipcpu_thread.dynamic_shared)"
        source.replace(first, last, f"{kind} (&{name})[] = {place};")
        return
    # A reference of a namespace would be bound once for all blocks: each use finds the memory.
    source.replace(first, last, "")
    for index in range(last + 1, len(source.tokens)):
        if source.tokens[index] == name and source.at(index - 1) not in (".", "->", "::"):
            source.replace(index, index, f"(::hipcpu::dynamic_shared<{kind}>())")


def _read_declarator(tokens: list[str]) -> tuple[list[str], str, str, str]:
    """Return the type, the stars, the name and the extents of ``T *name[n]``."""
    end = len(strip_extents(tokens))
    extents = join_tokens(tokens[end:])
    name = tokens[end - 1] if end > 0 else ""
    begin = end - 1
    while begin > 0 and tokens[begin - 1] in ("*", "&", "const") and begin > 1:
        if tokens[begin - 1] == "const" and "*" not in tokens[: begin - 1]:
            break
        begin -= 1
    return tokens[:begin], join_tokens(tokens[begin : end - 1]), name, extents


def _drop_attributes(tokens: list[str]) -> list[str]:
    """Leave out attributes: every variable is aligned to 16 bytes at least."""
    text = "\0".join(tokens)
    for word in _ALIGNMENT:
        # Attributes hold no nested parentheses beyond three levels.
        inner = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
        text = re.sub(rf"(?:^|\0){word}\0{inner}", "", text)
    return [token for token in text.split("\0") if token]


def _is_in_function(source: Source, index: int) -> bool:
    """Whether a token stands in the body of a function."""
    depth = 0
    for i in range(index - 1, -1, -1):
        token = source.tokens[i]
        if token == "}":
            depth += 1
        elif token == "{":
            if depth > 0:
                depth -= 1
                continue
            before = i - 1
            while source.at(before).isidentifier() or source.at(before) == "::":
                if source.tokens[before] == "namespace":
                    break
                before -= 1
            if source.at(before) in ("namespace", '"C"', '"C++"'):
                continue
            return True
    return False
