"""Sites without a counterpart, since they need something CUDA-only.

A copy of what needs something CUDA-only (`portkit.port.cuda_only_deps`) would build nowhere: where
the feature is off, or on another device, something stands already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from portkit.context.port_job import Site
from portkit.hipify.api_table import find_mapping
from portkit.port import bindings_api, cuda_only_deps, cuda_tools, error_arms
from portkit.port.cuda_only_deps import CudaOnlyReason
from portkit.port.dispatch_shim import find_cuda_only_import
from portkit.syntax.cfg import find_attributes, parse_conditions
from portkit.syntax.source_file import field_text, node_text
from portkit.workspace.finding import Applicability, Edit, Finding, Status

_ALONE: Final = "it needs what CUDA alone has"
_NAMED: Final = frozenset({"mod_item", "use_declaration"})
"""What only names something that every build has."""


def find_cuda_only_reason(
    site: Site, edits: Iterable[Edit], *, widens: bool
) -> CudaOnlyReason | None:
    """Return why a site gets no counterpart, if it needs something CUDA-only.

    Args:
        site: the site.
        edits: the edits that would write the counterpart.
        widens: whether they only widen a condition.
    """
    if found := cuda_only_deps.explain_cuda_dependency(site, site.code):
        return found
    if widens:
        reason = _explain_cuda_use(site)
    else:
        reason = _explain_missing_symbol(site) or bindings_api.explain_missing_name(site, edits)
    if reason:
        return CudaOnlyReason(reason, settled=False)
    return _find_other_side(site) if widens else None


def _explain_cuda_use(site: Site) -> str:
    reason = _explain_cuda_run(site, site.code)
    return reason or (_explain_missing_import(site, site.code) if site.is_cuda_only else "")


def _explain_missing_symbol(site: Site) -> str:
    name = bindings_api.find_missing_symbol(site, site.code)
    if not name:
        return ""
    known = find_mapping(name)
    hips = f", which is HIP's {known.hip}," if known is not None and known.hip else ""
    return f"it asks CUDA's driver for {name}{hips} and the bindings have nothing of the kind"


def _find_other_side(site: Site) -> CudaOnlyReason | None:
    """Return why nothing takes the place of what stands where the source's feature is off.

    Beside ``#[cfg(not(feature = "cuda"))]`` stands CUDA's side, under the same name or next to it.
    Where that gets no counterpart, the other side holds for the written vendor too.
    """
    job = site.job
    if not any(job.cfg_excludes_cuda(cfg) for _, cfg in site.conditions):
        return None
    at = next(i for i, (node, _) in enumerate(site.siblings) if node.id == site.node.id)
    for number, (node, attributes) in enumerate(site.siblings):
        is_pair = field_text(node, "name") == site.name if site.name else abs(number - at) == 1
        if not is_pair or number == at:
            continue
        cfgs = [cfg for _, cfg in parse_conditions(find_attributes(node, attributes))]
        text = node_text(node) if any(map(job.cfg_requires_cuda, cfgs)) else ""
        found = cuda_only_deps.explain_cuda_dependency(site, text) if text else None
        # CUDA's main is asked about where a copy would differ from it (PK511), else it is widened.
        asked = site.name == "main" and not site.scope.symbol and job.rename_changes_code(text)
        reason = _explain_cuda_run(site, text) or ("a program has one main" if asked else "")
        if text and not reason and not job.rename_changes_code(text):  # it would be widened as well
            reason = _explain_missing_import(site, text)
        if found is None and reason:
            found = CudaOnlyReason(
                f"what stands for CUDA is written by hand: {reason}", settled=True
            )
        if found is not None:
            return found
    return None


def _explain_missing_import(site: Site, text: str) -> str:
    """Return why what a text names is not there for the written vendor, if an import tells."""
    name = find_cuda_only_import(site, text)
    return f"it needs {name}, which is imported for CUDA alone" if name else ""


def _explain_cuda_run(site: Site, text: str) -> str:
    """Return why a text of a site's file would build for the source vendor, if it would."""
    if not cuda_tools.may_run_cuda_tools(site.job, site.source):
        return ""
    return cuda_tools.explain_cuda_run(site, site.job.rename(text))


def withhold_counterpart(site: Site, finding: Finding, alone: CudaOnlyReason) -> Finding:
    """Return the finding of a place that gets no counterpart, since it needs what is CUDA's alone.

    An arm that other devices share takes its value, if there is one; else one that answers with an
    error, where no other takes it. What stands under the feature, or where that is off, is left as
    it is. What every build has is for a person.
    """
    title, trust = site.job.vendor.title, Applicability.REVIEW
    shared = error_arms.join_shared_arm(site) if finding.error_edits and alone.settled else None
    if shared is not None:
        said = f"{alone.reason}: {title} does what devices share: see that it is right"
        return replace(finding, applicability=trust, edits=(shared,), error_edits=(), message=said)
    if site.kind == "match_arm" and finding.error_edits:
        said = f"{alone.reason}: {title}'s arm answers with an error: see what it should do"
        arm = error_arms.write_error_arm(finding, _ALONE)
        return replace(arm, applicability=trust, message=said)
    if site.kind == "match_arm":
        said = f"{title} uses the `_` arm. Check that this is right"
    elif site.kind == "if_expression" and alone.settled:
        said = f"{title} uses the code for every other device. Check that this is right"
    elif alone.settled and (site.conditions or site.kind in _NAMED):
        trust, said = Applicability.KEEP, "it is not ported"
    else:
        trust, said = Applicability.MANUAL, f"see what {title} does in its place, by hand"
    return replace(
        finding,
        applicability=trust,
        status=Status.NONE,
        edits=(),
        error_edits=(),
        message=f"{alone.reason}: {said}",
        reason=alone.reason,
    )
