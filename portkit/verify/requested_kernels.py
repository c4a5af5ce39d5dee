"""Find the names of kernels that Rust code loads, from its syntax.

A kernel is loaded by its name at run time, so neither rustc nor a build sees a wrong one. The names
are literals, arms of a ``match``, constants of a trait, or formatted with a dtype at the end. What
is not one of these is said to be unknown instead of being left out.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.syntax.items import describe_item, find_items
from portkit.syntax.source_file import field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile
    from portkit.verify.settings import KernelNaming

DTYPE: Final = "{dtype}"
"""Stands in a name for any dtype of the tree."""
ANYTHING: Final = "{}"
"""Stands in a name for what is only known at run time, such as a number."""

_DIVERGES: Final = re.compile(r"(?:return\b|Err\(|(?:\w+::)*(?:bail|panic|todo|unreachable)!)")
_ITEMS: Final = frozenset({"function_item", "impl_item", "mod_item", "struct_item", "trait_item"})
_SAME_TEXT: Final = frozenset({"as_ref", "as_str", "clone", "into", "to_owned", "to_string"})
_PLACEHOLDER: Final = re.compile(r"\{(\w*)[^}]*\}")


@dataclass(frozen=True, slots=True)
class KernelRequest:
    """A call that loads a kernel.

    Attributes:
        module: the constant that holds the module, such as ``AFFINE``.
        names: what it may ask for, with ``DTYPE`` and ``ANYTHING``; sorted.
        unknown: the expression that could not be resolved; empty when all is known.
    """

    path: str
    line: int
    module: str
    names: tuple[str, ...] = ()
    unknown: str = ""

    @property
    def place(self) -> str:
        """``path:line``."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Loader:
    """How the loading functions treat the names that they are given.

    Attributes:
        spelled: what they replace in a name, with the replacements that they try, in order.
        explains: whether they say that a dtype is not implemented where there is no such kernel.
    """

    spelled: tuple[tuple[str, tuple[str, ...]], ...]
    explains: bool

    def candidate_names(self, name: str) -> tuple[str, ...]:
        """Return the names that the loader tries, in order."""
        names: tuple[str, ...] = (name,)
        for old, spellings in self.spelled:
            names = tuple(each.replace(old, new) for new in spellings for each in names)
        return tuple(dict.fromkeys(names))


class _UnknownError(Exception):
    """The text of an expression that says nothing about its values."""


def find_kernel_requests(job: PortJob, settings: KernelNaming) -> list[KernelRequest]:
    """Return every call of the written vendor's code that loads a kernel, by path and line."""
    words = [loader.encode() for loader in settings.loaders]
    found = []
    for path, source in job.workspace.sources.items():
        if path.endswith(".rs") and any(word in source.data for word in words):
            reader = _Reader(job, source, settings)
            found += [reader.asked(call) for call in reader.calls()]
    return found


def list_dtypes(job: PortJob, settings: KernelNaming) -> tuple[str, ...]:
    """Return the dtypes of the tree as names have them, in their order."""
    function = f"fn {settings.dtypes.rpartition('::')[2]}".encode()
    for path, source in job.workspace.sources.items():
        if path.endswith(".rs") and function in source.data:
            for item in find_items(source, [settings.dtypes]):
                if item.symbol == settings.dtypes:
                    return tuple(re.findall(r'"(\w+)"', source.slice(item.span)))
    return ()


def find_loader(job: PortJob, settings: KernelNaming) -> Loader:
    """Return how the vendor's own loading functions treat names."""
    bodies = []
    for path, source in job.workspace.sources.items():
        if not path.endswith(".rs") or not job.mentions_rocm(path):
            continue
        if any(f"fn {name}".encode() in source.data for name in settings.loaders):
            bodies += [
                node_text(node)
                for node in _walk_descendants(source.tree.root_node)
                if node.type == "function_item" and field_text(node, "name") in settings.loaders
            ]
    text = "\n".join(bodies)
    spelled: dict[str, dict[str, None]] = {}
    for old, new in re.findall(r'\.replace\(\s*"(\w+)",\s*"(\w*)"\s*\)', text):
        spelled.setdefault(old, {})[new] = None
    return Loader(
        tuple((old, tuple(spellings)) for old, spellings in spelled.items()),
        settings.explained in text,
    )


