"""Macros that take one argument per backend."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from portkit.context.macro_items import find_calls, find_definitions
from portkit.context.port_job import DeviceMacro, PortJob
from portkit.syntax.source_file import COMMENTS, field_text, node_text
from portkit.syntax.token_items import find_item_end, skip_attributes
from portkit.syntax.value import Value

_PARAMETER = re.compile(r"\$(\w+)\s*:\s*\w+")
_NAME = re.compile(r"\$(\w+)\s*:\s*ident\b")
_NESTED = re.compile(r"\b(\w+)!\s*\(([^()]*)\)")
_LAST_COMMA = re.compile(r"\$\(\s*,\s*\)\s*[?*]\s*(?=[)\]}]$)")
_DEFINED = re.compile(
    r"(?:\s*#\[[^\]]*\])*\s*(?:pub\s*(?:\([^)]*\)\s*)?)?(?:(?:async|const|unsafe)\s+)*"
    r"(?:const|enum|fn|mod|static|struct|trait|type|union)\s+(\$?\w+)"
)
"""The name of an item, which may be a parameter."""
_CALLED = re.compile(r"\$(\w+)\s*\(")


class ConditionalItem(Value, frozen=True):
    """An item, a statement or an arm of a macro's body that is under a condition."""

    start: int  # where it begins in the text of the body, its attributes included
    end: int  # where it ends
    indent: str  # the white space that begins its line
    condition: str  # the attribute
    text: str  # all of it
    rest: str  # all but the condition
    gap: str  # the white space before a copy behind it, with a comma if that is required


class NamedTest(Value, frozen=True):
    """A test of the source vendor in the body of a macro, which a parameter names."""

    item: ConditionalItem  # the test
    tested: str  # the parameter that it calls


def describe_device_macro(job: PortJob, node: Node) -> DeviceMacro | None:
    """Return what a macro takes, if one of its parameters is named after the source vendor.

    The arity is that of a call before the port, whether the macro has been ported or not.
    """
    rule = find_device_rule(job, node)
    if rule is None:
        return None
    named = list_parameters(rule)
    before = [parameter for parameter in named if not is_rocm_parameter(job, parameter)]
    position = next(i for i, parameter in enumerate(before) if is_cuda_parameter(job, parameter))
    behind = before == named or is_rocm_parameter(job, named[position + 1])
    name, arity = field_text(node, "name"), len(before)
    passes = _find_passed_macros(job, node, rule)
    if passes is None:
        return DeviceMacro(name, position, arity, behind)
    return DeviceMacro(name, position, arity, behind, is_name=True, passes=passes)


def generates_rocm_test(job: PortJob, macro: DeviceMacro) -> bool:
    """Whether a macro makes the written vendor's test itself, so that its calls name none."""

    def look() -> bool:
        return _passes_names_alone(job, macro) and not _tests_twice(job, macro)

    return job.memoize("makes a test", macro.name, make=look)


def _tests_twice(job: PortJob, macro: DeviceMacro) -> bool:
    """Whether two calls in one module are about one function, after which a module is called."""
    found: set[tuple[str, int, str]] = set()
    for index in _find_tested(job, macro.name):
        for source, call in find_calls(job, macro.name):
            text = node_text(call)
            if job.mentions_rocm(text) and not job.mentions_cuda(text):
                continue  # a copy of another call
            name = _read_argument(call, index)
            key = source.path, _find_module(call).id, name
            if name and key in found:
                return True
            found.add(key)
    return False


