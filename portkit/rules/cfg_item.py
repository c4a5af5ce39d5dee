"""An item, a statement or a field under ``#[cfg(feature = "cuda")]``.

What stands under the feature alone exists only for CUDA. Its ROCm counterpart is the copy under the
name table, beside it, under ``#[cfg(feature = "rocm")]``.

Where renaming changes nothing, the item is not about CUDA but about a GPU being there, and its
condition is widened to ``any(feature = "cuda", feature = "rocm")``. A function whose name would
stand twice with both features on is another rule's (PK511), and so is an import that only such
functions need.

Not handled: ``#[cfg_attr(feature = "cuda", ..)]``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site, overridden
from portkit.copying.fingerprint import fingerprint
from portkit.lang.cfg import conditions_of, widen
from portkit.lang.source import field_text, node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.rules.cfg_function import is_for_functions
from portkit.rules.peer_arm import without_peer_arms
from portkit.rules.statement import CALLS, callee
from portkit.rules.use_list import imports_stand
from portkit.templates import render
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.profile.profile import Override
    from portkit.site.context import Site

CODE = "PK501"

_WORDS = {
    "block": "cfg block",
    "enum_variant": "enum variant",
    "expression_statement": "cfg statement",
    "field_declaration": "cfg field",
    "field_initializer": "cfg field",
    "function_item": "cfg fn",
    "impl_item": "cfg impl",
    "let_declaration": "cfg statement",
    "mod_item": "cfg item: mod",
    "use_declaration": "import/re-export",
}


def check(site: Site) -> Iterator[Finding]:
    """Find what exists only with the source vendor's feature on."""
    job = site.job
    source = job.vendor.source
    if site.kind == "match_arm" or site.scope.vendor:
        return
    if not site.requires(source) or emit.unported_feature(site):
        return
    if site.scope.container in ("trait", "trait impl") and job.names_source(site.name):
        return
    construct = _WORDS.get(site.kind, "cfg item")
    symbol = site.symbol(site.name)
    override = overridden(job, site.source, site.symbol(f"{{{source}}}"))
    if override is not None and site.code.startswith("{"):
        yield from _overridden(site, override)
        return
    if site.kind == "use_declaration" and is_for_functions(site):
        yield emit.finding(
            site,
            CODE,
            construct,
            "a copy would clash with it when both features are on: the functions that need it "
            "bring in their own",
            symbol=symbol,
            applicability=Applicability.KEEP,
        )
        return
    copy = copy_site(site)
    if not job.renames_code(site.code) and f'"{source}"' not in site.code:
        yield from _widened(site, construct, symbol)
        return
    if site.kind == "function_item" and job.rename(site.name) == site.name:
        return  # PK511
    status, claims = emit.ported(site, _counterpart(site, copy))
    yield emit.finding(
        site,
        CODE,
        construct,
        f"copy it for {job.vendor.title}, under the feature {job.vendor.name}",
        symbol=symbol,
        status=status,
        edits=(emit.insertion(site, copy),),
        claims=without_peer_arms(site, claims),
    )


def _counterpart(site: Site, copy: str) -> Span | None:
    """Return the span of what stands for the written vendor already, whoever wrote it."""
    if site.name:
        return emit.named_sibling(site, site.job.rename(site.name))
    if site.kind == "use_declaration":
        return site.span if imports_stand(site) else None
    return emit.equal_sibling(site, copy) or emit.sibling_by_hand(site, _key, gated=True)


def _key(node: Node) -> str:
    """Return what a counterpart of a node has in common with it, however a person wrote it."""
    if node.type == "expression_statement":
        inner = node.named_children[0]
        return callee(node) if inner.type in CALLS else inner.type
    fields = {"impl_item": ("trait", "type"), "let_declaration": ("pattern",)}
    return " ".join(field_text(node, f) for f in fields.get(node.type, ("field",)))


def _overridden(site: Site, override: Override) -> Iterator[Finding]:
    own = site.job.codebase.directory
    text = render(override.template, own, job=site.job).strip()
    text = text.replace("\n", f"\n{site.indent}")
    status, claims = emit.ported(site, _block_of(site))
    known = fingerprint(site.code) in override.fingerprints.values()
    yield emit.finding(
        site,
        CODE,
        "cfg block",
        override.reason
        if known
        else f"{override.reason}; the CUDA block is not one that the template was written against "
        f"(now {fingerprint(site.code)}): see whether the template must follow",
        symbol=site.symbol(f"{{{site.job.vendor.source}}}"),
        applicability=Applicability.SAFE if known else Applicability.REVIEW,
        status=status,
        edits=(emit.insertion(site, text),),
        claims=claims,
    )


def _block_of(site: Site) -> Span | None:
    """Return the span of a sibling block under the written vendor's feature."""
    for node, attributes in emit.peers_of(site):
        if any(c.requires(site.job.vendor.name) for _, c in conditions_of(attributes)):
            return Span(attributes[0].start_byte, node.end_byte)
    return None


def _widened(site: Site, construct: str, symbol: str) -> Iterator[Finding]:
    job = site.job
    attribute = emit.positive_condition(site, job.vendor.source)
    if attribute is None:
        return
    text = node_text(attribute)
    new = widen(text, job.vendor.source, job.vendor.name)
    yield emit.finding(
        site,
        CODE,
        construct,
        "it names nothing of CUDA: its condition is widened to ROCm",
        symbol=symbol,
        applicability=Applicability.REVIEW,
        status=Status.PORTED if f'feature = "{job.vendor.name}"' in text else Status.TODO,
        edits=(Edit(attribute.start_byte, attribute.end_byte, new),),
    )


RULE = Rule(CODE, "cfg_item", frozenset({"*"}), check)
