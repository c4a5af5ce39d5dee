"""An implementation that is there for both vendors, each function under its vendor's feature.

A trait that has a function for each vendor is implemented once for a type, whichever features are
on. So what stands under the source's feature alone is widened, and its functions are copied in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.port.copy_item import copy_range
from portkit.port.counterparts import read_item_name
from portkit.port.gating import write_feature_condition
from portkit.syntax.cfg import parse_conditions, widen_condition
from portkit.syntax.items import describe_item
from portkit.syntax.source_file import group_attributes, node_text
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.context.port_job import Site


def split_shared_impl(site: Site) -> tuple[Edit, ...]:
    """Return the edits that do it; none where what keeps its name is about the source vendor."""
    job, body = site.job, site.node.child_by_field_name("body")
    members = [
        (n, a) for n, a in (group_attributes(body) if body is not None else ()) if n.is_named
    ]
    if not all(_may_stand(site, node, attributes) for node, attributes in members):
        return ()
    attribute = next(a for a, cfg in site.conditions if job.cfg_requires_cuda(cfg))
    wide = node_text(attribute).replace("\r\n", "\n")
    for source, own in job.counterparts.items():
        wide = widen_condition(wide, source, own)
    of_source = [each for each in members if _is_renamed(site, each[0])]
    copied = (edit for each in of_source for edit in _copied(site, *each))
    return Edit(attribute.start_byte, attribute.end_byte, wide), *copied


def _is_renamed(site: Site, member: Node) -> bool:
    name = read_item_name(member)
    return site.job.rename(name) != name


def _may_stand(site: Site, member: Node, attributes: tuple[Node, ...]) -> bool:
    """Whether a member may stand for both, or be copied beside itself."""
    job = site.job
    if any(job.cfg_mentions_cuda(cfg) for _, cfg in parse_conditions(attributes)):
        return False
    return _is_renamed(site, member) or not job.is_cuda_specific(node_text(member))


def _copied(site: Site, member: Node, attributes: tuple[Node, ...]) -> Iterator[Edit]:
    """Yield the edits that set a member under its feature, and its copy behind it."""
    job, source = site.job, site.source
    of_source, own = next(pair for pair in job.counterparts.items() if site.requires(pair[0]))
    start = attributes[0].start_byte if attributes else member.start_byte
    indent = source.indent(start)
    symbol = "::".join(s for s in (site.scope.symbol, describe_item(site.node)) if s)
    copy = copy_range(job, source, member.start_byte, member.end_byte, member, symbol)
    head = job.rename(source.text(start, member.start_byte))
    end = source.line_tail(member.end_byte)
    yield Edit(
        member.start_byte,
        member.start_byte,
        f"#[cfg({write_feature_condition(of_source)})]\n{indent}",
    )
    yield Edit(
        end, end, f"\n\n{indent}{head}#[cfg({write_feature_condition(own)})]\n{indent}{copy}"
    )
