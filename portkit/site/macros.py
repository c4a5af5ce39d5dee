"""Macros that take one argument per backend."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.lang.source import field_text
from portkit.site.context import DeviceMacro

if TYPE_CHECKING:
    from tree_sitter import Node

    from portkit.site.context import Job

_PARAMETER = re.compile(r"\$(\w+)\s*:\s*\w+")


def described(job: Job, node: Node) -> DeviceMacro | None:
    """Return what a macro takes, if one of its parameters is named after the source vendor.

    The arity is that of a call before the port, whether the macro has been ported or not.
    """
    rule = device_rule(job, node)
    if rule is None:
        return None
    named = parameters(rule)
    before = [parameter for parameter in named if not of_vendor(job, parameter)]
    position = next(i for i, parameter in enumerate(before) if of_source(job, parameter))
    behind = before == named or of_vendor(job, named[position + 1])
    return DeviceMacro(field_text(node, "name"), position, len(before), behind)


def plain_rules(node: Node) -> list[Node]:
    """Return the rules of a macro whose parameters do not repeat."""
    rules = [c for c in node.named_children if c.type == "macro_rule"]
    return [rule for rule in rules if "$(" not in field_text(rule, "left")]


def device_rule(job: Job, node: Node) -> Node | None:
    """Return the first rule of a macro with a parameter that is named after the source vendor."""
    rules = plain_rules(node)
    return next((r for r in rules if any(of_source(job, p) for p in parameters(r))), None)


def of_source(job: Job, parameter: str) -> bool:
    """Whether a parameter is named after the source vendor alone, so that it has a counterpart."""
    named = job.vendor.source in parameter.lower() and job.rename(parameter) != parameter
    return named and job.vendor.name not in parameter.lower()


def parameters(rule: Node) -> list[str]:
    """Return the names of a rule's parameters."""
    return _PARAMETER.findall(field_text(rule, "left"))


def takes_vendor(job: Job, names: list[str]) -> bool:
    """Whether one of the parameters is the written vendor's."""
    return any(of_vendor(job, name) for name in names)


def of_vendor(job: Job, parameter: str) -> bool:
    """Whether a parameter is named after the written vendor alone."""
    name = parameter.lower()
    return job.vendor.name in name and job.vendor.source not in name
