"""A type, a constant, a static, a trait or a module that is named after CUDA.

What names it for ROCm, such as a copied function, needs a counterpart: the copy under the name
table, beside it. A module's declaration is copied here; the file that it names is a matter of
PK101.

Not handled: a ``union``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site
from portkit.rules import Rule
from portkit.site.context import Gating
from portkit.tree.finding import Applicability, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK507"


def check(site: Site) -> Iterator[Finding]:
    """Find an item named after the source vendor, without a condition of its own."""
    job = site.job
    if site.scope.vendor or not job.names_source(site.name) or site.conditions:
        return
    construct = site.kind.removesuffix("_item").replace("macro_definition", "macro")
    if job.gating is Gating.CFG and emit.is_dummy(site):
        yield emit.finding(
            site,
            CODE,
            construct,
            "there is no dummy backend with --gating cfg",
            symbol=site.symbol(site.name),
            applicability=Applicability.KEEP,
        )
        return
    copy = copy_site(site)
    if site.job.names_gated(copy) or site.kind == "static_item":
        copy = emit.gated(site, copy)
    status, claims = emit.ported(site, emit.named_sibling(site, job.rename(site.name)))
    yield emit.finding(
        site,
        CODE,
        construct,
        f"{job.rename(site.name)} is its copy",
        symbol=site.symbol(site.name),
        status=status,
        edits=(emit.insertion(site, copy),),
        claims=claims,
    )


RULE = Rule(
    CODE,
    "named_item",
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
