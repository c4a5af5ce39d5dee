"""An example, a test or a bench that asks for CUDA's feature.

Cargo builds such a target only where CUDA's feature is on; ROCm needs one of its own. ``[[example]]
name = "cuda_basics", required-features = ["cuda"]`` gains a sibling for the copy of its file. A
target that asks for an unported feature, or for a peer's, is left alone.

Not handled: a target whose name says nothing of CUDA. Cargo refuses two targets of one name and
cannot ask for one of two features (the Cargo book, chapter "Cargo Targets"), so it is left to a
person. Its file is left alone until then (PK102).
"""

from __future__ import annotations

from collections.abc import Iterator

from portkit.context.intent import CopySite, Intent, LeaveUnchanged, RequireManual
from portkit.context.port_job import Site
from portkit.rules import SiteRule
from portkit.syntax.source_file import node_text
from portkit.syntax.toml_nodes import find_entry, read_entry_name, read_strings


def check(site: Site) -> Iterator[Intent]:
    """Find a target whose required features name the source vendor."""
    job, construct = site.job, "target in Cargo.toml"
    if node_text(site.node.named_children[0]) not in ("example", "test", "bench", "bin"):
        return
    asked = find_entry(site.node, "required-features")
    features = read_strings(asked) if asked is not None else []
    name = read_entry_name(site.node)
    renamed = job.vendor.names.word(name)
    unported = [f for f in features if f in job.vendor.unported]
    if unported:
        yield LeaveUnchanged(construct, job.vendor.unported[unported[0]], symbol=name)
    elif not any(feature in job.counterparts for feature in features):
        yield LeaveUnchanged(construct, "it belongs to a peer", symbol=name)
    elif renamed == name:
        message = (
            f"cargo cannot ask for one of two features: drop required-features from {name}, and "
            "let its code say which backends it runs on"
        )
        yield RequireManual(construct, message, symbol=name)
    else:
        yield CopySite(construct, f"{renamed} is its copy", symbol=name)


RULE = SiteRule("PK204", frozenset({"table_array_element"}), check)
