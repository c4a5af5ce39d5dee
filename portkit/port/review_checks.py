"""What is not written, or not without a person, though a rule wants it.

A copy of what needs something CUDA-only (`portkit.port.cuda_only_deps`) would build
nowhere: where the feature is off, or on another device, something stands already. What a build
script does, what a linker looks for, and a value under the name of another, no compiler judges: a
person looks at it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from portkit.context.port_job import PortJob, Site, may_include_headers
from portkit.hipify.api_table import find_mapping
from portkit.port import (
    bindings_api,
    c_declarations,
    copied_values,
    cuda_only_deps,
    cuda_tools,
    error_arms,
    reexported_bindings,
)
from portkit.port.cuda_only_deps import CudaOnlyReason
from portkit.port.dispatch_shim import find_cuda_only_import
from portkit.port.vetoes import runs_cuda_tool
from portkit.syntax.cfg import find_attributes, parse_conditions
from portkit.syntax.source_file import field_text, node_text
from portkit.workspace.finding import Applicability, Finding, Status

_ACTS: Final = "a build script acts by it: see what it is for"
_HIDES: Final = "with both features on it hides CUDA's value: see that the two do not differ"
_ALONE: Final = "it needs what CUDA alone has"
_NAMED: Final = frozenset({"mod_item", "use_declaration"})
"""What only names something that every build has."""


def apply_review_checks(site: Site, finding: Finding, *, widens: bool) -> Finding:
    """Return a finding with what keeps it from being written, or from being trusted."""
    vetoes = _VETOES_OF_CONDITIONS if widens else _VETOES_OF_COPIES
    found = (veto(site, finding) for veto in vetoes)
    if alone := next(filter(None, found), None):
        return _not_written(site, finding, alone)
    decided = finding.entry or finding.applicability is not Applicability.SAFE
    doubt = "" if decided else _explain_site_review(site)
    is_copied = decided and not finding.entry and not widens
    text = copied_values.explain_platform_literal(site.job, site.code) if is_copied else ""
    value = "" if finding.entry or widens else copied_values.explain_value_review(site)
    if not (doubt or text or value):
        return finding
    said = join_messages(finding.message, doubt, text, value)
    return replace(finding, applicability=Applicability.REVIEW, message=said)


def _find_cuda_only(site: Site, _: Finding) -> CudaOnlyReason | None:
    return cuda_only_deps.explain_cuda_only(site, site.code)


def _find_cuda_use(site: Site, _: Finding) -> CudaOnlyReason | None:
    reason = _runs(site, site.code)
    if not reason and site.is_cuda_only:
        reason = _needs_import(site, site.code)
    return CudaOnlyReason(reason, settled=False) if reason else None


def _find_missing_symbol(site: Site, _: Finding) -> CudaOnlyReason | None:
    name = bindings_api.find_missing_symbol(site, site.code)
    if not name:
        return None
    known = find_mapping(name)
    hips = f", which is HIP's {known.hip}," if known is not None and known.hip else ""
    said = f"it asks CUDA's driver for {name}{hips} and the bindings have nothing of the kind"
    return CudaOnlyReason(said, settled=False)


def _find_missing_name(site: Site, finding: Finding) -> CudaOnlyReason | None:
    reason = bindings_api.explain_missing_name(site, finding)
    return CudaOnlyReason(reason, settled=False) if reason else None


def join_messages(message: str, *more: str) -> str:
    """Return a message with what is to be said as well: sentences, and halves of one."""
    for each in filter(None, more):
        message += f"{'. ' if each[0].isupper() or each[0] == '`' else '; '}{each}"
    return message


def explain_review(job: PortJob, text: str) -> str:
    """Return why a person should look at the copy of a text, wherever it stands, or nothing."""
    return (
        reexported_bindings.explain_binding_review(job, text)
        or _headers(job, text)
        or copied_values.explain_platform_literal(job, text)
    )


def _headers(job: PortJob, text: str) -> str:
    if not may_include_headers(text):
        return ""
    from portkit.hipify.kernel_strings import find_unknown_headers  # few trees have one

    unknown = find_unknown_headers(text, job.file_names)
    header = next((name for name in unknown if job.mentions_cuda(name)), "")
    title = job.vendor.title
    return f"it names {header} of CUDA's: see which header {title} has, if any" if header else ""


def _explain_site_review(site: Site) -> str:
    """Return why a person should look at what is written there, or an empty string."""
    if site.job.workspace.is_build_script(site.source.path):
        return _ACTS
    if c_declarations.has_linked_functions(site.code):
        return c_declarations.explain_c_review(site.job, site.code)
    block = site.outer.outer if site.outer is not None else None
    if block is not None and block.kind == "foreign_mod_item":
        return c_declarations.LINKED
    pattern = field_text(site.node, "pattern") if site.kind == "let_declaration" else ""
    hides = pattern not in ("", "_") and site.is_cuda_only and site.job.rename(pattern) == pattern
    return _HIDES if hides else explain_review(site.job, site.code)


def _other_side(site: Site, _: Finding) -> CudaOnlyReason | None:
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
        found = cuda_only_deps.explain_cuda_only(site, text) if text else None
        # CUDA's main is asked about where a copy would differ from it (PK511), else it is widened.
        asked = site.name == "main" and not site.scope.symbol and job.rename_changes_code(text)
        reason = _runs(site, text) or ("a program has one main" if asked else "")
        if text and not reason and not job.rename_changes_code(text):  # it would be widened as well
            reason = _needs_import(site, text)
        if found is None and reason:
            found = CudaOnlyReason(
                f"what stands for CUDA is written by hand: {reason}", settled=True
            )
        if found is not None:
            return found
    return None


def _needs_import(site: Site, text: str) -> str:
    """Return why what a text names is not there for the written vendor, if an import tells."""
    name = find_cuda_only_import(site, text)
    return f"it needs {name}, which is imported for CUDA alone" if name else ""


def _runs(site: Site, text: str) -> str:
    """Return why a text of a site's file would build for the source vendor, if it would."""
    if not cuda_tools.may_run_cuda_tools(site.job, site.source):
        return ""
    return runs_cuda_tool(site, site.job.rename(text))


_VETOES_OF_CONDITIONS: Final = (_find_cuda_only, _find_cuda_use, _other_side)
_VETOES_OF_COPIES: Final[tuple[Callable[[Site, Finding], CudaOnlyReason | None], ...]] = (
    _find_cuda_only,
    _find_missing_symbol,
    _find_missing_name,
)


def _not_written(site: Site, finding: Finding, alone: CudaOnlyReason) -> Finding:
    """Return the finding of a place that gets no counterpart, since it needs what is CUDA's alone.

    An arm that other devices share takes its value, if there is one; else one that answers with an
    error, where no other takes it. What stands under the feature, or where that is off, is left as
    it is. What every build has is for a person.
    """
    title, trust = site.job.vendor.title, Applicability.REVIEW
    shared = (
        error_arms.move_to_fallback_arm(site) if finding.fallback_edits and alone.settled else None
    )
    if shared is not None:
        said = f"{alone.reason}: {title} does what devices share: see that it is right"
        return replace(
            finding, applicability=trust, edits=(shared,), fallback_edits=(), message=said
        )
    if site.kind == "match_arm" and finding.fallback_edits:
        said = f"{alone.reason}: {title}'s arm answers with an error: see what it should do"
        left = error_arms.exclude_with_error_arm(finding, _ALONE)
        return replace(left, applicability=trust, message=said)
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
        fallback_edits=(),
        message=f"{alone.reason}: {said}",
        reason=alone.reason,
    )
