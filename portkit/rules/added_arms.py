"""A ``match`` that needs arms which no CUDA arm gives, such as those between ROCm and the others.

Copying CUDA's arms gives ROCm to and from the CPU, and ROCm to ROCm. A tensor that moves between
ROCm and CUDA or Metal has no arm to copy, and a ``_`` arm would turn it away. The profile holds
such arms as a template for one named function; they are set before its ``_`` arm.

Not handled: a ``match`` that does not end with a ``_`` arm.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Edit, Finding, Status
from portkit.names import normal
from portkit.port import Gating
from portkit.rules import Rule
from portkit.rules.match_arm import pattern_key
from portkit.source import node_text
from portkit.templates import render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place, Port
    from portkit.profile import Arms

CODE = "PK304"


def check(place: Place) -> Iterator[Finding]:
    """Find the ``match`` of a function that the profile has arms for."""
    port = place.port
    wanted = next(
        (
            a
            for a in port.codebase.arms
            if a.symbol == place.scope.symbol and fnmatchcase(place.source.path, a.path)
        ),
        None,
    )
    last = place.node.named_children[-1] if place.node.named_children else None
    if wanted is None or last is None or not node_text(last).startswith("_ "):
        return
    text = arms_of(port, wanted)
    standing = normal(text) in normal(node_text(place.node)) or _between_backends(place)
    indent = place.source.indent(last.start_byte)
    text = text.replace("\n", f"\n{indent}") + f"\n{indent}"
    yield emit.finding(
        place,
        CODE,
        "match arms: from the profile",
        wanted.reason,
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(last.start_byte, last.start_byte, text),),
        claims=(),
    )


def _between_backends(place: Place) -> bool:
    """Whether a person has written arms between the two vendors."""
    keys = {
        pattern_key(node_text(arm.child_by_field_name("pattern")))
        for arm in place.node.named_children
        if arm.type == "match_arm"
    }
    return (place.port.vendor.source.capitalize(), place.port.vendor.variant) in keys


def arms_of(port: Port, arms: Arms) -> str:
    """Return the arms of a template, each under the feature where the gating asks for it."""
    text = render(arms.template).rstrip()
    if port.gating is Gating.CFG:
        attribute = f"{emit.feature_attribute(port)}\n"
        text = re.sub(r"^(?=[^\s/})])", lambda _: attribute, text, flags=re.MULTILINE)
    return text


RULE = Rule(CODE, "added_arms", frozenset({"match_block"}), check)
