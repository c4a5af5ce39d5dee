"""Macros that have one argument for each backend."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from functools import partial
from typing import Final

from tree_sitter import Node

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
from portkit.context.intent import (
    AddToList,
    AlreadyPorted,
    InsertText,
    Intent,
    LeaveUnchanged,
    ListMember,
    RequireManual,
)
from portkit.context.macro_fragments import find_macro_name, is_evaluating
from portkit.context.macro_items import count_copies, find_arms, is_gated
from portkit.context.port_job import DeviceMacro, PortJob, Site
from portkit.port import gating
from portkit.rules import SiteRule
from portkit.syntax.source_file import COMMENTS, field_text, node_text, parses_as_items
from portkit.syntax.span import Span


def check_device_macro(site: Site) -> Iterator[Intent]:
    """Find the definition of a macro with an argument for the source vendor."""
    job = site.job
    macro = describe_device_macro(job, site.node)
    if macro is None:
        return
    construct, symbol, title = "macro definition", f"{macro.name}!", job.vendor.title
    if generates_rocm_test(job, macro):
        yield _generate_test(site, construct, symbol)
        return
    message = (
        f"{symbol} takes one more argument, for {title}; calls with "
        f"{macro.arity} arguments still work"
    )
    if any(has_rocm_parameter(job, list_parameters(rule)) for rule in list_plain_rules(site.node)):
        yield AlreadyPorted(construct, message, symbol=symbol)
        return
    rule = find_device_rule(job, site.node)
    assert rule is not None  # `describe_device_macro` found it
    if name := find_shared_name(job, rule):
        why = (
            f"{symbol} defines {name} under the feature, and a copy for {title} has the same name:"
            " give the macro one more rule by hand"
        )
        yield RequireManual(construct, why, symbol=symbol)
        return
    right = rule.child_by_field_name("right")
    assert right is not None  # `describe_device_macro` read it
    head = site.source.text(rule.start_byte, right.start_byte)
    named = next(p for p in list_parameters(rule) if is_cuda_parameter(job, p))
    argument = re.compile(rf"(\${named})(\s*:\s*\w+)")
    head = argument.sub(lambda m: f"{m[0]}, {job.rename(m[1])}{m[2]}", head, count=1)
    indent = site.source.indent(rule.start_byte)
    text = f"{head}{_port_body(site, rule)};\n{indent}"
    if not parses_as_items(f"macro_rules! m {{ {text} }}"):
        yield _require_reading(construct, symbol)
        return
    yield InsertText(construct, message, symbol=symbol, text=text, at=rule.start_byte)


def _generate_test(site: Site, construct: str, symbol: str) -> Intent:
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
        return _require_reading(construct, symbol)
    right = rule.child_by_field_name("right")
    assert right is not None  # it has a text
    at = right.start_byte + len(before.encode())
    return InsertText(construct, message, symbol=symbol, text=text, at=at)


def _require_reading(construct: str, symbol: str) -> Intent:
    """Return what is asked of a person where what would be written could not be read."""
    why = f"give it one more rule by hand: portkit does not understand what {symbol} stands for"
    return RequireManual(construct, why, symbol=symbol)


def _port_body(site: Site, rule: Node) -> str:
    """Return the body of the new rule: conditional items copied, nested calls with an argument."""
    job, body = site.job, field_text(rule, "right")
    copied, end = "", 0
    for item in list_conditional_items(job, rule):
        copied += f"{body[end : item.end]}{item.gap}{job.rename(item.text)}"
        end = item.end
    copied += body[end:]
    for macro in job.tree_facts.macros.values():
        nested = re.compile(rf"(\b{macro.name}!\s*\()([^()]*)(\))")
        copied = nested.sub(partial(_add_argument, job, macro), copied)
    return copied.replace("\r\n", "\n")


def _add_argument(job: PortJob, macro: DeviceMacro, call: re.Match[str]) -> str:
    return call[1] + _insert_argument(job, macro, call[2]) + call[3]


def _insert_argument(job: PortJob, macro: DeviceMacro, arguments: str) -> str:
    parts = arguments.split(",")
    if len([p for p in parts if p.strip()]) != macro.arity or not macro.behind:
        return arguments
    added = job.rename(parts[macro.position])
    return ",".join([*parts[: macro.position + 1], added, *parts[macro.position + 1 :]])


_DEVICE_MACRO_PAGE = """\
A macro that takes one argument per backend, such as ``test_device!``.

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
DEVICE_MACRO = SiteRule(
    "PK601", frozenset({"macro_definition"}), check_device_macro, "device_macro", _DEVICE_MACRO_PAGE
)


