"""An example, a test or a bench that asks for CUDA's feature.

Cargo builds such a target only where CUDA's feature is on; ROCm needs one of its own. ``[[example]]
name = "cuda_basics", required-features = ["cuda"]`` gains a sibling for the copy of its file. A
target that asks for an unported feature, or for a peer's, is left alone.

Not handled: a target whose name says nothing of CUDA. Cargo refuses two targets of one name and
cannot ask for one of two features (the Cargo book, chapter "Cargo Targets"), so it is left to a
person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.source import node_text
from portkit.rules import Rule
from portkit.rules.feature import end_of, key_of, strings, value_of
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site

CODE = "PK204"


def check(site: Site) -> Iterator[Finding]:
    """Find a target whose required features name the source vendor."""
    job = site.job
    if node_text(site.node.named_children[0]) not in ("example", "test", "bench", "bin"):
        return
    features = required_features(site.node)
    name = target_name(site.node)
    unported = [f for f in features if f in job.vendor.unported]
    if unported or job.vendor.source not in features:
        yield emit.finding(
            site,
            CODE,
            "target in Cargo.toml",
            job.vendor.unported[unported[0]] if unported else "it belongs to a peer",
            symbol=name,
            applicability=Applicability.KEEP,
        )
        return
    renamed = job.vendor.names.word(name)
    if renamed == name:
        yield emit.finding(
            site,
            CODE,
            "target in Cargo.toml",
            f"cargo cannot ask for one of two features: drop required-features from {name}, and "
            "let its code say which backends it runs on",
            symbol=name,
            applicability=Applicability.MANUAL,
        )
        return
    # A comment above the next table is the last child of this one.
    end = end_of([c for c in site.node.named_children if c.type == "pair"][-1])
    copy = job.vendor.names.text(site.source.text(site.node.start_byte, end))
    standing = any(target_name(n) == renamed for n, _ in emit.peers_of(site))
    yield emit.finding(
        site,
        CODE,
        "target in Cargo.toml",
        f"{renamed} is its copy",
        symbol=name,
        status=Status.PORTED if standing else Status.TODO,
        edits=(Edit(end, end, f"\n\n{copy}"),),
    )


def required_features(element: Node) -> list[str]:
    """Return the features that a target asks for."""
    for pair in element.named_children:
        if pair.type == "pair" and key_of(pair) == "required-features":
            return strings(value_of(pair))
    return []


def target_name(element: Node) -> str:
    """Return the name of a target."""
    for pair in element.named_children:
        if pair.type == "pair" and key_of(pair) == "name":
            return node_text(value_of(pair))[1:-1]
    return ""


RULE = Rule(CODE, "target", frozenset({"table_array_element"}), check)
