"""The rules: one construct each, in a file named after the construct that it finds.

A rule is a pure function from a site to what it wants there. It never reads the disk, writes or
prints. Its module's docstring is its documentation: ``portkit explain`` and ``docs/rules`` show it.
Every module of this package is a rule; there is no list of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from portkit.site.context import Site
    from portkit.site.intent import Intent


@dataclass(frozen=True, slots=True)
class Rule:
    """What finds one kind of construct.

    Attributes:
        code: its stable code, ``PKnnn``.
        nodes: the kinds of syntax node that it looks at; ``*`` for all.
        check: from a site to what is wanted there.
    """

    code: str
    nodes: frozenset[str]
    check: Callable[[Site], Iterator[Intent]]

    @property
    def name(self) -> str:
        """The name of its module."""
        return self.check.__module__.rpartition(".")[2]


@cache
def rules() -> tuple[Rule, ...]:
    """Return every rule, sorted by code."""
    found = [import_module(f"{__name__}.{module.name}").RULE for module in iter_modules(__path__)]
    return tuple(sorted(found, key=lambda rule: rule.code))
