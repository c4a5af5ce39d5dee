"""An arm of a `match` that is an argument of the tree's own macro.

`arms!(d; Device::Cuda(i) => i)` writes a `match` from its arguments, so an arm for ROCm joins them:
`arms!(d; Device::Cuda(i) => i, Device::Rocm(i) => i)`. portkit expands the call with and without
it, and writes it only if the `match` gains that one arm.

Without it the `match` lacks a variant, and rustc refuses it in every build (E0004).

With `--gating cfg` the variant exists only under the feature. If the macro takes no attribute
before an arm, the place is manual.

Not handled: a macro of another crate, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.copying import gating
from portkit.lang.macro_expansion import expand
from portkit.lang.renaming import normal
from portkit.lang.source import Source, descendants, node_text
from portkit.lang.span import Span
from portkit.rules import SiteRule
from portkit.site.fragments import find_name, is_evaluating
from portkit.site.intent import Ask, Enlist, Intent, Member, Stands
from portkit.site.macro_items import find_definitions, parse_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from portkit.site.context import Site

_CONSTRUCT: Final = "match arm in a macro"
_ENDS: Final = frozenset({",", ";"})


def check(site: Site) -> Iterator[Intent]:
    """Find the arms for the source vendor among the arguments of a macro."""
    job, name = site.job, find_name(site.node)
    if site.scope.vendor or site.is_source or is_evaluating(site.node):
        return
    arms = [*_arms(site.node)]
    named = [arm for arm in arms if job.renames_code(_pattern(site, arm))]
    definitions = find_definitions(job, name) if named else ()
    if len(definitions) != 1:
        return
    patterns = {normal(_pattern(site, arm)) for arm in arms}
    for arm in named:
        span = Span(arm[0].start_byte, arm[-1].end_byte)
        copy = job.rename(site.source.slice(span))
        message = f"copy the arm for {job.vendor.title}"
        if normal(job.rename(_pattern(site, arm))) in patterns:
            yield Stands(_CONSTRUCT, message, claims=(span,))
            continue
        if gating.is_cfg(site):
            copy = f"{gating.feature_attribute(job)} {copy}"
        if not _is_proven(site, definitions[0], span, copy):
            reason = (
                f"{name}! takes no such arm as portkit would write. The match lacks one for"
                f" {job.vendor.title}. Write it by hand."
            )
            yield Ask(_CONSTRUCT, reason, claims=(span,))
            continue
        yield Enlist(_CONSTRUCT, message, members=(Member(span, copy),), claims=(span,))


def _arms(macro: Node) -> Iterator[list[Node]]:
    """Yield the tokens of each argument that has an arrow."""
    tree = next((c for c in macro.named_children if c.type == "token_tree"), None)
    group: list[Node] = []
    for token in tree.children[1:] if tree is not None else ():
        if node_text(token) in _ENDS or token.type in (")", "]", "}"):
            if any(node_text(each) == "=>" for each in group):
                yield group
            group = []
        else:
            group.append(token)


def _pattern(site: Site, arm: Sequence[Node]) -> str:
    """Return the pattern of an arm, without the attributes before it."""
    arrow = next(each for each in arm if node_text(each) == "=>")
    first = 0
    while node_text(arm[first]) == "#" and arm[first + 1].type == "token_tree":
        first += 2
    return site.source.text(arm[first].start_byte, arrow.start_byte)


def _is_proven(site: Site, definition: Node, after: Span, copy: str) -> bool:
    """Tell whether a call with one more arm writes the same `match` with one more arm."""
    text, at = site.source.text(site.node.start_byte, after.end), site.node.end_byte
    longer = parse_call(f"{text}, {copy}{site.source.text(after.end, at)}")
    before = _count_arms(expand(definition, site.node))
    return longer is not None and 0 < before == _count_arms(expand(definition, longer)) - 1


def _count_arms(text: str | None) -> int:
    """Return how many arms the one `match` of a text has; 0 if it is anything else."""
    root = Source("macro.rs", f"fn f() {{ {text} }}".encode()).tree.root_node
    found = [*descendants(root, "match_block")]
    if text is None or root.has_error or len(found) != 1:
        return 0
    return sum(child.type == "match_arm" for child in found[0].named_children)


RULE = SiteRule("PK411", frozenset({"macro_invocation"}), check)
