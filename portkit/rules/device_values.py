"""Values and calls that choose or need the CUDA device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from portkit.context.device_queries import is_cuda_query, is_query_path
from portkit.context.intent import AlreadyPorted, Intent, LeaveUnchanged, ReplaceText, RequireManual
from portkit.context.macro_fragments import find_macro_name, parse_arguments
from portkit.context.port_job import Site
from portkit.port import cuda_only_deps
from portkit.rules import SiteRule
from portkit.syntax.cfg import find_attributes, parse_conditions
from portkit.syntax.items import find_items
from portkit.syntax.known_macros import MacroUse, find_use
from portkit.syntax.source_file import field_text, find_statement, node_text, span_of

_PATHS: Final = frozenset({"scoped_identifier", "scoped_type_identifier"})


_OTHERS: Final = frozenset({"if_expression", "macro_invocation", "match_expression"})
"""Expressions that other rules port."""


def check_assertion(site: Site) -> Iterator[Intent]:
    """Find an assertion that needs a value of the source vendor."""
    name = find_macro_name(site.node)
    if site.scope.vendor or site.is_cuda_only or find_use(name) is not MacroUse.CHECK:
        return
    compared = 2 if name.endswith(("_eq", "_ne")) else 1
    for argument in parse_arguments(site.source, site.node, site.known)[:compared]:
        if value := _find_value(site, argument):
            title = site.job.vendor.title
            yield RequireManual(
                "assertion",
                f"it needs {value}, and a run on {title} has another value."
                f" Write what holds on {title} by hand.",
                claims=(span_of(argument),),
            )


def _find_value(site: Site, argument: Node) -> str:
    """Return the path of a value of the source vendor that an argument names, or nothing."""
    pending = [argument]
    while pending:
        node = pending.pop()
        if node.type in _PATHS:
            text = node_text(node)
            if site.job.rename_changes_code(text) and not is_query_path(site.job, node):
                return text
        elif node.type not in _OTHERS and not (
            node.type == "call_expression" and is_cuda_query(site.job, node)
        ):
            pending += node.named_children
    return ""


_ASSERTION_PAGE = """\
An assertion that needs a value of CUDA's, such as `assert_eq!(device, Device::Cuda(0))`.

It finds `assert!`, `debug_assert!`, `ensure!` and those that compare two values. Each run on an AMD
GPU has another value there, so the assertion would fail. It is manual: you decide what holds on
ROCm. A copy of the statement would be wrong, since no device passes both.

A condition that asks for the device, `assert!(device.is_cuda())`, is widened as it is elsewhere
(PK401, PK404).

Not handled: arguments that are no expressions, which are listed as unaccounted.
"""
ASSERTION = SiteRule(
    "PK410", frozenset({"macro_invocation"}), check_assertion, "assertion", _ASSERTION_PAGE
)


_GOES_ON: Final = frozenset({"is_ok", "ok", "or", "or_else", "unwrap_or", "unwrap_or_else"})
"""Methods of a result after which code goes on, whatever went wrong."""


def check_if_available(site: Site) -> Iterator[Intent]:
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
        yield from _check_maker(site)
    within_question = site.parent is not None and site.parent.type == "try_expression"
    if name == f"{site.job.vendor.source}_if_available" and (asks or not within_question):
        yield _write_choice(site, call, path, asks=asks)


def _write_choice(site: Site, call: Node, path: str, *, asks: bool) -> Intent:
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


def _check_maker(site: Site) -> Iterator[Intent]:
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


_IF_AVAILABLE_PAGE = """\
A choice of CUDA's device where there is one: ``Device::cuda_if_available(0)``.

The call gives CUDA's device or the CPU. On a machine without CUDA the next question is ROCm's, and
only then the answer is the CPU: the call becomes a ``match`` on its own result.

A call without ``?`` behind it is a result, which the ``match`` gives as well, with what went wrong
as it is: ``Device::cuda_if_available(0).unwrap_or(Device::Cpu)`` goes on as it did.

What makes CUDA's device, ``Device::new_cuda(0)``, makes ROCm's where that fails and the code goes
on without it, as with ``.unwrap_or(Device::Cpu)``. Where nothing asks whether it is there, it is a
person's.

Not handled: a call of a type that is CUDA's own, which is left to a person.
"""
IF_AVAILABLE = SiteRule(
    "PK406",
    frozenset({"call_expression", "identifier", "try_expression"}),
    check_if_available,
    "if_available",
    _IF_AVAILABLE_PAGE,
)


def check_device_lookup(site: Site) -> Iterator[Intent]:
    """Find a call of a function of this file that is named after the source vendor."""
    job, name = site.job, field_text(site.node, "function")
    if site.scope.vendor or not job.mentions_cuda(name) or not name.isidentifier():
        return
    function = _index_functions(site).get(name)
    if function is None:
        return
    construct, copy = "search for a device", job.rename(name)
    answer = field_text(function, "return_type")
    kind = answer.partition("<")[0].rpartition("::")[2]
    wrap = {"Option": copy, "Result": f"|_| {copy}()"}.get(kind, "")
    if (
        job.rename(answer) != answer
        or cuda_only_deps.explain_cuda_dependency(site, node_text(function)) is not None
    ):
        wrap = ""
    if not wrap or site.code != f"{name}()":
        yield RequireManual(
            construct, f"it calls {name}, whose copy is {copy}: see which is meant, by hand"
        )
        return
    yield ReplaceText(
        construct,
        f"ask for {job.vendor.title} where there is none of CUDA's",
        old=site.code,
        new=f"{site.code}.or_else({wrap})",
        sign=copy,
        within=find_statement(site.node),
    )


def _index_functions(site: Site) -> dict[str, Node]:
    """Return the functions of the file, outside modules and conditions, by name."""

    def find() -> dict[str, Node]:
        return {
            item.symbol: item.node
            for item in find_items(site.source)
            if item.node.type == "function_item"
            and not parse_conditions(find_attributes(item.node, item.attributes))
        }

    return site.memoize("functions outside conditions", make=find)


_DEVICE_LOOKUP_PAGE = """\
A call of a function that looks for CUDA's device: ``cuda_device().expect("..")``.

The function, ``fn cuda_device() -> Option<Device>``, is copied under ROCm's name (PK503), and
nothing calls the copy yet. What it answers with where there is no such device, ``None`` or an
error, is the question to ROCm's: ``cuda_device().or_else(rocm_device)``.

Not handled: a function of another file, and one with arguments, or that answers otherwise, whose
calls are a person's.
"""
DEVICE_LOOKUP = SiteRule(
    "PK409",
    frozenset({"call_expression"}),
    check_device_lookup,
    "device_lookup",
    _DEVICE_LOOKUP_PAGE,
)