def _find_tested(job: PortJob, name: str, outer: frozenset[str] = frozenset()) -> frozenset[int]:
    """Return which arguments of a macro name the functions that its tests, or others', call."""
    seen = outer | {name}
    found: set[int] = set()
    for definition in find_definitions(job, name):
        rule = find_device_rule(job, definition)
        if rule is None:
            continue
        named = list_parameters(rule)
        test = find_named_test(job, rule)
        tested = {test.tested} if test is not None else set[str]()
        for call in _NESTED.finditer(field_text(rule, "right")):
            given = call[2].split(",")
            if call[1] not in seen and call[1] in job.tree_facts.macros:
                inner = _find_tested(job, call[1], seen)
                tested |= {given[i].strip().lstrip("$") for i in inner if i < len(given)}
        found |= {named.index(each) for each in tested if each in named}
    return frozenset(found)


def _read_argument(call: Node, index: int) -> str:
    """Return an argument of a call; an empty string for a parameter of a macro around it."""
    tree = next((c for c in call.named_children if c.type == "token_tree"), None)
    given = node_text(tree)[1:-1].split(",") if tree is not None else []
    name = given[index].strip() if index < len(given) else ""
    return "" if name.startswith("$") else name


def _find_module(call: Node) -> Node:
    """Return the module, or the file, that holds a call."""
    node = call
    while node.parent is not None and node.type != "mod_item":
        node = node.parent
    return node


def _passes_names_alone(job: PortJob, macro: DeviceMacro) -> bool:
    """Whether a macro and those that it calls do nothing but name tests."""
    pending, seen = [macro], {macro.name}
    while pending:
        macro = pending.pop()
        known = [
            job.tree_facts.macros[name] for name in macro.passes if name in job.tree_facts.macros
        ]
        if not macro.is_name or len(known) < len(macro.passes):
            return False
        pending += [other for other in known if other.name not in seen]
        seen.update(macro.passes)
    return True


def find_named_test(job: PortJob, rule: Node) -> NamedTest | None:
    """Return the test of the source vendor that a rule makes, where an argument names it.

    Its name is its own alone, and it calls one argument that is a name. A text over several lines
    cannot be indented, and such a test is none.
    """
    named = next(p for p in list_parameters(rule) if is_cuda_parameter(job, p))
    made = re.compile(rf"#\[\s*test\s*\](?:\s*#\[[^\]]*\])*\s*fn\s+\${named}\s*\(\s*\)[^{{]*")
    found = [(item, made.search(item.rest)) for item in list_conditional_items(job, rule)]
    tests = [(item, head) for item, head in found if head]
    if len(tests) != 1:
        return None
    [(item, head)] = tests
    called = set(_CALLED.findall(item.rest, head.end()))
    whole = all(line.count('"') % 2 == 0 for line in item.rest.splitlines())
    names = set(_NAME.findall(field_text(rule, "left")))
    if len(called) != 1 or not called <= names - {named} or not whole:
        return None
    return NamedTest(item, called.pop())


def list_conditional_items(job: PortJob, rule: Node) -> list[ConditionalItem]:
    """Return the items of a rule's body that are under the source vendor's feature."""
    body = rule.child_by_field_name("right")
    if body is None or job.source_feature not in node_text(body):
        return []
    feature = re.escape(job.source_feature)
    condition = re.compile(rf'\[\s*cfg\s*\(\s*feature\s*=\s*"{feature}"\s*,?\s*\)\s*\]')
    return [*_find_items(body, body, condition)]


def find_shared_name(job: PortJob, rule: Node) -> str:
    """Return a name that an item under the source vendor's feature shares with its copy."""
    for item in list_conditional_items(job, rule):
        found = _DEFINED.match(item.rest)
        if found is not None and job.rename(found[1]) == found[1]:
            return found[1]
    return ""


def _find_items(body: Node, tree: Node, condition: re.Pattern[str]) -> Iterator[ConditionalItem]:
    """Yield the items of a token tree under a condition, in order, none within another one."""
    tokens = [child for child in tree.children if child.type not in COMMENTS][1:-1]
    at = 0
    while at < len(tokens):
        first = skip_attributes(tokens, at)
        matching = [i for i in range(at + 1, first, 2) if condition.fullmatch(node_text(tokens[i]))]
        if matching:
            end = find_item_end(tokens, at)
            yield _read_item(body, tokens[at:end], matching[0] - at, is_last=end == len(tokens))
            at = end
        else:
            at = max(first, at + 1)
            if tokens[at - 1].type.startswith("token_") and first < at:
                yield from _find_items(body, tokens[at - 1], condition)


