"""A ``matches!`` on a value of the CUDA backend.

``matches!(device, Device::Cuda(_) | Device::Metal(_))`` asks for several backends at once. ROCm
joins the list. The arguments of a macro are tokens, not syntax, so the members are read from them.

Inside a function that is itself copied, such as ``is_cuda``, nothing is written here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Edit, Finding
from portkit.rules import Rule
from portkit.source import field_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK404"


def check(place: Place) -> Iterator[Finding]:
    """Find a ``matches!`` that names the source vendor."""
    port = place.port
    if place.scope.vendor or field_text(place.node, "macro").rsplit("::", 1)[-1] != "matches":
        return
    text = place.code
    variant = port.vendor.source.capitalize()
    member = re.search(rf"(?:\w+::)+{variant}\b\s*(?:\([^()]*\)|\{{[^{{}}]*\}})?", text)
    if member is None:
        return
    renamed = port.rename(member.group().rstrip())
    end = place.node.start_byte + len(text[: member.start() + len(member.group().rstrip())].encode())
    yield emit.finding(
        place,
        CODE,
        "matches! on a device",
        f"{port.vendor.variant} joins the pattern: see that the same holds on AMD",
        applicability=Applicability.REVIEW,
        status=emit.Status.PORTED if renamed in text else emit.Status.TODO,
        edits=(Edit(end, end, f" | {renamed}"),),
    )


RULE = Rule(CODE, "matches", frozenset({"macro_invocation"}), check)