class _Reader:
    """Reads the calls of one file."""

    def __init__(self, job: PortJob, source: SourceFile, settings: KernelNaming) -> None:
        self.job = job
        self.source = source
        self.settings = settings

    def calls(self) -> Iterator[Node]:
        for node in _walk_descendants(self.source.tree.root_node):
            if node.type != "call_expression":
                continue
            function = node.child_by_field_name("function")
            if (
                function is not None
                and function.type == "field_expression"
                and field_text(function, "field") in self.settings.loaders
                and node_text(node.child_by_field_name("arguments")) != "()"
                and self._is_vendors(node)
            ):
                yield node

    def asked(self, call: Node) -> KernelRequest:
        arguments = call.child_by_field_name("arguments")
        assert arguments is not None  # the grammar has them
        name, *_, module = arguments.named_children
        line = call.start_point.row + 1
        constant = node_text(module).rpartition("::")[2]
        try:
            names = tuple(sorted(self._values(name)))
        except _UnknownError as error:
            return KernelRequest(self.source.path, line, constant, unknown=str(error))
        return KernelRequest(self.source.path, line, constant, names)

    def _is_vendors(self, node: Node) -> bool:
        names = [self.source.path]
        names += [describe_item(outer) for outer in _walk_ancestors(node) if outer.type in _ITEMS]
        return any(map(self.job.mentions_rocm, names))

    def _values(self, node: Node, at: Sequence[int] = ()) -> set[str]:
        text = node_text(node)
        if _DIVERGES.match(text):
            return set()
        kind = node.type
        if kind == "string_literal":
            return {text[1:-1]}
        if kind == "tuple_expression" and at:
            return self._values(node.named_children[at[0]], at[1:])
        if kind == "identifier":
            return self._bound(node, text, at)
        if kind == "scoped_identifier":
            return self._constants(node)
        if kind == "call_expression":
            return self._called(node)
        if kind == "macro_invocation" and field_text(node, "macro") == "format":
            return self._formatted(node)
        parts = self._parts(node)
        if parts is None:
            raise _UnknownError(text)
        return set().union(*(self._values(part, at) for part in parts))

    def _parts(self, node: Node) -> list[Node] | None:
        """Return the expressions of which one is the value of this one."""
        if node.type == "match_expression":
            body = node.child_by_field_name("body")
            arms = body.named_children if body is not None else []
            values = (arm.child_by_field_name("value") for arm in arms)
            return [value for value in values if value is not None]
        if node.type == "if_expression":
            branches = (node.child_by_field_name(name) for name in ("consequence", "alternative"))
            return [branch for branch in branches if branch is not None]
        if node.type in (
            "block",
            "else_clause",
            "reference_expression",
            "parenthesized_expression",
        ):
            return node.named_children[-1:] or None
        return None

    def _bound(self, node: Node, name: str, at: Sequence[int] = ()) -> set[str]:
        for outer in _walk_ancestors(node):
            if outer.type == "function_item":
                break
            if outer.type != "block":
                continue
            for statement in reversed(outer.named_children):
                if statement.type != "let_declaration" or statement.end_byte > node.start_byte:
                    continue
                inner = _find_binding_position(statement.child_by_field_name("pattern"), name)
                value = statement.child_by_field_name("value")
                if inner is not None and value is not None:
                    return self._values(value, (*inner, *at))
        raise _UnknownError(name)

    def _called(self, node: Node) -> set[str]:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        assert function is not None  # the grammar has one
        if function.type == "field_expression" and field_text(function, "field") in _SAME_TEXT:
            value = function.child_by_field_name("value")
            if value is not None:
                return self._values(value)
        called = re.sub(r"::<.*", "", node_text(function)).rpartition("::")[2]
        if called == self.settings.suffixed and arguments is not None:
            return {f"{root}_{DTYPE}" for root in self._values(arguments.named_children[0])}
        raise _UnknownError(node_text(node))

    def _formatted(self, node: Node) -> set[str]:
        template, *given = _split_arguments(node_text(node.named_children[-1])[1:-1])
        rest = iter(given)
        pieces: list[set[str]] = []
        end = 0
        for hole in _PLACEHOLDER.finditer(template[1:-1]):
            pieces.append({template[1:-1][end : hole.start()]})
            end = hole.end()
            text = hole[1] or next(rest, "")
            if re.search(r"\bdtype\b.*\bas_str\(\)$", text):
                pieces.append({DTYPE})
                continue
            try:
                pieces.append(self._bound(node, text))
            except _UnknownError:
                pieces.append({ANYTHING})
        pieces.append({template[1:-1][end:]})
        return {"".join(choice) for choice in itertools.product(*pieces)}

    def _constants(self, node: Node) -> set[str]:
        """Return the values of a trait's constant, such as ``U::KERNEL`` where ``U: UnaryOpT``."""
        owner, _, constant = node_text(node).rpartition("::")
        for outer in _walk_ancestors(node):
            parameters = node_text(outer.child_by_field_name("type_parameters"))
            bound = re.search(rf"\b{owner}\s*:\s*([\w:]+)", parameters)
            if bound:
                found = self._implemented(bound[1].rpartition("::")[2], constant)
                if found:
                    return found
        raise _UnknownError(node_text(node))

    def _implemented(self, trait: str, constant: str) -> set[str]:
        crate = self.job.workspace.crate_of(self.source.path)
        found: set[str] = set()
        for path, source in self.job.workspace.sources.items():
            if path.endswith(".rs") and self.job.workspace.crate_of(path) == crate:
                text = source.text(0, len(source.data))
                if f"impl {trait} for" in text:
                    found.update(find_trait_constants(text, trait, constant))
        return found