def _read_item(
    body: Node, tokens: Sequence[Node], condition: int, *, is_last: bool
) -> ConditionalItem:
    """Return the tokens of an item, one of which is the tree of its condition."""
    data, base = body.text or b"", body.start_byte
    spans = [(token.start_byte - base, token.end_byte - base) for token in tokens]
    start, end = spans[0][0], spans[-1][1]
    before = data[:start].decode()
    line = before[before.rfind("\n") + 1 :]
    indent = line[: len(line) - len(line.lstrip())]
    opened, closed = spans[condition - 1][0], spans[condition][1]
    after = data[closed:end].decode()
    rest = after if start == opened else data[start:opened].decode() + after.lstrip()
    is_open = is_last and "=>" in map(node_text, tokens) and node_text(tokens[-1]) != ","
    return ConditionalItem(
        start=len(before),
        end=len(data[:end].decode()),
        indent=indent,
        condition=data[opened:closed].decode(),
        text=data[start:end].decode(),
        rest=rest,
        gap="," * is_open + (" " if line.strip() else f"\n\n{indent}"),
    )


def _find_passed_macros(job: PortJob, node: Node, rule: Node) -> tuple[str, ...] | None:
    """Return the macros that the source vendor's argument is passed on to.

    None where it does more than that and name a test, or an argument for the written vendor stands.
    """
    rules = [list_parameters(each) for each in list_plain_rules(node)]
    one = sum(any(is_cuda_parameter(job, p) for p in each) for each in rules) == 1
    if not one or any(has_rocm_parameter(job, each) for each in rules):
        return None
    named = next(p for p in list_parameters(rule) if is_cuda_parameter(job, p))
    use = re.compile(rf"\${named}\b")
    body = field_text(rule, "right")
    nested = [call for call in _NESTED.finditer(body) if use.search(call[2])]
    test = find_named_test(job, rule)
    made = int(test is not None)
    uses = sum(len(use.findall(call[2])) for call in nested) + made
    others = len(list_conditional_items(job, rule)) - made
    if others or not uses or uses != len(use.findall(body)):
        return None
    return tuple(sorted({call[1] for call in nested}))


def list_plain_rules(node: Node) -> list[Node]:
    """Return the rules of a macro whose parameters do not repeat; a last comma may be optional."""
    rules = [c for c in node.named_children if c.type == "macro_rule"]
    return [r for r in rules if "$(" not in _LAST_COMMA.sub("", field_text(r, "left"))]


def find_device_rule(job: PortJob, node: Node) -> Node | None:
    """Return the first rule of a macro with a parameter that is named after the source vendor."""
    rules = list_plain_rules(node)
    return next(
        (r for r in rules if any(is_cuda_parameter(job, p) for p in list_parameters(r))), None
    )


def is_cuda_parameter(job: PortJob, parameter: str) -> bool:
    """Whether a parameter is named after the source vendor alone, so that it has a counterpart."""
    named = job.vendor.source in parameter.lower() and job.rename(parameter) != parameter
    return named and job.vendor.name not in parameter.lower()


def list_parameters(rule: Node) -> list[str]:
    """Return the names of a rule's parameters."""
    return _PARAMETER.findall(field_text(rule, "left"))


def has_rocm_parameter(job: PortJob, names: list[str]) -> bool:
    """Whether one of the parameters is the written vendor's."""
    return any(is_rocm_parameter(job, name) for name in names)


def is_rocm_parameter(job: PortJob, parameter: str) -> bool:
    """Whether a parameter is named after the written vendor alone."""
    name = parameter.lower()
    return job.vendor.name in name and job.vendor.source not in name
