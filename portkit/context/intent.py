"""What a rule wants at a site.

A rule says what is to be there and why. Where that stands, whether it stands already and under the
feature, what it accounts for and which bytes change: `portkit.port.emit` alone knows.
"""

from __future__ import annotations

from typing import ClassVar

from tree_sitter import Node

from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.workspace.finding import Applicability, Status


class Intent(Value, frozen=True, eq=False):
    """What is wanted, in words."""

    applicability: ClassVar = Applicability.SAFE  # of the finding, unless it is for review
    status: ClassVar = Status.TODO  # of the finding, unless what is wanted is there already
    construct: str  # the kind of construct in words, such as ``match arm: Device``
    message: str  # one sentence for the reader of the report
    symbol: str = ""  # the item that the site is part of; the enclosing items by default
    review: bool = False  # whether a person should look at it
    # what it accounts for; by default the site, and its counterpart where that stands
    claims: tuple[Span, ...] | None = None
    span: Span | None = None  # the construct, where it is not the site as a whole
    entry: str = ""  # the entry of the codebase's profile that it comes from, such as ``patch 3``
    # the entries that would decide about it as well, if ``entry`` did not come first
    shadowed: tuple[str, ...] = ()
    renamed: tuple[str, str] = ("", "")  # a name, and what it becomes or could become


class LeaveUnchanged(Intent, frozen=True, eq=False):
    """Leave it alone, for the reason that the message gives; with ``review``, a person looks."""

    applicability = Applicability.KEEP
    status = Status.NONE


class RequireManual(Intent, frozen=True, eq=False):
    """Leave it to a person, who is told what to do."""

    applicability = Applicability.MANUAL
    status = Status.NONE


class AlreadyPorted(Intent, frozen=True, eq=False):
    """Leave it: what is wanted is there already, as part of the site."""

    status = Status.PORTED


class CopySite(Intent, frozen=True, eq=False, kw_only=True):
    """Set the copy of the site under the name table beside it."""

    name: str = ""  # the copy's own name, where the name table does not give it
    text: str = ""  # what stands there instead of what the name table gives
    pattern: str = ""  # the pattern in it, if it is an arm


class CopyUnderName(Intent, frozen=True, eq=False, kw_only=True):
    """Set a copy of a function beside it that has a name of its own."""

    name: str  # the name of the copy; under the function's own it stands where that does not
    imports: tuple[str, ...] = ()  # what the copy imports for itself, each a whole ``use``
    # what says in the function on which device its tensors are; empty where nothing does
    device: str = ""
    # whether callers use the plain name in every build, so that it must answer for the
    # written vendor as well
    called: bool = False


class AddBranch(Intent, frozen=True, eq=False):
    """Give the chain of an ``if`` one more branch: the copy of its condition and its body."""


class JoinPatterns(Intent, frozen=True, eq=False, kw_only=True):
    """Have the written vendor's value join each or-pattern.

    A member of a pattern cannot stand under a feature, and a name has one type in all of them.
    Where that forbids it, an arm of its own is written, or what ``otherwise`` wants.
    """

    lists: tuple[tuple[Span, ...], ...]  # the members of each pattern
    # whether the value is that of a peer, which the written vendor is turned away as
    peer: bool = False
    pattern: Node | None = None  # the pattern as a whole where it may need parentheses
    otherwise: Intent | None = None  # what is wanted where no value can join


class ListMember(Value, frozen=True, eq=False):
    """A member of a list."""

    after: Span  # what it stands behind; an empty span right inside an empty list
    text: str  # the member
    path: str = ""  # the whole of what it imports, for a member of an import
    separator: str = ","  # the token between two members; empty if there is none


class AddToList(Intent, frozen=True, eq=False, kw_only=True):
    """Have members join a list."""

    members: tuple[ListMember, ...]  # the members
    # the names in the list; for an import, `port.emit` finds them
    listed: frozenset[str] = frozenset()


class WidenCondition(Intent, frozen=True, eq=False, kw_only=True):
    """Have a condition hold for the written vendor as well."""

    condition: Node  # an attribute, a ``cfg!`` or a question
    within: Node  # the whole of what is decided, in which another question may stand already
    copy: str = ""  # the written vendor's question, where renaming does not give it


class InsertText(Intent, frozen=True, eq=False, kw_only=True):
    """Set a text at the site."""

    text: str  # the text, with what sets it apart
    at: int  # the offset
    name: str = ""  # the name of the sibling that it is


class InsertArms(Intent, frozen=True, eq=False, kw_only=True):
    """Set arms before the last one of a ``match``."""

    text: str  # the arms


class ReplaceText(Intent, frozen=True, eq=False, kw_only=True):
    """Write another text in place of one."""

    old: str  # a text of the site
    new: str  # what stands there afterwards
    sign: str = ""  # what shows in ``within`` that it stands; by default the new text at the site
    within: Node | None = None  # where to look for the sign
