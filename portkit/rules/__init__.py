"""The rules: one construct each, in a file named after the construct that it finds.

A rule is a pure function from a place to findings. It never reads the disk, writes or prints. Its
module's docstring is its documentation: ``portkit explain`` and ``docs/rules`` show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from portkit.site.context import Site
    from portkit.tree.finding import Finding

MODULES = (
    "feature",
    "dependency",
    "workspace_member",
    "target",
    "match_arm",
    "or_pattern",
    "peer_arm",
    "added_arms",
    "device_check",
    "device_branch",
    "if_let",
    "matches",
    "peer_check",
    "if_available",
    "cfg_item",
    "cfg_condition",
    "cfg_function",
    "backend_function",
    "trait_method",
    "enum_variant",
    "field",
    "named_item",
    "backend_impl",
    "use_list",
    "statement",
    "device_macro",
    "device_macro_call",
    "python_definition",
    "python_name",
    "python_condition",
    "python_prose",
    "comment",
    "message",
    "unported",
    "peer",
    "peer_operation",
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What finds one kind of construct.

    Attributes:
        code: its stable code, ``PKnnn``.
        name: the name of its module.
        nodes: the kinds of syntax node that it looks at.
        check: from a place to what there is to say about it.
    """

    code: str
    name: str
    nodes: frozenset[str]
    check: Callable[[Site], Iterator[Finding]]


@cache
def rules() -> tuple[Rule, ...]:
    """Return every rule, sorted by code."""
    found = [import_module(f"portkit.rules.{name}").RULE for name in MODULES]
    return tuple(sorted(found, key=lambda rule: rule.code))
