"""Where a copy in a Python stub stands whose definitions are sorted by name."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import Site
from portkit.syntax import python_nodes
from portkit.syntax.source_file import node_text
from portkit.syntax.value import Value

_SORTED: Final = 4
"""How many names in order are no accident: of four, one order in 24 is that one."""


class _Sorted(Value, frozen=True):
    """Functions, or variables, sorted by name, that nothing else stands between."""

    nodes: Sequence[Node]  # each of them
    names: Sequence[str]  # theirs
    said: Mapping[str, Sequence[int]]  # by a word, which of them say it, in order


def find_place_by_name(site: Site, name: str) -> Node:
    """Return what a name stands behind: the place, or another one where names are sorted.

    Stubs that a program made are compared with what it makes again, sorted by name
    (``inspect.getmembers``, Python's documentation, module inspect). A copy does not go past what
    says the name of the place, which may need the copy, too.
    """
    run = site.memoize("sorted", site.container, make=lambda: _sorted_runs(site)).get(site.node.id)
    if run is None:
        return site.node
    own = python_nodes.find_statement_name(site.node)
    after, before = bisect_right(run.names, own), bisect_left(run.names, name)
    said = run.said.get(own, ())
    if after >= before or bisect_left(said, after) < bisect_left(said, before):
        return site.node
    return run.nodes[before - 1]


def _sorted_runs(site: Site) -> Mapping[int, _Sorted]:
    """Return those around a place that are sorted by name, by each of their nodes."""
    found: dict[int, _Sorted] = {}
    for _, group in groupby((node for node, _ in site.siblings), _kind_of_name):
        nodes = list(group)
        names = [python_nodes.find_statement_name(node) for node in nodes]
        if len(names) < _SORTED or "" in names or names != sorted(names):
            continue
        said: dict[str, list[int]] = {}
        for at, node in enumerate(nodes):
            for word in dict.fromkeys(re.findall(r"\w+", node_text(node))):
                said.setdefault(word, []).append(at)
        run = _Sorted(nodes, names, said)
        found |= {node.id: run for node in nodes}
    return found


def _kind_of_name(node: Node) -> str:
    """Return whether a node has the name of a function, that of a variable, or none."""
    if python_nodes.find_definition(node) is not None:
        return "function"
    return "variable" if python_nodes.find_statement_name(node) else ""
