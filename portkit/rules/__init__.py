"""The rules: one construct each, in a file that has its name, or in a file of a family.

A rule is a pure function. It never writes or prints, and reads no file of the tree but those that
it is given. Its documentation is its module's docstring, or its `page` in a family: ``portkit
explain`` and ``docs/rules`` show it. portkit finds the rules in the modules of this package; there
is no list of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import cache
from importlib import import_module
from pathlib import Path

from portkit.context.intent import Intent
from portkit.context.port_job import PortJob, Site
from portkit.syntax.source_file import SourceFile
from portkit.syntax.value import Value
from portkit.workspace.finding import Finding


class _RuleDocs:
    """The name and the documentation of a rule: its own, or those of its module."""

    __slots__ = ()
    check: Callable[..., object]
    own_name: str
    page: str

    @property
    def name(self) -> str:
        """The name of the construct."""
        return self.own_name or self.check.__module__.rpartition(".")[2]

    @property
    def doc(self) -> str:
        """The documentation."""
        return self.page or sys.modules[self.check.__module__].__doc__ or ""


class SiteRule(Value, _RuleDocs, frozen=True, eq=False):
    """What finds one kind of construct."""

    code: str  # its stable code, ``PKnnn``
    nodes: frozenset[str]  # the kinds of syntax node that it looks at; ``*`` for all
    check: Callable[[Site], Iterator[Intent]]  # from a site to what is wanted there
    own_name: str = ""
    page: str = ""


class FileFilter(Enum):
    """Which files a rule about files is asked about."""

    ALWAYS = auto()
    """Every one."""
    MENTIONS = auto()
    """Those with a place to look at, unless the port writes the file."""
    BROKEN = auto()
    """Those that are not parsed whole."""


class FileRule(Value, _RuleDocs, frozen=True, eq=False):
    """What says something about a file as a whole."""

    code: str  # its stable code, ``PKnnn``
    when: FileFilter  # which files it is asked about
    # from a file to findings. What it claims is not looked at place by place
    check: Callable[[PortJob, SourceFile], Iterator[Finding]]
    own_name: str = ""
    page: str = ""


class TreeRule(Value, _RuleDocs, frozen=True, eq=False):
    """What says something that no file of the tree stands for."""

    code: str  # its stable code, ``PKnnn``
    check: Callable[[PortJob], Iterator[Finding]]  # from the job to findings
    own_name: str = ""
    page: str = ""


class DirectRule(Value, _RuleDocs, frozen=True, eq=False):
    """A rule whose check the engine calls by its name: it is about no node, file or tree."""

    code: str  # its stable code, ``PKnnn``
    check: Callable[..., object]
    own_name: str = ""
    page: str = ""


Rule = SiteRule | FileRule | TreeRule | DirectRule


@cache
def list_rules() -> tuple[Rule, ...]:
    """Return every rule, sorted by code."""
    # `pkgutil` would find them as well; to load it takes as long as to load five of them.
    names = (p.stem for p in Path(__file__).parent.glob("*.py") if p.stem != "__init__")
    modules = [import_module(f"{__name__}.{name}") for name in names]
    found = {v.code: v for m in modules for v in vars(m).values() if isinstance(v, Rule)}
    return tuple(found[code] for code in sorted(found))