def find_trait_constants(text: str, trait: str, constant: str) -> Iterator[str]:
    """Yield the values that implementations of a trait in a file give to a constant.

    An implementation may be made by a macro of the same file: its parameters are the arguments of
    each call.
    """
    wanted = re.compile(
        rf"\bimpl {trait} for [^{{]*\{{(?:(?!\bimpl\b).)*?\bconst {constant}\s*:[^=;]*=\s*([^;]+);",
        re.DOTALL,
    )
    for match in wanted.finditer(text):
        expression = match[1]
        parameter = re.search(r"\$(\w+)", expression)
        if parameter is None:
            yield _read_constant(expression, {})
            continue
        before = text[: match.start()]
        macro = re.findall(r"macro_rules! (\w+)", before)[-1]
        pattern = before[before.rfind("=>", 0, match.start()) :]
        head = before[: len(before) - len(pattern)]
        names = re.findall(r"\$(\w+)\s*:", head[head.rfind("\n    (") :])
        for call in re.findall(rf"^{macro}!\s*[({{](.*?)[)}}];", text, re.DOTALL | re.MULTILINE):
            yield _read_constant(expression, dict(zip(names, _split_arguments(call), strict=False)))


def _read_constant(expression: str, arguments: Mapping[str, str]) -> str:
    """Return the value of a literal, or of ``concat!`` of literals and arguments of a macro."""
    filled = re.sub(r"\$(\w+)", lambda m: arguments.get(m[1], ""), expression.strip())
    filled = re.sub(r"\bstringify!\((\w+)\)", r'"\1"', filled)
    return "".join(re.findall(r'"([^"]*)"', filled))


def _split_arguments(text: str) -> list[str]:
    """Return the arguments of a macro's call, split at commas outside brackets and strings."""
    parts = [""]
    depth = 0
    for piece in re.findall(r'"(?:\\.|[^"\\])*"|.', text, re.DOTALL):
        depth += (piece in "([{") - (piece in ")]}")
        if piece == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts]


def _find_binding_position(pattern: Node | None, name: str) -> tuple[int, ...] | None:
    """Return where a pattern binds a name: the index in each tuple, from outside inwards."""
    if pattern is None:
        return None
    if pattern.type == "tuple_pattern":
        for index, part in enumerate(pattern.named_children):
            inner = _find_binding_position(part, name)
            if inner is not None:
                return (index, *inner)
        return None
    bound = pattern.named_children[-1] if pattern.type == "mut_pattern" else pattern
    return () if node_text(bound) == name else None


def _walk_descendants(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        pending += reversed(found.named_children)


def _walk_ancestors(node: Node) -> Iterator[Node]:
    outer = node.parent
    while outer is not None:
        yield outer
        outer = outer.parent
