"""A copied statement that asks a device for the written vendor's side fails on another device.

``#[cfg(feature = "cuda")] { device.as_cuda_device()?.. }`` is right in a build with one vendor. In
a build with both, the statement and its copy run on each device, and one of the two fails.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.definitions import list_vendor_spellings
from portkit.checks.ported_tree import Doubt
from portkit.port.feature_conflicts import STEPS
from portkit.syntax.cfg import find_conditions_around

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.context.port_job import PortJob
    from portkit.workspace.edits import Piece
    from portkit.workspace.finding import Finding

_FAILS: Final = (
    "`{name}` fails on another vendor's device. A build with both features runs this statement on"
    " such a device too. Test the device first"
)
_STATEMENTS: Final = STEPS | {"let_declaration"}
_CHOICES: Final = {
    "if_expression": "condition",
    "match_arm": "pattern",
    "while_expression": "condition",
}
"""Nodes that test a device, with the field that holds the test."""


def doubt_device_access(ported: PortedTree) -> Iterator[Doubt]:
    """Ask for a person where a copied statement fails on another vendor's device.

    Args:
        ported: the tree after the port.
    """
    job = ported.job
    accessor = re.compile(rb"\.(as_%s_\w+)\s*\(" % job.vendor.name.encode())
    for written in ported.find_edited_files(".rs"):
        for piece in written.pieces:
            if _is_decided(job, piece.finding):
                continue
            for match in accessor.finditer(written.source.data, piece.start, piece.end):
                if _may_fail(ported, written, piece, match.start(1)):
                    yield Doubt(piece.finding, _FAILS.format(name=match[1].decode()))
                    break


def _is_decided(job: PortJob, finding: Finding) -> bool:
    """Whether the profile has decided about a place."""
    told = any(
        each.applies(finding.path, finding.symbol) for each in job.codebase.feature_conflicts
    )
    return told or finding.entry != ""


def _may_fail(ported: PortedTree, written: WrittenFile, piece: Piece, at: int) -> bool:
    """Whether a call of an edit runs on every device, in a build that has both vendors."""
    root = written.tree.root_node
    node = root.descendant_for_byte_range(at, at)
    job = ported.job
    tells = re.compile("|".join(list_vendor_spellings(job)).encode())
    is_statement = False
    while node is not None and node.type != "function_item":
        if node.type in _CHOICES:
            test = node.child_by_field_name(_CHOICES[node.type])
            text = (test.text or b"") if test is not None else b""
            if tells.search(text) and not job.mentions_cuda(text.decode()):
                return False
        is_inside = piece.start <= node.start_byte and node.end_byte <= piece.end
        is_statement = is_statement or (is_inside and node.type in _STATEMENTS)
        node = node.parent
    if node is None or not is_statement:
        return False
    if piece.start <= node.start_byte or tells.search((node.text or b"").partition(b"{")[0]):
        return False  # the function is the written vendor's
    return not any(cfg.forbids(job.source_feature) for cfg in find_conditions_around(root, at))
