"""A Python name of CUDA's: given a value, imported, or listed beside others.

``CUDA: str = "cuda"`` and ``cuda_is_available = utils.cuda_is_available`` gain a sibling,
``from toy.utils import cuda_is_available`` and ``TypeVar("Device", CPU, CUDA)`` a member.
``TypeVar`` lists what a type may be (Python's documentation, module typing); in the arguments of
another call, one more would change what the call means. Where the variables around one are sorted
by name, its sibling has its sorted place.

It is so of Python beside a crate that makes a module of it (pyo3): in what other Python calls CUDA,
Rust has no part.

Not handled: names inside functions, and modules that are named after CUDA, which are listed as
unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import AddToList, CopySite, Intent, ListMember
from portkit.context.python_files import belongs_to_rust_module
from portkit.rules import SiteRule
from portkit.syntax.python_nodes import find_assigned_name
from portkit.syntax.source_file import field_text, node_text, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a name of the source vendor's outside any function."""
    if site.scope.vendor or site.scope.function or not belongs_to_rust_module(site):
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


def _assigned(site: Site) -> Iterator[Intent]:
    name = find_assigned_name(site.node)
    copy = site.job.vendor.names.word(name)
    if site.job.mentions_cuda(name) and copy != name:
        yield CopySite("Python variable", f"{copy} is its copy", symbol=site.symbol(name))


def _listed(site: Site, listed: Sequence[Node], construct: str) -> Iterator[Intent]:
    """Yield what there is to say of a list of names."""
    texts = frozenset(map(node_text, listed))
    for node in listed:
        name, span = node_text(node), span_of(node)
        copy = site.job.vendor.names.word(name)
        if site.job.mentions_cuda(name) and copy != name:
            yield AddToList(
                construct,
                f"{copy} stands beside it",
                symbol=site.symbol(name),
                members=(ListMember(span, copy),),
                listed=texts,
                claims=(span,),
                span=span,
            )


RULE = SiteRule(
    "PK522", frozenset({"call", "expression_statement", "import_from_statement"}), check
)
