"""A condition that names CUDA's feature among others, or asks for its absence.

``#[cfg(any(feature = "cuda", feature = "metal"))]`` gains ``feature = "rocm"``. What stands under
``#[cfg(not(feature = "cuda"))]`` is one of two things. If it stands in for CUDA, as ``pub use
dummy_cuda_backend as cuda`` does, it is copied under ``not(feature = "rocm")``. If it is what
remains when no GPU is there, its condition is widened to ``not(any(feature = "cuda", feature =
"rocm"))``.

Not handled: the conditions of ``cfg_attr`` and of a whole file, ``#![cfg(..)]``, which are listed
as unaccounted or left to a person. Source: the Rust reference, chapter "Conditional compilation".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.cfg import widen
from portkit.finding import Applicability, Edit, Finding, Span, Status
from portkit.port import Gating
from portkit.rules import Rule
from portkit.source import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK502"


def check(place: Place) -> Iterator[Finding]:
    """Find a condition that names the source vendor's feature without requiring it alone."""
    port = place.port
    source, vendor = port.vendor.source, port.vendor.name
    if place.kind == "match_arm" or place.scope.vendor or emit.unported_feature(place):
        return
    for attribute, cfg in place.conditions:
        if source not in cfg.features() or cfg.requires(source):
            continue
        text = node_text(attribute)
        stands_in = cfg.forbids(source) and port.renames_code(place.code)
        if stands_in and not port.names_peer(text):
            yield from _copied(place)
            return
        yield emit.finding(
            place,
            CODE,
            "cfg condition",
            "the condition names the GPU backends: ROCm is one of them",
            symbol=place.symbol(place.name),
            status=Status.PORTED if vendor in cfg.features() else Status.TODO,
            edits=(Edit(attribute.start_byte, attribute.end_byte, widen(text, source, vendor)),),
            claims=(Span(attribute.start_byte, attribute.end_byte),),
        )


def _copied(place: Place) -> Iterator[Finding]:
    port = place.port
    construct = "import/re-export" if place.kind == "use_declaration" else "cfg item: not(cuda)"
    if port.gating is Gating.CFG:
        yield emit.finding(
            place,
            CODE,
            construct,
            "there is no dummy backend with --gating cfg",
            symbol=place.symbol(place.name),
            applicability=Applicability.KEEP,
        )
        return
    copy = copy_place(place)
    status, claims = emit.ported(place, emit.equal_sibling(place, copy))
    yield emit.finding(
        place,
        CODE,
        construct,
        f"copy what stands in for CUDA, for {port.vendor.title}",
        symbol=place.symbol(place.name),
        status=status,
        edits=(emit.insertion(place, copy),),
        claims=claims,
    )


RULE = Rule(CODE, "cfg_condition", frozenset({"*"}), check)
