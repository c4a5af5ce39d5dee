"""The rules: one construct each, in a file named after the construct that it finds.

A rule is a pure function. It never writes or prints, and reads no file of the tree but those that
it is given. Its module's docstring is its documentation: ``portkit explain`` and ``docs/rules``
show it. Every module of this package is a rule; there is no list of them.
"""

from __future__ import annotations

import sys
from enum import Enum, auto
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.lang.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from portkit.lang.source import Source
    from portkit.profile.settings import Settings, Skip
    from portkit.site.context import Job, Site
    from portkit.site.gap import Gap
    from portkit.site.intent import Intent
    from portkit.tree.finding import Finding
    from portkit.tree.keep_comments import Kept


class _Documented:
    """What rules of every kind have: the name and the documentation of their module."""

    __slots__ = ()
    check: Callable[..., object]

    @property
    def name(self) -> str:
        """The name of the module."""
        return self.check.__module__.rpartition(".")[2]

    @property
    def doc(self) -> str:
        """The documentation."""
        return sys.modules[self.check.__module__].__doc__ or ""


class SiteRule(Value, _Documented, frozen=True, eq=False):
    """What finds one kind of construct.

    Attributes:
        code: its stable code, ``PKnnn``.
        nodes: the kinds of syntax node that it looks at; ``*`` for all.
        check: from a site to what is wanted there.
    """

    code: str
    nodes: frozenset[str]
    check: Callable[[Site], Iterator[Intent]]


class When(Enum):
    """Which files a rule about files is asked about."""

    ALWAYS = auto()
    """Every one."""
    MENTIONS = auto()
    """Those with a place to look at, unless the port writes the file."""
    BROKEN = auto()
    """Those that are not parsed whole."""


class FileRule(Value, _Documented, frozen=True, eq=False):
    """What says something about a file as a whole.

    Attributes:
        code: its stable code, ``PKnnn``.
        when: which files it is asked about.
        check: from a file to findings. What it claims is not looked at place by place.
    """

    code: str
    when: When
    check: Callable[[Job, Source], Iterator[Finding]]


class TreeRule(Value, _Documented, frozen=True, eq=False):
    """What says something that no file of the tree stands for.

    Attributes:
        code: its stable code, ``PKnnn``.
        check: from the job to findings.
    """

    code: str
    check: Callable[[Job], Iterator[Finding]]


class ExceptionRule(Value, _Documented, frozen=True, eq=False):
    """What says something about an exception that a person made, and that excepts nothing.

    Attributes:
        code: its stable code, ``PKnnn``.
        check: from the exception, every code that there is, and the paths of the tree's files, to
            findings.
    """

    code: str
    check: Callable[[Kept | Skip, Sequence[str], Collection[str]], Iterator[Finding]]


class ProfileRule(Value, _Documented, frozen=True, eq=False):
    """What says something about the entries of a profile.

    Attributes:
        code: its stable code, ``PKnnn``.
        check: from the job, what was found and what ``portkit.toml`` says to findings.
    """

    code: str
    check: Callable[[Job, Sequence[Finding], Settings], tuple[Finding, ...]]


class GapRule(Value, _Documented, frozen=True, eq=False):
    """What says something about a ``match`` that the port leaves without an arm.

    Attributes:
        code: its stable code, ``PKnnn``.
        check: from the job and the gap to a finding.
    """

    code: str
    check: Callable[[Job, Gap], Finding]


Rule = SiteRule | FileRule | TreeRule | ExceptionRule | ProfileRule | GapRule


@cache
def rules() -> tuple[Rule, ...]:
    """Return every rule, sorted by code."""
    # `pkgutil` would find them as well; to load it takes as long as to load five of them.
    names = (p.stem for p in Path(__file__).parent.glob("*.py") if p.stem != "__init__")
    found = [import_module(f"{__name__}.{name}").RULE for name in names]
    return tuple(sorted(found, key=lambda rule: rule.code))
