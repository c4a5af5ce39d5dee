"""A Python function or method of CUDA's: by its name, or by a decorator that asks for CUDA.

``def cuda(self)`` of a module, the stub ``def cuda_is_available() -> bool``, and a test under
``@pytest.mark.skipif(not cuda_is_available(), ..)`` each gain a copy under the name table. A test
whose name says nothing of CUDA gets ``_rocm`` behind it in the copy, since Python keeps only the
last of two functions of one name (the Python reference, "Naming and binding").

Not handled: classes, which are listed as unaccounted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Edit, Finding, Span
from portkit.python import definition, renamed
from portkit.rules import Rule
from portkit.source import field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK521"


def check(place: Place) -> Iterator[Finding]:
    """Find a function that is named after the source vendor or decorated for it."""
    function = definition(place.node)
    if function is None or place.scope.vendor:
        return
    name = function.child_by_field_name("name")
    port, names = place.port, place.port.vendor.names
    if name is None or not (port.names_source(node_text(name)) or _asks(place)):
        return
    copied = names.word(node_text(name))
    if copied == node_text(name):
        copied += f"_{port.vendor.name}"
    copy = renamed(names, place.node, (name, copied))
    end = place.node.end_byte
    status, claims = emit.ported(place, _sibling(place, copied))
    yield emit.finding(
        place,
        CODE,
        "Python function",
        f"{copied} is its copy",
        symbol=place.symbol(node_text(name)),
        status=status,
        edits=(Edit(end, end, f"{_gap(place)}{place.indent}{copy}"),),
        claims=claims,
    )


def _asks(place: Place) -> bool:
    """Whether a decorator asks for the source vendor."""
    return any(
        child.type == "decorator" and place.port.renames_code(node_text(child))
        for child in place.node.children
    )


def _sibling(place: Place, name: str) -> Span | None:
    for node, _ in place.siblings:
        function = definition(node)
        if function is not None and field_text(function, "name") == name:
            return Span(node.start_byte, node.end_byte)
    return None


def _gap(place: Place) -> str:
    """Return the line ends that set functions apart here: as before this one, or two lines."""
    before = place.source.data[: place.start - len(place.indent)]
    blank = re.search(rb"(?:\r?\n)+\Z", before)
    follows = place.node.prev_sibling is not None
    lines = blank.group().count(b"\n") if blank and follows else 3 if not place.indent else 2
    return "\n" * max(lines, 2)


RULE = Rule(
    CODE, "python_definition", frozenset({"function_definition", "decorated_definition"}), check
)
