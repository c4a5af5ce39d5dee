"""Reasons why a person reviews what is written at a site.

No compiler judges what a build script does, what a linker looks for, and a value under the name of
another: a person looks at it.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from portkit.context.port_job import PortJob, Site, may_include_headers
from portkit.port import c_declarations, copied_values, reexported_bindings
from portkit.syntax.source_file import field_text
from portkit.workspace.finding import Applicability, Finding

_ACTS: Final = "a build script acts by it: see what it is for"
_HIDES: Final = "with both features on it hides CUDA's value: see that the two do not differ"


def add_review_reasons(site: Site, finding: Finding, *, widens: bool) -> Finding:
    """Return a finding; one that a person should look at is for review, with the reasons."""
    has_reason = finding.entry or finding.applicability is not Applicability.SAFE
    doubt = "" if has_reason else _explain_site_review(site)
    is_copied = has_reason and not finding.entry and not widens
    text = copied_values.explain_platform_literal(site.job, site.code) if is_copied else ""
    value = "" if finding.entry or widens else copied_values.explain_value_review(site)
    written = "\n".join(edit.text for edit in finding.edits)
    maker = copied_values.explain_maker_text(site.job, written, value)
    if not (doubt or text or value or maker):
        return finding
    said = join_messages(finding.message, doubt, text, value, maker)
    return replace(finding, applicability=Applicability.REVIEW, message=said)


def join_messages(message: str, *more: str) -> str:
    """Return a message with what is to be said as well: sentences, and halves of one."""
    for each in filter(None, more):
        message += f"{'. ' if each[0].isupper() or each[0] == '`' else '; '}{each}"
    return message


def explain_review(job: PortJob, text: str) -> str:
    """Return why a person should look at the copy of a text, wherever it stands, or nothing."""
    return (
        reexported_bindings.explain_binding_review(job, text)
        or _explain_header(job, text)
        or copied_values.explain_platform_literal(job, text)
    )


def _explain_header(job: PortJob, text: str) -> str:
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