def check_device_macro_call(site: Site) -> Iterator[Intent]:
    """Find a call of a macro whose definition names the source vendor."""
    job = site.job
    macro = job.tree_facts.macros.get(field_text(site.node, "macro").rsplit("::", 1)[-1])
    if macro is None:
        return
    construct = f"call of {macro.name}!"
    node = site.node
    tree = next((c for c in node.named_children if c.type == "token_tree"), None)
    groups: list[list[Node]] = [[]]
    for child in tree.children[1:-1] if tree is not None else ():
        if child.type == ",":
            groups.append([])
        elif child.type not in COMMENTS:
            groups[-1].append(child)
    arguments = [g for g in groups if g]
    symbol = node_text(arguments[0][0]) if arguments else macro.name
    if len(arguments) < macro.arity:
        message = f"it takes a form of {macro.name}! that has no argument for each backend"
        yield LeaveUnchanged(construct, message, symbol=symbol)
        return
    if generates_rocm_test(job, macro):
        message = f"{macro.name}! makes {job.vendor.title}'s test itself"
        yield LeaveUnchanged(construct, message, symbol=symbol)
        return
    group = arguments[macro.position]
    after = Span(group[0].start_byte, group[-1].end_byte)
    argument = site.source.slice(after)
    new = job.rename(argument)
    if new == argument:
        new = argument.replace("gpu", job.vendor.name)
    name = new if new != argument else f"{argument}_{job.vendor.name}"
    message = f"name the test of {job.vendor.title}: {name}"
    if len(arguments) > macro.arity:
        yield AlreadyPorted(construct, message, symbol=symbol)
    elif not macro.behind:
        yield RequireManual(
            construct, f"{message}, where the macro's definition has it", symbol=symbol
        )
    else:
        yield AddToList(construct, message, symbol=symbol, members=(ListMember(after, name),))


_DEVICE_MACRO_CALL_PAGE = """\
A call of a macro that takes one argument per backend.

``test_device!(add, add_cpu, add_gpu, add_metal)`` makes a test for each backend. Where the macro
makes ROCm's itself (PK601), the call stays as it is. Elsewhere it gains the name of ROCm's, in the
position that the macro's definition gives it. The argument is found by that position and not by its
text: many calls name CUDA's test ``_gpu``.

Not handled: a call among the arguments of another macro.
"""
DEVICE_MACRO_CALL = SiteRule(
    "PK602",
    frozenset({"macro_invocation"}),
    check_device_macro_call,
    "device_macro_call",
    _DEVICE_MACRO_CALL_PAGE,
)


_MACRO_ARM: Final = "match arm in a macro"
_NO_ATTRIBUTE: Final = (
    "this macro takes no attribute before an arm, so no arm of a call can be under the feature:"
    " write the arm in the macro by hand"
)
_UNGATED: Final = (
    "This macro does not put an arm's attributes on all that it makes of the arm. So no arm can be"
    " under the feature. Write the arm in the macro by hand."
)


def check_macro_arm(site: Site) -> Iterator[Intent]:
    """Find the arms for the source vendor among the arguments of a macro."""
    job, call = site.job, site.node
    if site.scope.vendor or site.is_cuda_only or is_evaluating(call):
        return
    message = f"copy the arm for {job.vendor.title}"
    attribute = gating.write_feature_attribute(job) if gating.requires_cfg(site) else ""
    for arm, count in find_arms(site, call):
        copy = job.rename(site.source.slice(arm.span))
        copies = _write_gated(copy, attribute) if attribute else (copy,)
        right = next((c for c in copies if count_copies(site, call, arm, c) == 1), "")
        if count > 1 or job.mentions_rocm(arm.pattern):
            yield AlreadyPorted(_MACRO_ARM, message, claims=(arm.span,))
        elif right and attribute and not is_gated(site, call, arm, right):
            yield RequireManual(_MACRO_ARM, _UNGATED, claims=(arm.span,))
        elif right:
            member = ListMember(arm.span, right, separator=arm.separator)
            yield AddToList(_MACRO_ARM, message, members=(member,), claims=(arm.span,))
        else:
            reason = (
                f"{find_macro_name(call)}! takes no such arm as portkit would write. The match"
                " lacks one"
                f" for {job.vendor.title}. Write it by hand."
            )
            yield RequireManual(_MACRO_ARM, _NO_ATTRIBUTE if count else reason, claims=(arm.span,))


def _write_gated(copy: str, attribute: str) -> tuple[str, ...]:
    """Return an arm under an attribute, which may also be within the brackets of the arm."""
    if copy.startswith(attribute):
        return (copy,)
    inside = (f"{copy[0]}{attribute} {copy[1:]}",) if copy[0] in "([{" else ()
    return (f"{attribute} {copy}", *inside)


_MACRO_ARM_PAGE = """\
An arm of a `match` that is an argument of the tree's own macro.

`arms!(d; Device::Cuda(i) => i)` writes a `match` from its arguments, so an arm for ROCm joins them:
`arms!(d; Device::Cuda(i) => i, Device::Rocm(i) => i)`. The macro's own rule says where an arm ends
and what separates two arms, also within brackets: `arms!(d, { Cpu => 0, Cuda => 1 })`. portkit
expands the call with and without the new arm, and writes it only if each `match` gains that one
arm.

Without it the `match` lacks a variant, and rustc refuses it in every build (E0004).

With `--gating cfg` the variant exists only under the feature. If the macro takes no attribute
before an arm, or loses it in what it writes, the place is manual.

Not handled: a macro of another crate, which is listed as unaccounted.
"""
MACRO_ARM = SiteRule(
    "PK411", frozenset({"macro_invocation"}), check_macro_arm, "macro_arm", _MACRO_ARM_PAGE
)
