"""A ``matches!`` on a value of the CUDA backend.

``matches!(device, Device::Cuda(_) | Device::Metal(_))`` asks for one or several backends. ROCm
joins the list; that the same holds on AMD is for a person to review. The arguments of a macro are
tokens, not syntax, so the alternatives are read from them.

With ``--gating cfg`` the variant exists only under the feature, and an alternative cannot stand
under one: the macro becomes the ``match`` that it is short for, with an arm for ROCm.

Inside a function that is itself copied, such as ``is_cuda``, nothing is written here. Not handled:
a ``matches!`` among the arguments of another macro, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.source import field_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.rules.match_arm import names_vendor
from portkit.site.context import Gating
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site

CODE = "PK404"


def check(site: Site) -> Iterator[Finding]:
    """Find a ``matches!`` that names the source vendor."""
    job = site.job
    if site.scope.vendor or field_text(site.node, "macro").rsplit("::", 1)[-1] != "matches":
        return
    value, alternatives, guard = _arguments(site)
    named = [a for a in alternatives if names_vendor(site, site.source.slice(a))]
    if not named:
        return
    texts = {site.source.slice(a) for a in alternatives}
    renamed = [job.rename(site.source.slice(a)) for a in named]
    if job.gating is Gating.CFG and not site.scope.gated:
        edits: tuple[Edit, ...] = (
            Edit(
                site.node.start_byte,
                site.node.end_byte,
                _match(site, value, (*alternatives, guard), " | ".join(renamed)),
            ),
        )
    else:
        edits = tuple(
            Edit(a.end, a.end, f" | {new}") for a, new in zip(named, renamed, strict=True)
        )
    yield emit.finding(
        site,
        CODE,
        "matches! on a device",
        f"{job.vendor.title} joins the pattern: see that the same holds on AMD",
        applicability=Applicability.REVIEW,
        status=Status.PORTED if texts.issuperset(renamed) else Status.TODO,
        edits=edits,
    )


def _arguments(site: Site) -> tuple[Span, list[Span], Span]:
    """Return the value, the alternatives of the pattern, and the guard, which may be empty.

    Source: the documentation of ``core::matches``, ``matches!(expression, pattern if guard)``.
    """
    tree = next((c for c in site.node.named_children if c.type == "token_tree"), None)
    tokens = tree.children[1:-1] if tree is not None else []
    groups: list[list[Node]] = [[]]
    in_guard = False
    for token in tokens:
        if (len(groups) == 1 and token.type == ",") or (
            len(groups) > 1 and token.type == "|" and not in_guard
        ):
            groups.append([])
        elif len(groups) > 1 and (token.text or b"") == b"if" and not in_guard:
            groups.append([token])
            in_guard = True
        elif token.type != ",":
            groups[-1].append(token)
    spans = [Span(g[0].start_byte, g[-1].end_byte) for g in groups if g]
    if not spans:
        nothing = Span(site.node.end_byte, site.node.end_byte)
        return nothing, [], nothing
    end = spans[-1].end
    guard = spans.pop() if in_guard else Span(end, end)
    return spans[0], spans[1:], guard


def _match(site: Site, value: Span, pattern: tuple[Span, ...], renamed: str) -> str:
    """Return the ``match`` that a ``matches!`` is short for, with an arm under the feature."""
    source, inner = site.source, site.indent + "    "
    guard = source.slice(pattern[-1])
    return (
        f"match {source.slice(value)} {{\n"
        f"{inner}{source.text(pattern[0].start, pattern[-1].end)} => true,\n"
        f"{inner}{emit.feature_attribute(site.job)}\n"
        f"{inner}{renamed}{' ' + guard if guard else ''} => true,\n"
        f"{inner}_ => false,\n{site.indent}}}"
    )


RULE = Rule(CODE, "matches", frozenset({"macro_invocation"}), check)
