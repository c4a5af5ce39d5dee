"""A type, a constant, a static, a trait, a module or a macro that is named after CUDA.

What names it for ROCm, such as a copied function, needs a counterpart: the copy under the name
table, beside it. A module's declaration is copied here; the file that it names is a matter of
PK101. A `macro_rules!` is copied if a copy of a call reaches it (PK510, or a call in an item that
is copied).

A constant whose copy repeats its number, such as ``CUDA_ID: u8 = 1``, is for a person to review: an
identifier must be unique.

Not handled: a ``union``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.device_macros import find_device_rule
from portkit.context.intent import CopySite, Intent, LeaveUnchanged
from portkit.context.macro_items import is_definition_needed
from portkit.rules import SiteRule
from portkit.syntax.source_file import span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site
    from portkit.syntax.span import Span


def check(site: Site) -> Iterator[Intent]:
    """Find an item named after the source vendor, without a condition of its own."""
    job = site.job
    if site.scope.vendor or not job.mentions_cuda(site.name) or site.conditions:
        return
    construct = site.kind.removesuffix("_item")
    if site.kind == "macro_definition":
        yield from _of_macro(site)
        return
    if (plain := job.codebase.find_no_feature_entry(site.source.path)) is not None:
        yield LeaveUnchanged(
            construct, plain.reason, symbol=site.symbol(site.name), claims=_name(site)
        )
        return
    yield CopySite(construct, f"{job.rename(site.name)} is its copy", symbol=site.symbol(site.name))


def _of_macro(site: Site) -> Iterator[Intent]:
    """Copy a macro whose copy is called after the port; the name of any other one stays."""
    job, symbol = site.job, f"{site.name}!"
    if job.rename(site.name) == site.name or find_device_rule(job, site.node) is not None:
        return
    if is_definition_needed(job, site.node):
        yield CopySite("macro", f"{job.rename(site.name)}! is its copy", symbol=symbol)
        return
    kept = "no copy of a call needs one of the macro, so its name stays"
    yield LeaveUnchanged("macro", kept, symbol=symbol, claims=_name(site))


def _name(site: Site) -> tuple[Span, ...]:
    """Return where an item has its name; what it holds is looked at."""
    named = site.node.child_by_field_name("name")
    return (span_of(named),) if named is not None else ()


RULE = SiteRule(
    "PK507",
    frozenset(
        {
            "const_item",
            "enum_item",
            "macro_definition",
            "mod_item",
            "static_item",
            "struct_item",
            "trait_item",
            "type_item",
        }
    ),
    check,
)
