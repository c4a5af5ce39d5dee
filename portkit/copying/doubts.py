"""What is not written, or not without a person, though a rule wants it.

A copy of what needs something of the source vendor's alone (`portkit.copying.bound`) would build
nowhere: where the feature is off, or on another device, something stands already. What a build
script does, what a linker looks for, and a value under the name of another, no compiler judges: a
person looks at it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.copying import (
    bound,
    driver_api,
    foreign,
    handed_out,
    left_out,
    offered,
    programs,
    shared_arm,
    text_values,
    uncopied,
    values,
)
from portkit.copying.handover import imported_alone
from portkit.hipify.api_table import find
from portkit.lang.cfg import attributes_of, conditions_of
from portkit.lang.renaming import code_only
from portkit.lang.source import field_text, node_text
from portkit.site.context import names_headers
from portkit.tree.finding import Applicability, Status

if TYPE_CHECKING:
    from portkit.site.context import Job, Site
    from portkit.tree.finding import Finding

_ACTS: Final = "a build script acts by it: see what it is for"
_HIDES: Final = "with both features on it hides CUDA's value: see that the two do not differ"
_FOREIGN: Final = re.compile(r'\bextern\s*(?:"")?\s*\{')
_ALONE: Final = "it needs what CUDA alone has"
_NAMED: Final = frozenset({"mod_item", "use_declaration"})
"""What only names something that every build has."""


def doubted(site: Site, finding: Finding, *, widens: bool) -> Finding:
    """Return a finding with what keeps it from being written, or from being trusted.

    Args:
        site: the site.
        finding: what would be written there, from the site's text.
        widens: whether that is a condition that holds for the written vendor as well.
    """
    alone = bound.why(site, site.code)
    if alone is None and widens:
        reason = _runs(site, site.code)
        if not reason and site.is_source:
            reason = _needs_import(site, site.code)
        alone = bound.Bound(reason, settled=False) if reason else _other_side(site)
    if alone is None and not widens and (name := driver_api.missing(site, site.code)):
        known = find(name)
        hips = f", which is HIP's {known.hip}," if known is not None and known.hip else ""
        said = f"it asks CUDA's driver for {name}{hips} and the bindings have nothing of the kind"
        alone = bound.Bound(said, settled=False)
    if alone is None and not widens and (lacking := offered.missing(site, finding)):
        alone = bound.Bound(lacking, settled=False)
    if alone is not None:
        return _not_written(site, finding, alone)
    decided = finding.entry or finding.applicability is not Applicability.SAFE
    doubt = "" if decided else _doubt(site)
    is_copied = decided and not finding.entry and not widens
    text = text_values.doubt(site.job, site.code) if is_copied else ""
    value = "" if finding.entry or widens else values.doubt(site)
    if not (doubt or text or value):
        return finding
    said = joined(finding.message, doubt, text, value)
    return replace(finding, applicability=Applicability.REVIEW, message=said)


def joined(message: str, *more: str) -> str:
    """Return a message with what is to be said as well: sentences, and halves of one."""
    for each in filter(None, more):
        message += f"{'. ' if each[0].isupper() or each[0] == '`' else '; '}{each}"
    return message


def declares_linked(text: str) -> bool:
    """Whether Rust source declares functions that are linked by their names."""
    return "extern" in text and _FOREIGN.search(code_only(text)) is not None


def doubt_in(job: Job, text: str) -> str:
    """Return why a person should look at the copy of a text, wherever it stands, or nothing.

    Args:
        job: the job.
        text: Rust source of a file.
    """
    return handed_out.doubt(job, text) or _headers(job, text) or text_values.doubt(job, text)


def _headers(job: Job, text: str) -> str:
    if not names_headers(text):
        return ""
    from portkit.hipify.strings import unknown_headers  # few trees have one

    unknown = unknown_headers(text, job.file_names)
    header = next((name for name in unknown if job.names_source(name)), "")
    title = job.vendor.title
    return f"it names {header} of CUDA's: see which header {title} has, if any" if header else ""


def _doubt(site: Site) -> str:
    """Return why a person should look at what is written there, or an empty string."""
    if site.job.workspace.is_build_script(site.source.path):
        return _ACTS
    if declares_linked(site.code):
        return foreign.find_doubt(site.job, site.code)
    if _is_foreign(site):
        return foreign.LINKED
    pattern = field_text(site.node, "pattern") if site.kind == "let_declaration" else ""
    hides = pattern not in ("", "_") and site.is_source and site.job.rename(pattern) == pattern
    return _HIDES if hides else doubt_in(site.job, site.code)


def _is_foreign(site: Site) -> bool:
    outer = site.outer
    return outer is not None and outer.outer is not None and outer.outer.kind == "foreign_mod_item"


def _other_side(site: Site) -> bound.Bound | None:
    """Return why nothing takes the place of what stands where the source's feature is off.

    Beside ``#[cfg(not(feature = "cuda"))]`` stands CUDA's side, under the same name or next to it.
    Where that gets no counterpart, the other side holds for the written vendor too.
    """
    job = site.job
    if not any(job.without_source(cfg) for _, cfg in site.conditions):
        return None
    at = next(i for i, (node, _) in enumerate(site.siblings) if node.id == site.node.id)
    for number, (node, attributes) in enumerate(site.siblings):
        is_pair = field_text(node, "name") == site.name if site.name else abs(number - at) == 1
        if not is_pair or number == at:
            continue
        cfgs = [cfg for _, cfg in conditions_of(attributes_of(node, attributes))]
        text = node_text(node) if any(map(job.of_source, cfgs)) else ""
        found = bound.why(site, text) if text else None
        # CUDA's main is asked about where a copy would differ from it (PK511), else it is widened.
        asked = site.name == "main" and not site.scope.symbol and job.renames_code(text)
        reason = _runs(site, text) or ("a program has one main" if asked else "")
        if text and not reason and not job.renames_code(text):  # it would be widened as well
            reason = _needs_import(site, text)
        if found is None and reason:
            found = bound.Bound(f"what stands for CUDA is written by hand: {reason}", settled=True)
        if found is not None:
            return found
    return None


def _needs_import(site: Site, text: str) -> str:
    """Return why what a text names is not there for the written vendor, if an import tells."""
    name = imported_alone(site, text)
    return f"it needs {name}, which is imported for CUDA alone" if name else ""


def _runs(site: Site, text: str) -> str:
    """Return why a text of a site's file would build for the source vendor, if it would."""
    if not programs.concern(site.job, site.source):
        return ""
    copy = site.job.rename(text)
    return programs.why_not_copied(site.job, copy) or uncopied.why_not_copied(site, copy)


