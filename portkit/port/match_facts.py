"""The arms of one ``match``: how each is told from the others, and what they say together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import PortJob, Site
from portkit.syntax import patterns
from portkit.syntax.cfg import parse_conditions
from portkit.syntax.source_file import field_text, node_text
from portkit.syntax.value import Value

LEFT_OUT: Final = "left out: "
"""Begins the message of an arm that answers with an error."""
_ERROR: Final = re.compile(rf'[\w:]+!\(\s*"{LEFT_OUT}')
_BAIL: Final = re.compile(r"((?:\w+::)*bail)!")
_TRANSPARENT: Final = frozenset(
    {"match_pattern", "mut_pattern", "ref_pattern", "reference_pattern", "tuple_pattern"}
)
"""Patterns that take what their members take."""


class Arm(Value, frozen=True):
    """An arm: whether it has a guard, and which vendors' features must be off for it."""

    node: Node
    is_guarded: bool
    forbidden: frozenset[str]


class MatchFacts(Value, frozen=True):
    """The arms of a ``match``, by what their patterns or members of these match."""

    arms: Mapping[tuple[str, ...], list[Arm]]  # without those that answer with an error
    error_arms: Mapping[tuple[str, ...], Node]
    takes_all: bool  # whether an arm takes whatever comes
    macro: str  # by which an arm turns values away


def read_match(site: Site) -> MatchFacts:
    """Return the facts about the ``match`` around an arm; each of its arms asks for them."""

    def read() -> MatchFacts:
        nodes = [node for node, _ in site.siblings if node.type == "match_arm"]
        arms: dict[tuple[str, ...], list[Arm]] = {}
        errors: dict[tuple[str, ...], Node] = {}
        for node in nodes:
            pattern = node.child_by_field_name("pattern")
            if is_error_arm(node):
                errors.setdefault(patterns.pattern_key(node_text(pattern)), node)
            elif pattern is not None:
                arm = Arm(node, is_guarded(node), list_forbidden_features(site.job, node))
                matched = (pattern, *patterns.split_or_pattern(pattern))
                for key in dict.fromkeys(patterns.pattern_key(node_text(m)) for m in matched):
                    arms.setdefault(key, []).append(arm)
        macro = find_error_macro(field_text(node, "value") for node in nodes)
        return MatchFacts(arms, errors, any(map(is_catch_all, nodes)), macro)

    return site.memoize("match", site.container, make=read)


def find_error_macro(values: Iterable[str]) -> str:
    """Return the macro by which the values of arms turn values away; ``panic`` fits anywhere."""
    found = (_BAIL.match(value) for value in values)
    return next((each[1] for each in found if each), "panic")


def is_error_arm(arm: Node) -> bool:
    """Whether an arm stands for one that is left out, and so is no counterpart of anything."""
    return _ERROR.match(field_text(arm, "value")) is not None


def is_guarded(arm: Node) -> bool:
    """Whether an arm has a guard, as in ``x if x > 0 => ..``."""
    pattern = arm.child_by_field_name("pattern")
    return pattern is not None and pattern.child_by_field_name("condition") is not None


def is_catch_all(arm: Node) -> bool:
    """Whether an arm takes whatever comes, in every build."""
    pattern = arm.child_by_field_name("pattern")
    conditional = any(child.type == "attribute_item" for child in arm.children)
    return pattern is not None and not conditional and not is_guarded(arm) and _takes_any(pattern)


def _takes_any(pattern: Node) -> bool:
    """Whether a pattern takes any value: ``_``, a name, or a tuple of such."""
    if pattern.type == "identifier":
        return not node_text(pattern)[:1].isupper()
    return pattern.type in ("_", "remaining_field_pattern", "mutable_specifier") or (
        pattern.type in _TRANSPARENT and all(map(_takes_any, patterns.list_parts(pattern)))
    )


def list_members(arm: Node) -> list[Node]:
    """Return the members of the or-pattern of an arm."""
    pattern = arm.child_by_field_name("pattern")
    return patterns.split_or_pattern(pattern) if pattern is not None else []


def list_forbidden_features(job: PortJob, arm: Node) -> frozenset[str]:
    """Return which of the two vendors' features must be off for an arm."""
    conditions = [cfg for _, cfg in parse_conditions(arm.children)]
    both = (job.source_feature, job.feature)
    return frozenset(f for f in both if any(cfg.forbids(f) for cfg in conditions))
