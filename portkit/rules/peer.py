"""A place that belongs to a peer of CUDA, such as Metal.

ROCm is derived from CUDA's side, so the peer's side is left alone. Such places are counted, since a
token that nobody has accounted for is an error here.

Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterator

from portkit.context.intent import Intent, LeaveUnchanged
from portkit.context.port_job import Site
from portkit.port import counterparts
from portkit.port.host_fallback import write_host_fallback
from portkit.rules import SiteRule
from portkit.syntax.source_file import node_text, span_of
from portkit.syntax.span import Span

_WHOLE = frozenset(
    {
        "const_item",
        "enum_variant",
        "function_item",
        "function_signature_item",
        "impl_item",
        "macro_definition",
        "match_arm",
        "mod_item",
        "static_item",
        "struct_item",
        "type_item",
        "use_declaration",
        "if_expression",
        "let_declaration",
        "expression_statement",
    }
)
_NAMES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "string_content", "metavariable"}
)


def check(site: Site) -> Iterator[Intent]:
    """Find an item of a peer's, a single name of one, or a condition on one."""
    if site.scope.vendor == site.job.vendor.source:
        return
    # The texts of large items come last: most sites are told by a name.
    found = list(_of_peer(site))
    if found and not _is_others(site):
        yield from found


def _of_peer(site: Site) -> Iterator[Intent]:
    job = site.job
    if site.kind in _WHOLE and _about_peer(site) and not job.mentions_cuda(site.text):
        yield _kept(site, site.kind.removesuffix("_item").replace("_", " "), site.span)
    elif site.kind in _NAMES and _is_peers_name(site):
        yield _kept(site, site.kind.replace("_", " "), site.span)
    else:
        for attribute, cfg in site.conditions:
            if cfg.features() & {*job.vendor.peers} and not job.cfg_mentions_cuda(cfg):
                yield _kept(site, "condition", span_of(attribute))


def _kept(site: Site, construct: str, claim: Span) -> Intent:
    peer = site.job.vendor.peers[0]
    return LeaveUnchanged(
        f"{peer}: {construct}",
        f"it belongs to {peer.capitalize()}; ROCm follows CUDA",
        symbol=site.symbol(site.name),
        claims=(claim,),
    )


def _is_peers_name(site: Site) -> bool:
    parent = site.parent
    return (
        site.job.mentions_peer(site.code)
        and not site.job.mentions_cuda(site.code)
        and (parent is None or "string" not in parent.type)
    )


def _is_others(site: Site) -> bool:
    """Whether a place is a matter of PK405, PK514 or PK803: a question, or an operation."""
    if write_host_fallback(site):
        return True
    for peer in site.job.vendor.peers:
        if site.kind in _NAMES and site.code == f"is_{peer}":
            return True
        of, _, operation = site.name.partition("_")
        if of == peer and operation and site.scope.container == "trait impl":
            return not counterparts.list_siblings_named(
                site, f"{site.job.vendor.source}_{operation}"
            )
    return False


def _about_peer(site: Site) -> bool:
    """Whether an item is the peer's as a whole: by its name, its condition or its pattern."""
    job = site.job
    if any(site.requires(p) for p in job.vendor.peers):
        return True
    if site.kind == "match_arm":
        pattern = site.node.child_by_field_name("pattern")
        return pattern is not None and job.mentions_peer(node_text(pattern))
    if site.kind == "expression_statement" and any(
        child.type == "macro_invocation" for child in site.node.named_children[:1]
    ):
        # The macro may take an argument for each backend.
        return False
    if site.kind in ("use_declaration", "expression_statement", "let_declaration"):
        return "is_metal" not in site.code and job.mentions_peer(site.code)
    if site.kind == "if_expression":
        condition = site.node.child_by_field_name("condition")
        text = node_text(condition)
        return job.mentions_peer(text) and "is_metal()" not in text
    if site.kind == "impl_item":
        type_name = site.node.child_by_field_name("type")
        return type_name is not None and job.mentions_peer(node_text(type_name))
    return job.mentions_peer(site.name)


RULE = SiteRule("PK802", frozenset({"*"}), check)
