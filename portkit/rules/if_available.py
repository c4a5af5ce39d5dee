"""A choice of CUDA's device where there is one: ``Device::cuda_if_available(0)``.

The call gives CUDA's device or the CPU. On a machine without CUDA the next question is ROCm's, and
only then the answer is the CPU: the call becomes a ``match`` on its own result.

A call without ``?`` behind it is a result, which the ``match`` gives as well, with what went wrong
as it is: ``Device::cuda_if_available(0).unwrap_or(Device::Cpu)`` goes on as it did.

What makes CUDA's device, ``Device::new_cuda(0)``, where nothing around it asks which one is there,
is a person's.

Not handled: a call of a type that is CUDA's own, which is left to a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.source import field_text, node_text, statement_of
from portkit.rules import SiteRule
from portkit.site.intent import Ask, Intent, Keep, Replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a choice of the source vendor's device, with ``?`` behind it."""
    job = site.job
    if site.kind == "identifier":
        yield from _made(site)
        return
    if site.kind == "call_expression":
        yield from _result(site)
        return
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


def _result(site: Site) -> Iterator[Intent]:
    """Find such a choice without a question mark: a result, whatever becomes of it."""
    job = site.job
    path, _, name = field_text(site.node, "function").rpartition("::")
    if site.scope.vendor or name != f"{job.vendor.source}_if_available":
        return
    construct, text, indent = "choice of a device", site.code, site.indent
    if site.parent is not None and site.parent.type == "try_expression":
        return  # the question mark's
    if job.rename(path) != path:
        yield Ask(construct, f"the type is CUDA's own: ask for {job.vendor.title} by hand")
        return
    cpu = f"{path}::Cpu" if path else "Cpu"
    yield Replace(
        construct,
        f"ask for {job.vendor.title} before falling back to the CPU",
        old=text,
        new=f"match {text} {{\n{indent}    Ok({cpu}) => {job.rename(text)},\n"
        f"{indent}    device => device,\n{indent}}}",
        sign=job.rename(text),
        within=statement_of(site.node),
    )


def _made(site: Site) -> Iterator[Intent]:
    """Find the name of what makes a device, where nothing before asks which is there."""
    job, plain = site.job, site.job.codebase.plain_at(site.source.path)
    if site.scope.vendor or site.code != f"new_{job.vendor.source}":
        return
    said = f"it makes CUDA's device: see whether {job.vendor.title}'s is to be made here"
    if plain is not None:
        yield Keep("device that is made", f"{plain.reason}: {said}", review=True)
    else:
        yield Ask("device that is made", f"{said}, by hand")


RULE = SiteRule("PK406", frozenset({"call_expression", "identifier", "try_expression"}), check)
