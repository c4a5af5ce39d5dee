"""The conditions under which the file of a module is compiled.

Sources: the Rust reference, chapters "Modules" and "Conditional compilation".
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final

from portkit.port.whole_files import may_declare
from portkit.syntax.cfg import Cfg, parse_conditions
from portkit.syntax.module_files import find_declarations, find_module_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from portkit.syntax.source_file import SourceFile

_DECLARATION: Final = re.compile(rb"\bmod\s+\w+\s*;")


def find_gated_files(sources: Mapping[str, SourceFile]) -> Mapping[str, tuple[Cfg, ...]]:
    """Return the conditions of each file whose module, or one around it, is declared under some.

    A file that several modules are made of has the condition that one of them is compiled.

    Args:
        sources: the Rust files, by path.
    """
    declared: dict[str, list[tuple[str, tuple[Cfg, ...]]]] = {}
    for path, source in sources.items():
        if may_declare(source.data):
            for target, conditions in _find_modules(sources, path):
                declared.setdefault(target, []).append((path, conditions))
    found: dict[str, tuple[Cfg, ...]] = {}
    for target, each in declared.items():
        if all(conditions for _, conditions in each):
            ways = tuple(Cfg("all", conditions) for _, conditions in each)
            found[target] = ways[0].operands if len(ways) == 1 else (Cfg("any", ways),)
    own, pending = dict(found), deque(found)
    while pending:
        path = pending.popleft()
        for target, _ in _find_modules(sources, path):
            several = len(declared.get(target, ())) > 1
            if target == path or several or (target in found and target not in own):
                continue
            found[target] = (*own.pop(target, ()), *found[path])
            pending.append(target)
    return found


def _find_modules(
    sources: Mapping[str, SourceFile], path: str
) -> Iterator[tuple[str, tuple[Cfg, ...]]]:
    """Yield the files that a file declares modules of, with the conditions of each."""
    source = sources[path]
    places = [match.start() for match in _DECLARATION.finditer(source.data)]
    if not places:
        return
    for item, attributes, around in find_declarations(source.tree_around(places).root_node):
        target = _find_file(sources, item, path)
        if target:
            yield target, tuple(cfg for _, cfg in parse_conditions((*around, *attributes)))


def _find_file(sources: Mapping[str, SourceFile], item: Node, path: str) -> str:
    found = (*find_module_files(item, path), *find_module_files(item, path, is_owner=True))
    return next((each for each in found if each in sources), "")
