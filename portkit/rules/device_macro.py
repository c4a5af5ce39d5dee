"""A macro that takes one argument per backend, such as ``test_device!``.

``($fn_name: ident, $test_cpu: ident, $test_cuda: ident, $test_metal: ident)`` has a position for
CUDA. Where that argument does nothing but name a test of ``$fn_name``, the macro makes ROCm's
itself, as ``rocm`` in a module that is called as ``$fn_name`` is. Calls stay as they are, and a
test that upstream adds later runs on ROCm without a change. The macro does not do so if one module
tests a function twice, since two modules would have one name.

Elsewhere the macro gains a rule with one more position after CUDA's, and in that rule's body
everything that stands for CUDA is copied. The old rule stays behind the new one: the macro may be
exported, and downstream calls with the old number of arguments must go on compiling.

Not handled: an argument that repeats, ``$($test_cuda: ident),*``, which is listed as unaccounted.
"""

from __future__ import annotations

import re
import textwrap
from functools import partial
from typing import TYPE_CHECKING

from portkit.context.device_macros import (
    describe_device_macro,
    find_device_rule,
    find_named_test,
    find_shared_name,
    generates_rocm_test,
    has_rocm_parameter,
    is_cuda_parameter,
    list_conditional_items,
    list_parameters,
    list_plain_rules,
)
from portkit.context.intent import AlreadyPorted, InsertText, Intent, LeaveUnchanged, RequireManual
from portkit.rules import SiteRule
from portkit.syntax.source_file import field_text, parses_as_items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.context.port_job import DeviceMacro, PortJob, Site


def check(site: Site) -> Iterator[Intent]:
    """Find the definition of a macro with an argument for the source vendor."""
    job = site.job
    macro = describe_device_macro(job, site.node)
    if macro is None:
        return
    construct, symbol, title = "macro definition", f"{macro.name}!", job.vendor.title
    if generates_rocm_test(job, macro):
        yield _itself(site, construct, symbol)
        return
    message = (
        f"{symbol} takes one more argument, for {title}; calls with "
        f"{macro.arity} arguments still work"
    )
    if any(has_rocm_parameter(job, list_parameters(rule)) for rule in list_plain_rules(site.node)):
        yield AlreadyPorted(construct, message, symbol=symbol)
        return
    rule = find_device_rule(job, site.node)
    assert rule is not None  # `described` found it
    if name := find_shared_name(job, rule):
        why = (
            f"{symbol} defines {name} under the feature, and a copy for {title} has the same name:"
            " give the macro one more rule by hand"
        )
        yield RequireManual(construct, why, symbol=symbol)
        return
    right = rule.child_by_field_name("right")
    assert right is not None  # `described` read it
    head = site.source.text(rule.start_byte, right.start_byte)
    named = next(p for p in list_parameters(rule) if is_cuda_parameter(job, p))
    argument = re.compile(rf"(\${named})(\s*:\s*\w+)")
    head = argument.sub(lambda m: f"{m[0]}, {job.rename(m[1])}{m[2]}", head, count=1)
    indent = site.source.indent(rule.start_byte)
    text = f"{head}{_ported_body(site, rule)};\n{indent}"
    if not parses_as_items(f"macro_rules! m {{ {text} }}"):
        yield _unread(construct, symbol)
        return
    yield InsertText(construct, message, symbol=symbol, text=text, at=rule.start_byte)


def _itself(site: Site, construct: str, symbol: str) -> Intent:
    """Return what is wanted of a macro whose calls name no test of the written vendor's."""
    job = site.job
    rule = find_device_rule(job, site.node)
    assert rule is not None  # the macro is one that takes an argument for the source vendor
    test = find_named_test(job, rule)
    if test is None:
        return LeaveUnchanged(
            construct, f"what {symbol} calls makes {job.vendor.title}'s test", symbol=symbol
        )
    body = field_text(rule, "right")
    title, indent = job.vendor.title, test.item.indent
    message = f"{symbol} makes a test for {title} itself, so that its calls stay as they are"
    condition = job.rename(test.item.condition)
    module = f"mod ${test.tested}"
    if re.search(rf"{re.escape(condition)}\s*{re.escape(module)}\b", body):
        return AlreadyPorted(construct, message, symbol=symbol)
    name = re.compile(r"(\bfn\s+)\$\w+")
    rest = test.item.rest.replace("\r\n", "\n")
    if not rest.startswith("\n"):
        rest = f"\n{indent}{rest.lstrip()}"
    copied = job.rename(name.sub(rf"\g<1>{job.vendor.name}", rest, count=1))
    text = (
        f"\n\n{indent}{condition}\n{indent}{module} {{\n{indent}    use super::*;\n"
        f"{textwrap.indent(copied, '    ')}\n{indent}}}"
    )
    before, after = body[: test.item.end], body[test.item.end :]
    ported = f"{field_text(rule, 'left')} => {before}{text}{after}"
    if not parses_as_items(f"macro_rules! m {{ {ported}; }}"):
        return _unread(construct, symbol)
    right = rule.child_by_field_name("right")
    assert right is not None  # it has a text
    at = right.start_byte + len(before.encode())
    return InsertText(construct, message, symbol=symbol, text=text, at=at)


def _unread(construct: str, symbol: str) -> Intent:
    """Return what is asked of a person where what would be written could not be read."""
    why = f"give it one more rule by hand: portkit does not understand what {symbol} stands for"
    return RequireManual(construct, why, symbol=symbol)


def _ported_body(site: Site, rule: Node) -> str:
    """Return the body of the new rule: conditional items copied, nested calls with an argument."""
    job, body = site.job, field_text(rule, "right")
    copied, end = "", 0
    for item in list_conditional_items(job, rule):
        copied += f"{body[end : item.end]}{item.gap}{job.rename(item.text)}"
        end = item.end
    copied += body[end:]
    for macro in job.tree_facts.macros.values():
        nested = re.compile(rf"(\b{macro.name}!\s*\()([^()]*)(\))")
        copied = nested.sub(partial(_with_argument, job, macro), copied)
    return copied.replace("\r\n", "\n")


def _with_argument(job: PortJob, macro: DeviceMacro, call: re.Match[str]) -> str:
    return call[1] + _more(job, macro, call[2]) + call[3]


def _more(job: PortJob, macro: DeviceMacro, arguments: str) -> str:
    parts = arguments.split(",")
    if len([p for p in parts if p.strip()]) != macro.arity or not macro.behind:
        return arguments
    added = job.rename(parts[macro.position])
    return ",".join([*parts[: macro.position + 1], added, *parts[macro.position + 1 :]])


RULE = SiteRule("PK601", frozenset({"macro_definition"}), check)
