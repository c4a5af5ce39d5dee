"""A field of a struct that is named after CUDA or has one of its types.

What a struct keeps for CUDA, ROCm needs to keep as well: the struct gains a field of the same shape
for ROCm. Each place that builds the struct has an initializer of the same name, which is found and
copied in the same way.

The copy leaves out names in attributes that must be unique, such as ``#[arg(short = 'c')]``, and a
person chooses others. A person also reviews a field that documents must have from then on.

Where a field is read, outside what is copied, is for a person: what follows from it is not known.

A field of a union is for a person: a value of a union sets one field.

Not handled: the short form ``Devices { cuda }``, which is listed as unaccounted. A struct that is
built so gains no field, since no build would compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import CopySite, Intent, LeaveUnchanged, RequireManual
from portkit.rules import SiteRule
from portkit.syntax.source_file import field_text, node_text, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a field, or its initializer, that is named after the source vendor."""
    job = site.job
    plain = job.codebase.find_no_feature_entry(site.source.path)
    if plain is not None and (name := _named(site)) is not None:
        yield LeaveUnchanged("field", plain.reason, claims=(span_of(name),))
    if plain is not None:
        return
    if site.kind == "field_expression":
        yield from _read(site)
        return
    field = field_text(site.node, "name") or field_text(site.node, "field")
    if site.scope.vendor or not job.mentions_cuda(field) or site.conditions:
        return
    if not job.mentions_unported_library(field) and _is_of_union(site):
        message = f"a value of a union sets one field. Write {job.rename(field)} by hand"
        yield RequireManual("field", message, symbol=site.symbol(field))
    elif not job.mentions_unported_library(field):
        message = f"the field gains {job.rename(field)} beside it"
        yield CopySite("field", message, symbol=site.symbol(field))


def _is_of_union(site: Site) -> bool:
    """Whether a field is declared by a union, whose values have one field each (rustc: E0784)."""
    holder = site.parent.parent if site.parent is not None else None
    return holder is not None and holder.type == "union_item"


def _named(site: Site) -> Node | None:
    """Return the name of a field that names the source vendor, if it does."""
    fields = (site.node.child_by_field_name(name) for name in ("name", "field"))
    found = next((field for field in fields if field is not None), None)
    # The name of a method is one that a call asks for.
    called = site.parent is not None and site.parent.type == "call_expression"
    is_own = found is not None and site.job.mentions_cuda(node_text(found)) and not called
    return found if is_own and not site.scope.vendor else None


def _read(site: Site) -> Iterator[Intent]:
    """Find where a field is read, and nothing around it is copied."""
    job, parent = site.job, site.parent
    name = field_text(site.node, "field")
    called = parent is not None and parent.type == "call_expression"
    of_name = job.mentions_cuda(name) and not job.mentions_unported_library(name)
    if site.scope.vendor or called or not of_name:
        return
    if job.rename_changes_code(field_text(site.node, "value")):
        return
    new = job.rename(name)
    message = f"what {name} decides, {new} decides for {job.vendor.title}: write that by hand"
    yield RequireManual("field that is read", message, symbol=site.symbol())


RULE = SiteRule(
    "PK506", frozenset({"field_declaration", "field_expression", "field_initializer"}), check
)
