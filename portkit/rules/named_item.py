"""A type, a constant, a static, a trait or a module that is named after CUDA.

What names it for ROCm, such as a copied function, needs a counterpart: the copy under the name
table, beside it. A module's declaration is copied here; the file that it names is a matter of
PK101.

A constant whose copy repeats its number, such as ``CUDA_ID: u8 = 1``, is for a person to review: an
identifier must be unique.

Not handled: a ``union``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.source import span_of
from portkit.rules import SiteRule
from portkit.site.intent import Copy, Intent, Keep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.span import Span
    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find an item named after the source vendor, without a condition of its own."""
    job = site.job
    if site.scope.vendor or not job.names_source(site.name) or site.conditions:
        return
    construct = site.kind.removesuffix("_item")
    if (plain := job.codebase.plain_at(site.source.path)) is not None:
        yield Keep(construct, plain.reason, symbol=site.symbol(site.name), claims=_name(site))
        return
    yield Copy(construct, f"{job.rename(site.name)} is its copy", symbol=site.symbol(site.name))


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
            "mod_item",
            "static_item",
            "struct_item",
            "trait_item",
            "type_item",
        }
    ),
    check,
)
