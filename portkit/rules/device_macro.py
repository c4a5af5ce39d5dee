"""A macro that takes one argument per backend, such as ``test_device!``.

``($fn_name: ident, $test_cpu: ident, $test_cuda: ident, $test_metal: ident)`` has a position for
CUDA. The macro gains a rule with one more position after it, and in that rule's body everything
that stands for CUDA is copied. The old rule stays behind the new one: the macro may be exported,
and downstream calls with the old number of arguments must go on compiling.

Not handled: an argument that repeats, ``$($test_cuda: ident),*``, which is listed as unaccounted.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.source import field_text
from portkit.rules import Rule
from portkit.site.context import DeviceMacro
from portkit.tree.finding import Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Job, Site

CODE = "PK601"

_PARAMETER = re.compile(r"\$(\w+)\s*:\s*\w+")


def describe(job: Job, node: Node) -> DeviceMacro | None:
    """Return what a macro takes, if one of its parameters is named after the source vendor.

    The arity is that of a call before the port, whether the macro has been ported or not.
    """
    rule = _device_rule(job, node)
    if rule is None:
        return None
    parameters = _parameters(rule)
    position = next(i for i, parameter in enumerate(parameters) if job.names_source(parameter))
    arity = len(parameters) - _takes_vendor(job, parameters)
    return DeviceMacro(field_text(node, "name"), position, arity)


def check(site: Site) -> Iterator[Finding]:
    """Find the definition of a macro with an argument for the source vendor."""
    job = site.job
    macro = describe(job, site.node)
    if macro is None:
        return
    rule = _device_rule(job, site.node)
    assert rule is not None  # `describe` found it
    standing = any(_takes_vendor(job, _parameters(rule)) for rule in _rules(site.node))
    old = site.source.text(rule.start_byte, rule.end_byte)
    head, _, body = old.partition("=>")
    argument = re.compile(rf"(\$\w*{job.vendor.source}\w*)(\s*:\s*\w+)")
    new_head = argument.sub(lambda m: f"{m[0]}, {job.rename(m[1])}{m[2]}", head, count=1)
    indent = site.source.indent(rule.start_byte)
    new = f"{new_head}=>{_ported_body(site, rule, body)};\n{indent}"
    yield emit.finding(
        site,
        CODE,
        "macro definition",
        f"{macro.name}! takes one more argument, for {job.vendor.title}; calls with "
        f"{macro.arity} arguments still work",
        symbol=f"{macro.name}!",
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(rule.start_byte, rule.start_byte, new),),
    )


def _rules(node: Node) -> list[Node]:
    """Return the rules of a macro whose parameters do not repeat."""
    rules = [c for c in node.named_children if c.type == "macro_rule"]
    return [rule for rule in rules if "$(" not in field_text(rule, "left")]


def _device_rule(job: Job, node: Node) -> Node | None:
    """Return the first rule of a macro with a parameter that is named after the source vendor."""
    return next((r for r in _rules(node) if any(map(job.names_source, _parameters(r)))), None)


def _parameters(rule: Node) -> list[str]:
    return _PARAMETER.findall(field_text(rule, "left"))


def _takes_vendor(job: Job, parameters: list[str]) -> bool:
    return any(job.vendor.name in p for p in parameters)


def _ported_body(site: Site, rule: Node, body: str) -> str:
    """Return the body of the new rule: conditional items copied, nested calls with an argument."""
    job = site.job
    items = re.compile(
        r"(?P<indent>[ \t]*)(?P<item>#\[cfg\(feature = \"" + job.vendor.source + r"\"\)\]"
        r"(?:(?!\n(?P=indent)\}).)*\n(?P=indent)\})",
        re.DOTALL,
    )
    copied = items.sub(lambda m: f"{m[0]}\n\n{m['indent']}{job.rename(m['item'])}", body)
    for macro in job.macros.values():
        nested = re.compile(rf"({macro.name}!\s*\()([^()]*)(\))")
        copied = nested.sub(partial(_with_argument, job, macro), copied)
    return copied


def _with_argument(job: Job, macro: DeviceMacro, call: re.Match[str]) -> str:
    return call[1] + _more(job, macro, call[2]) + call[3]


def _more(job: Job, macro: DeviceMacro, arguments: str) -> str:
    parts = arguments.split(",")
    if len([p for p in parts if p.strip()]) != macro.arity:
        return arguments
    added = job.rename(parts[macro.position])
    return ",".join([*parts[: macro.position + 1], added, *parts[macro.position + 1 :]])


RULE = Rule(CODE, "device_macro", frozenset({"macro_definition"}), check)
