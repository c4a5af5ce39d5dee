"""Names that files without a ported counterpart define (``[[plain]]``).

Nothing in such a file gets a copy, so what it names after CUDA is called so in every build, and is
kept wherever it is used: a function ``use_nccl``, a field ``cuda_peer_access``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain
from typing import Final

from msgspec.structs import replace

from portkit.profiles.profile import CodebaseProfile, VendorProfile
from portkit.syntax.source_file import SourceFile
from portkit.syntax.word_search import build_word_finder
from portkit.workspace.cargo_workspace import Workspace

_KEYWORDS: Final = (
    *("const", "enum", "fn", "macro_rules!", "mod", "static", "struct", "trait", "type", "union"),
)
# What may not stand before a keyword is looked at behind it: its first letter is then what is
# looked for, which takes half as long.
_KEYWORD: Final = "|".join(rf"{word}(?<!\w{word})" for word in _KEYWORDS)
_ITEM: Final = re.compile(rf"(?:{_KEYWORD})\s+(?:mut\s+)?(\w+)".encode())
# Looked for from the end of the line before, which takes less than from each byte.
_FIELD: Final = re.compile(rb"\n[ \t]+(?:pub(?:\([^)]*\))?[ \t]+)?(\w+)[ \t]*:(?!:)")
_ENUM: Final = re.compile(rb"\benum\s+\w[^{;]*\{")
_VARIANT: Final = re.compile(rb"(?:^|[{,])\s*(?:#\[[^\]]*\]\s*)*(\w+)")
_BEHIND: Final = re.compile(rb"::(\w+)")
_LAST_WORD: Final = re.compile(rb"\w+\Z")
_USE: Final = re.compile(rb"\buse\s+([^;]+);")
_COMMENT: Final = re.compile(rb"//[^\n]*")
_BRACE: Final = re.compile(rb"[{}()]")
_OWN: Final = frozenset({"crate", "self", "super", "Self"})
"""Ways to say where a name of the tree's own is."""


def keep_no_feature_names(
    codebase: CodebaseProfile, vendor: VendorProfile, workspace: Workspace
) -> tuple[CodebaseProfile, VendorProfile]:
    """Return profiles that do not rename what the ``[[plain]]`` files of a codebase define.

    A name is not kept that a file which is ported defines, that is CUDA's own or its bindings', or
    that code takes from what the tree does not define, as ``Device::new_cuda`` does.
    """
    sources = [s for path, s in sorted(workspace.sources.items()) if path.endswith(".rs")]
    items = {s.path: [name.decode() for name in _ITEM.findall(s.data)] for s in sources}
    words_in = build_word_finder((*vendor.vocabulary,))
    about = [s for s in sources if words_in(s.data)]
    ported: set[str] = set()
    found: dict[str, str] = {}
    for source in about:
        entry = codebase.find_no_feature_entry(source.path)
        defines = dict.fromkeys((*items[source.path], *_find_members(source)))
        for name in filter(_match_vendor_words(vendor), defines):
            if entry is None:
                ported.add(name)
            else:
                found.setdefault(name, entry.reason)
    crates = {crate.name.replace("-", "_") for crate in workspace.crates}
    defined = {*crates, *_OWN, *chain.from_iterable(items.values())}
    others = {*ported, *_list_known_names(vendor), *_find_external_names(found, about, defined)}
    own = {name: reason for name, reason in found.items() if name not in others}
    names = replace(vendor.names, words={**vendor.names.words, **{name: name for name in own}})
    kept = {**own, **codebase.kept_names}
    return replace(codebase, kept_names=kept), replace(vendor, names=names)


def _match_vendor_words(vendor: VendorProfile) -> Callable[[str], re.Match[str] | None]:
    named = re.compile("|".join(map(re.escape, sorted(vendor.vocabulary))))
    return lambda name: named.search(name.lower())


def _list_known_names(vendor: VendorProfile) -> Iterator[str]:
    """Yield the names of CUDA itself, of its devices and of its bindings."""
    source = vendor.source
    yield from (source, source.capitalize(), source.upper())
    yield from (f"is_{source}", f"{source}_is_available")
    yield from vendor.names.words


def _find_external_names(
    names: Container[str], about: Sequence[SourceFile], defined: Container[str]
) -> Iterator[str]:
    """Yield the names that come from crates outside the tree."""
    for source in about:
        pairs = set(_find_qualified_names(source.data, names))
        foreign = _find_imported_words(source, defined) if pairs else frozenset()
        for outer, name in pairs:
            if outer not in defined or outer in foreign:
                yield name


def _find_qualified_names(data: bytes, names: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield the qualifier and the name of each ``qualifier::name`` with one of these names."""
    for match in _BEHIND.finditer(data):
        # Looked for from the colons, which are rare, and not from each word. No word is longer.
        if (name := match[1].decode()) in names and (
            before := _LAST_WORD.search(data[max(match.start() - 100, 0) : match.start()])
        ):
            yield before[0].decode(), name


def _find_imported_words(source: SourceFile, defined: Container[str]) -> frozenset[str]:
    """Return the words of a file's imports from other crates."""
    uses = (use.decode() for use in _USE.findall(source.data))
    foreign = (use for use in uses if re.split(r"\W", use, maxsplit=1)[0] not in defined)
    return frozenset(word for use in foreign for word in re.findall(r"\w+", use))


def _find_members(source: SourceFile) -> Iterator[str]:
    """Yield the names of the fields and variants that a file defines."""
    yield from (name.decode() for name in _FIELD.findall(b"\n" + source.data))
    for match in _ENUM.finditer(source.data):
        body = _COMMENT.sub(b"", _read_body(source.data, match.end()))
        yield from (name.decode() for name in _VARIANT.findall(body))


def _read_body(data: bytes, start: int) -> bytes:
    """Return the text in open braces, without the text in inner braces."""
    out, depth, at = [], 1, start
    for brace in _BRACE.finditer(data, start):
        if depth == 1:
            out.append(data[at : brace.start()])
        depth += 1 if brace[0] in b"{(" else -1
        at = brace.end()
        if not depth:
            break
    else:
        out.append(data[at:] if depth == 1 else b"")
    return b" ".join(out)
