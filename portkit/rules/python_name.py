"""A Python name of CUDA's: given a value, imported, or listed beside others.

``CUDA: str = "cuda"`` and ``cuda_is_available = utils.cuda_is_available`` gain a sibling,
``from toy.utils import cuda_is_available`` and ``TypeVar("Device", CPU, CUDA)`` a member.
``TypeVar`` lists what a type may be (Python's documentation, module typing); in the arguments of
another call, one more would change what the call means.

Not handled: names inside functions, and modules that are named after CUDA, which are listed as
unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.python import line_tail, renamed
from portkit.lang.source import field_text, node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.tree.finding import Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from portkit.site.context import Site

CODE = "PK522"


def check(site: Site) -> Iterator[Finding]:
    """Find a name of the source vendor's outside any function."""
    if site.scope.vendor or site.scope.function:
        return
    if site.kind == "expression_statement":
        yield from _assigned(site)
    elif site.kind == "import_from_statement":
        yield from _listed(site, site.node.children_by_field_name("name"), "Python import")
    elif field_text(site.node, "function").rsplit(".", 1)[-1] == "TypeVar":
        arguments = site.node.child_by_field_name("arguments")
        if arguments is not None:
            names = [n for n in arguments.named_children if n.type == "identifier"]
            yield from _listed(site, names, "Python type")


def _assigned(site: Site) -> Iterator[Finding]:
    target = _target(site.node)
    names = site.job.vendor.names
    if not site.job.names_source(target) or names.word(target) == target:
        return
    standing = next((n for n, _ in emit.peers_of(site) if _target(n) == names.word(target)), None)
    span = None if standing is None else Span(standing.start_byte, standing.end_byte)
    status, claims = emit.ported(site, span)
    end = line_tail(site.source, site.node.end_byte)
    yield emit.finding(
        site,
        CODE,
        "Python variable",
        f"{names.word(target)} is its copy",
        symbol=site.symbol(target),
        status=status,
        edits=(Edit(end, end, f"\n{site.indent}{renamed(names, site.node)}"),),
        claims=claims,
    )


def _target(statement: Node) -> str:
    """Return the name that a statement gives a value to, or an empty string."""
    inner = statement.named_children[0] if statement.named_children else statement
    left = inner.child_by_field_name("left") if inner.type == "assignment" else None
    return node_text(left) if left is not None and left.type == "identifier" else ""


def _listed(site: Site, listed: Sequence[Node], construct: str) -> Iterator[Finding]:
    """Yield what there is to say of a list of names."""
    names = site.job.vendor.names
    texts = {node_text(node) for node in listed}
    for node in listed:
        text = node_text(node)
        copy = names.word(text)
        if not site.job.names_source(text) or copy == text:
            continue
        own_line = site.source.data[: node.start_byte].rstrip(b" \t").endswith(b"\n")
        separator = ",\n" + site.source.indent(node.start_byte) if own_line else ", "
        span = Span(node.start_byte, node.end_byte)
        yield emit.finding(
            site,
            CODE,
            construct,
            f"{copy} stands beside it",
            symbol=site.symbol(text),
            status=Status.PORTED if copy in texts else Status.TODO,
            edits=(Edit(span.end, span.end, separator + copy),),
            claims=(span,),
            span=span,
        )


RULE = Rule(
    CODE,
    "python_name",
    frozenset({"call", "expression_statement", "import_from_statement"}),
    check,
)
