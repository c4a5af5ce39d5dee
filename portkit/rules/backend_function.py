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

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site
from portkit.lang.source import field_text
from portkit.rules import Rule
from portkit.rules.peer_arm import without_peer_arms
from portkit.site.context import Gating
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK503"


def check(site: Site) -> Iterator[Finding]:
    """Find a function that is named after the source vendor, outside traits."""
    job = site.job
    if site.scope.vendor or not job.names_source(site.name):
        return
    if site.scope.container in ("trait", "trait impl") or site.conditions:
        return
    renamed = job.rename(site.name)
    counterpart = emit.named_sibling(site, renamed)
    copy = copy_site(site)
    edits: list[Edit] = []
    if job.gating is Gating.CFG and job.names_gated(copy):
        copy = emit.gated(site, copy)
        twin = _twin(site)
        if emit.named_sibling(site, renamed, without=True) is not None:
            twin = ""
        elif counterpart is None:
            copy += twin
        elif twin and emit.feature_attribute(job) in site.source.slice(counterpart):
            edits.append(Edit(counterpart.end, counterpart.end, twin))
    if counterpart is None:
        edits.append(emit.insertion(site, copy))
    _, claims = emit.ported(site, counterpart)
    yield emit.finding(
        site,
        CODE,
        "inherent fn" if site.scope.container else "fn",
        f"{renamed} is its copy",
        symbol=site.symbol(site.name),
        applicability=Applicability.SAFE,
        status=Status.TODO if edits else Status.PORTED,
        edits=tuple(edits),
        claims=without_peer_arms(site, claims),
    )


def _twin(site: Site) -> str:
    """Return the function that answers without the feature, or an empty string."""
    job = site.job
    body = site.node.child_by_field_name("body")
    result = field_text(site.node, "return_type")
    if body is None:
        return ""
    signature = job.rename(site.source.text(site.node.start_byte, body.start_byte).strip())
    if job.names_gated(signature):
        return ""
    if result == "bool":
        answer = "false"
    elif result.startswith("Result<") and job.codebase.error_without_feature:
        answer = f"Err(crate::Error::{job.codebase.error_without_feature})"
    else:
        return ""
    signature = re.sub(r"(?<=[(,])(\s*)(\w+)(?=\s*:)", r"\1_\2", signature)
    indent = site.indent
    return (
        f'\n\n{indent}#[cfg(not(feature = "{job.vendor.name}"))]\n'
        f"{indent}{signature} {{\n{indent}    {answer}\n{indent}}}"
    )


RULE = Rule(
    CODE, "backend_function", frozenset({"function_item", "function_signature_item"}), check
)
