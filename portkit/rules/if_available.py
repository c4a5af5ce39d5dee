"""A choice of CUDA's device where there is one: ``Device::cuda_if_available(0)``.

The call gives CUDA's device or the CPU. On a machine without CUDA the next question is ROCm's, and
only then the answer is the CPU: the call becomes a ``match`` on its own result.

Not handled: a call without ``?`` behind it, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Edit, Finding, Span, Status
from portkit.names import normal
from portkit.rules import Rule
from portkit.source import field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK406"


def check(place: Place) -> Iterator[Finding]:
    """Find a choice of the source vendor's device, with ``?`` behind it."""
    port = place.port
    call = place.node.named_children[0]
    function = field_text(call, "function")
    path, _, name = function.rpartition("::")
    if place.scope.vendor or name != f"{port.vendor.source}_if_available":
        return
    text = place.code
    indent = place.indent
    cpu = f"{path}::Cpu" if path else "Cpu"
    new = (
        f"match {text} {{\n{indent}    {cpu} => {port.rename(text)},\n"
        f"{indent}    device => device,\n{indent}}}"
    )
    # The call stands as the value of a match whose CPU arm asks for ROCm.
    parent = place.node.parent
    asked = normal(port.rename(node_text(call)))
    standing = parent is not None and asked in normal(node_text(parent))
    yield emit.finding(
        place,
        CODE,
        "choice of a device",
        f"ask for {port.vendor.title} before falling back to the CPU",
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(place.node.start_byte, place.node.end_byte, new),),
        claims=(Span(place.node.start_byte, place.node.end_byte),),
    )


RULE = Rule(CODE, "if_available", frozenset({"try_expression"}), check)
