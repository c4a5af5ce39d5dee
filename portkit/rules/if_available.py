"""A choice of CUDA's device where there is one: ``Device::cuda_if_available(0)``.

The call gives CUDA's device or the CPU. On a machine without CUDA the next question is ROCm's, and
only then the answer is the CPU: the call becomes a ``match`` on its own result.

Not handled: a call without ``?`` behind it, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.renaming import normal
from portkit.lang.source import field_text, node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.tree.finding import Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK406"


def check(site: Site) -> Iterator[Finding]:
    """Find a choice of the source vendor's device, with ``?`` behind it."""
    job = site.job
    call = site.node.named_children[0]
    function = field_text(call, "function")
    path, _, name = function.rpartition("::")
    if site.scope.vendor or name != f"{job.vendor.source}_if_available":
        return
    text = site.code
    indent = site.indent
    cpu = f"{path}::Cpu" if path else "Cpu"
    new = (
        f"match {text} {{\n{indent}    {cpu} => {job.rename(text)},\n"
        f"{indent}    device => device,\n{indent}}}"
    )
    # The call stands as the value of a match whose CPU arm asks for ROCm.
    parent = site.node.parent
    asked = normal(job.rename(node_text(call)))
    standing = parent is not None and asked in normal(node_text(parent))
    yield emit.finding(
        site,
        CODE,
        "choice of a device",
        f"ask for {job.vendor.title} before falling back to the CPU",
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(site.node.start_byte, site.node.end_byte, new),),
        claims=(Span(site.node.start_byte, site.node.end_byte),),
    )


RULE = Rule(CODE, "if_available", frozenset({"try_expression"}), check)
