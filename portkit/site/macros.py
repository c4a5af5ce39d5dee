"""Macros that take one argument per backend."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.lang.source import field_text
from portkit.lang.value import Value
from portkit.site.context import DeviceMacro

if TYPE_CHECKING:
    from tree_sitter import Node

    from portkit.site.context import Job

_PARAMETER = re.compile(r"\$(\w+)\s*:\s*\w+")
_NAME = re.compile(r"\$(\w+)\s*:\s*ident\b")
_NESTED = re.compile(r"\b(\w+)!\s*\(([^()]*)\)")
_CALLED = re.compile(r"\$(\w+)\s*\(")


class NamedTest(Value, frozen=True):
    """A test of the source vendor in the body of a macro, which a parameter names.

    Attributes:
        item: the test, in groups: ``indent``, its ``condition``, and the ``rest``.
        tested: the parameter that it calls.
    """

    item: re.Match[str]
    tested: str


def described(job: Job, node: Node) -> DeviceMacro | None:
    """Return what a macro takes, if one of its parameters is named after the source vendor.

    The arity is that of a call before the port, whether the macro has been ported or not.
    """
    rule = device_rule(job, node)
    if rule is None:
        return None
    named = parameters(rule)
    before = [parameter for parameter in named if not of_vendor(job, parameter)]
    position = next(i for i, parameter in enumerate(before) if of_source(job, parameter))
    behind = before == named or of_vendor(job, named[position + 1])
    name, arity = field_text(node, "name"), len(before)
    passes = _passes(job, node, rule)
    if passes is None:
        return DeviceMacro(name, position, arity, behind)
    return DeviceMacro(name, position, arity, behind, is_name=True, passes=passes)


def makes_test(job: Job, macro: DeviceMacro) -> bool:
    """Whether a macro makes the written vendor's test itself, so that its calls name none."""
    pending, seen = [macro], {macro.name}
    while pending:
        macro = pending.pop()
        known = [job.learnt.macros[name] for name in macro.passes if name in job.learnt.macros]
        if not macro.is_name or len(known) < len(macro.passes):
            return False
        pending += [other for other in known if other.name not in seen]
        seen.update(macro.passes)
    return True


def named_test(job: Job, rule: Node) -> NamedTest | None:
    """Return the test of the source vendor that a rule makes, where an argument names it.

    Its name is its own alone, and it calls one argument that is a name. A text over several lines
    cannot be indented, and such a test is none.
    """
    body = field_text(rule, "right")
    named = next(p for p in parameters(rule) if of_source(job, p))
    made = re.compile(rf"#\[\s*test\s*\](?:\s*#\[[^\]]*\])*\s*fn\s+\${named}\s*\(\s*\)[^{{]*")
    found = [(item, made.search(item["rest"])) for item in conditional_items(job, body)]
    tests = [(item, head) for item, head in found if head]
    if len(tests) != 1:
        return None
    [(item, head)] = tests
    called = set(_CALLED.findall(item["rest"], head.end()))
    whole = all(line.count('"') % 2 == 0 for line in item["rest"].splitlines())
    names = set(_NAME.findall(field_text(rule, "left")))
    if len(called) != 1 or not called <= names - {named} or not whole:
        return None
    return NamedTest(item, called.pop())


def conditional_items(job: Job, body: str) -> list[re.Match[str]]:
    """Return the items of a body that stand under the source vendor's feature."""
    feature = re.escape(job.source_feature)
    condition = rf'#\[\s*cfg\s*\(\s*feature\s*=\s*"{feature}"\s*\)\s*\]'
    items = re.compile(
        rf"(?P<indent>[ \t]*)(?P<item>(?P<condition>{condition})"
        r"(?P<rest>(?:(?!\n(?P=indent)\}).)*\n(?P=indent)\}))",
        re.DOTALL,
    )
    return [*items.finditer(body)]


def _passes(job: Job, node: Node, rule: Node) -> tuple[str, ...] | None:
    """Return the macros that the source vendor's argument is passed on to.

    None where it does more than that and name a test, or an argument for the written vendor stands.
    """
    rules = [parameters(each) for each in plain_rules(node)]
    one = sum(any(of_source(job, p) for p in each) for each in rules) == 1
    if not one or any(takes_vendor(job, each) for each in rules):
        return None
    named = next(p for p in parameters(rule) if of_source(job, p))
    use = re.compile(rf"\${named}\b")
    body = field_text(rule, "right")
    nested = [call for call in _NESTED.finditer(body) if use.search(call[2])]
    test = named_test(job, rule)
    made = int(test is not None)
    uses = sum(len(use.findall(call[2])) for call in nested) + made
    others = len(conditional_items(job, body)) - made
    if others or not uses or uses != len(use.findall(body)):
        return None
    return tuple(sorted({call[1] for call in nested}))


def plain_rules(node: Node) -> list[Node]:
    """Return the rules of a macro whose parameters do not repeat."""
    rules = [c for c in node.named_children if c.type == "macro_rule"]
    return [rule for rule in rules if "$(" not in field_text(rule, "left")]


def device_rule(job: Job, node: Node) -> Node | None:
    """Return the first rule of a macro with a parameter that is named after the source vendor."""
    rules = plain_rules(node)
    return next((r for r in rules if any(of_source(job, p) for p in parameters(r))), None)


def of_source(job: Job, parameter: str) -> bool:
    """Whether a parameter is named after the source vendor alone, so that it has a counterpart."""
    named = job.vendor.source in parameter.lower() and job.rename(parameter) != parameter
    return named and job.vendor.name not in parameter.lower()


def parameters(rule: Node) -> list[str]:
    """Return the names of a rule's parameters."""
    return _PARAMETER.findall(field_text(rule, "left"))


def takes_vendor(job: Job, names: list[str]) -> bool:
    """Whether one of the parameters is the written vendor's."""
    return any(of_vendor(job, name) for name in names)


def of_vendor(job: Job, parameter: str) -> bool:
    """Whether a parameter is named after the written vendor alone."""
    name = parameter.lower()
    return job.vendor.name in name and job.vendor.source not in name
