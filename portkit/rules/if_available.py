"""A choice of CUDA's device where there is one: ``Device::cuda_if_available(0)``.

The call gives CUDA's device or the CPU. On a machine without CUDA the next question is ROCm's, and
only then the answer is the CPU: the call becomes a ``match`` on its own result.

A call without ``?`` behind it is a result, which the ``match`` gives as well, with what went wrong
as it is: ``Device::cuda_if_available(0).unwrap_or(Device::Cpu)`` goes on as it did.

What makes CUDA's device, ``Device::new_cuda(0)``, makes ROCm's where that fails and the code goes
on without it, as with ``.unwrap_or(Device::Cpu)``. Where nothing asks whether it is there, it is a
person's.

Not handled: a call of a type that is CUDA's own, which is left to a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from portkit.context.intent import AlreadyPorted, Intent, LeaveUnchanged, ReplaceText, RequireManual
from portkit.context.port_job import Site
from portkit.rules import SiteRule
from portkit.syntax.source_file import field_text, find_statement, node_text

_GOES_ON: Final = frozenset({"is_ok", "ok", "or", "or_else", "unwrap_or", "unwrap_or_else"})
"""Methods of a result after which code goes on, whatever went wrong."""


def check(site: Site) -> Iterator[Intent]:
    """Find a choice of the source vendor's device, or what makes one."""
    if site.kind == "identifier":
        job, plain = site.job, site.job.codebase.find_no_feature_entry(site.source.path)
        if site.scope.vendor or site.code != f"new_{job.vendor.source}":
            return
        said = f"it makes CUDA's device: see whether {job.vendor.title}'s is to be made here"
        if plain is not None:
            yield LeaveUnchanged("device that is made", f"{plain.reason}: {said}", review=True)
        else:
            yield RequireManual("device that is made", f"{said}, by hand")
        return
    asks = site.kind == "try_expression"
    call = site.node.named_children[0] if asks else site.node
    path, _, name = field_text(call, "function").rpartition("::")
    if site.scope.vendor or site.is_cuda_only or site.is_rocm_only:
        return
    if name == f"new_{site.job.vendor.source}" and not asks and site.job.rename(path) == path:
        yield from _made_if_there(site)
    within_question = site.parent is not None and site.parent.type == "try_expression"
    if name == f"{site.job.vendor.source}_if_available" and (asks or not within_question):
        yield _chosen(site, call, path, asks=asks)


def _chosen(site: Site, call: Node, path: str, *, asks: bool) -> Intent:
    """Return the choice as the value of a match whose CPU arm asks for the written vendor."""
    job, construct, text, indent = site.job, "choice of a device", site.code, site.indent
    if job.rename(path) != path:
        return RequireManual(
            construct, f"the type is CUDA's own: ask for {job.vendor.title} by hand"
        )
    cpu = f"{path}::Cpu" if path else "Cpu"
    new = (
        f"match {text} {{\n{indent}    {cpu if asks else f'Ok({cpu})'} => {job.rename(text)},\n"
        f"{indent}    device => device,\n{indent}}}"
    )
    start = site.node.start_byte
    before = site.source.data[max(start - 1, 0) : start]  # one byte, maybe not all of a character
    apart = not before.isalnum()  # as in `return::Device::..`
    return ReplaceText(
        construct,
        f"ask for {job.vendor.title} before falling back to the CPU",
        old=text,
        new=new if apart else f" {new}",
        sign=job.rename(node_text(call)),
        within=site.parent if asks else find_statement(site.node),
    )


def _made_if_there(site: Site) -> Iterator[Intent]:
    """Find what makes a device, where the code goes on without one, or asks for both already."""
    job, parent, text = site.job, site.parent, site.code
    construct, within = "device that is made", find_statement(site.node)
    said = f"ask for {job.vendor.title} where there is none of CUDA's"
    if job.codebase.find_no_feature_entry(site.source.path) is not None or parent is None:
        return
    if job.rename(text) in node_text(within):
        yield AlreadyPorted(construct, said)
    elif field_text(parent, "field") in _GOES_ON or field_text(parent, "pattern").startswith("Ok("):
        new = f"{text}.or_else(|_| {job.rename(text)})"
        yield ReplaceText(construct, said, old=text, new=new, sign=job.rename(text), within=within)


RULE = SiteRule("PK406", frozenset({"call_expression", "identifier", "try_expression"}), check)
