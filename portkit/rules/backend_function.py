"""A function that is named after CUDA: ``new_cuda``, ``as_cuda_device``, ``cuda_if_available``.

Its ROCm counterpart is the copy under the name table, right after it. With ``--gating cfg`` the
copy stands under the feature where it names a type that exists only there. Callers that are
compiled in every build still need the name, so a function that could answer without the feature
gets a twin that does: ``false`` for a ``bool``, for a ``Result`` the error that the profile names.

Not handled: a function whose signature names such a type can exist only with the feature.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.finding import Applicability, Edit, Finding, Status
from portkit.port import Gating
from portkit.rules import Rule
from portkit.rules.peer_arm import without_peer_arms
from portkit.source import field_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK503"


def check(place: Place) -> Iterator[Finding]:
    """Find a function that is named after the source vendor, outside traits."""
    port = place.port
    if place.scope.vendor or not port.names_source(place.name):
        return
    if place.scope.container in ("trait", "trait impl") or place.conditions:
        return
    renamed = port.rename(place.name)
    counterpart = emit.named_sibling(place, renamed)
    copy = copy_place(place)
    edits: list[Edit] = []
    if port.gating is Gating.CFG and port.names_gated(copy):
        copy = emit.gated(place, copy)
        twin = _twin(place)
        if emit.named_sibling(place, renamed, without=True) is not None:
            twin = ""
        elif counterpart is None:
            copy += twin
        elif twin and emit.feature_attribute(port) in place.source.slice(counterpart):
            edits.append(Edit(counterpart.end, counterpart.end, twin))
    if counterpart is None:
        edits.append(emit.insertion(place, copy))
    _, claims = emit.ported(place, counterpart)
    yield emit.finding(
        place,
        CODE,
        "inherent fn" if place.scope.container else "fn",
        f"{renamed} is its copy",
        symbol=place.symbol(place.name),
        applicability=Applicability.SAFE,
        status=Status.TODO if edits else Status.PORTED,
        edits=tuple(edits),
        claims=without_peer_arms(place, claims),
    )


def _twin(place: Place) -> str:
    """Return the function that answers without the feature, or an empty string."""
    port = place.port
    body = place.node.child_by_field_name("body")
    result = field_text(place.node, "return_type")
    if body is None:
        return ""
    signature = port.rename(place.source.text(place.node.start_byte, body.start_byte).strip())
    if port.names_gated(signature):
        return ""
    if result == "bool":
        answer = "false"
    elif result.startswith("Result<") and port.codebase.error_without_feature:
        answer = f"Err(crate::Error::{port.codebase.error_without_feature})"
    else:
        return ""
    signature = re.sub(r"(?<=[(,])(\s*)(\w+)(?=\s*:)", r"\1_\2", signature)
    indent = place.indent
    return (
        f'\n\n{indent}#[cfg(not(feature = "{port.vendor.name}"))]\n'
        f"{indent}{signature} {{\n{indent}    {answer}\n{indent}}}"
    )


RULE = Rule(
    CODE, "backend_function", frozenset({"function_item", "function_signature_item"}), check
)
