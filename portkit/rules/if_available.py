"""A choice of CUDA's device where there is one: ``Device::cuda_if_available(0)``.

The call gives CUDA's device or the CPU. On a machine without CUDA the next question is ROCm's, and
only then the answer is the CPU: the call becomes a ``match`` on its own result.

Not handled: a call without ``?`` behind it, which is listed as unaccounted, and one of a type
that is CUDA's own, which is left to a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.source import field_text, node_text
from portkit.rules import SiteRule
from portkit.site.intent import Ask, Intent, Replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a choice of the source vendor's device, with ``?`` behind it."""
    job = site.job
    call = site.node.named_children[0]
    path, _, name = field_text(call, "function").rpartition("::")
    if site.scope.vendor or name != f"{job.vendor.source}_if_available":
        return
    text, indent = site.code, site.indent
    if job.rename(path) != path:
        yield Ask(
            "choice of a device", f"the type is CUDA's own: ask for {job.vendor.title} by hand"
        )
        return
    cpu = f"{path}::Cpu" if path else "Cpu"
    # The call stands as the value of a match whose CPU arm asks for ROCm.
    new = (
        f"match {text} {{\n{indent}    {cpu} => {job.rename(text)},\n"
        f"{indent}    device => device,\n{indent}}}"
    )
    start = site.node.start_byte
    before = site.source.data[max(start - 1, 0) : start]  # one byte, maybe not all of a character
    apart = not before.isalnum()  # as in `return::Device::..`
    yield Replace(
        "choice of a device",
        f"ask for {job.vendor.title} before falling back to the CPU",
        old=text,
        new=new if apart else f" {new}",
        sign=job.rename(node_text(call)),
        within=site.parent,
    )


RULE = SiteRule("PK406", frozenset({"try_expression"}), check)