def _not_written(site: Site, finding: Finding, alone: bound.Bound) -> Finding:
    """Return the finding of a place that gets no counterpart, since it needs what is CUDA's alone.

    An arm that other devices share takes its value, if there is one; else one that answers with an
    error, where no other takes it. What stands under the feature, or where that is off, is left as
    it is. What every build has is for a person.
    """
    title, trust = site.job.vendor.title, Applicability.REVIEW
    shared = shared_arm.taken(site) if finding.instead and alone.settled else None
    if shared is not None:
        said = f"{alone.reason}: {title} does what devices share: see that it is right"
        return replace(finding, applicability=trust, edits=(shared,), instead=(), message=said)
    if site.kind == "match_arm" and finding.instead:
        said = f"{alone.reason}: {title}'s arm answers with an error: see what it should do"
        left = left_out.left_out(finding, _ALONE)
        return replace(left, applicability=trust, message=said)
    if site.kind == "match_arm":
        said = f"{title} takes the arm for the rest: see that it is right"
    elif site.kind == "if_expression" and alone.settled:
        said = f"{title} does what stands for every device: see that it is right"
    elif alone.settled and (site.conditions or site.kind in _NAMED):
        trust, said = Applicability.KEEP, "it is not ported"
    else:
        trust, said = Applicability.MANUAL, f"see what {title} does in its place, by hand"
    return replace(
        finding,
        applicability=trust,
        status=Status.NONE,
        edits=(),
        instead=(),
        message=f"{alone.reason}: {said}",
        reason=alone.reason,
    )
