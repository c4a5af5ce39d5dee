"""Text under a condition that is to hold for the written vendor too: whether a string names CUDA.

Code that names nothing of CUDA holds for a GPU of any vendor. A string in it may say otherwise, and
in a build script it does something: ``cargo:rustc-link-lib=dylib=cudart`` links CUDA's library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.device_queries import name_feature_variable
from portkit.port import c_declarations
from portkit.syntax.name_table import NO_CODE, find_feature_conditions

if TYPE_CHECKING:
    from portkit.context.port_job import PortJob, Site


def explain_manual_widening(site: Site, text: str) -> str:
    """Return why a person must write what a text does, or an empty string.

    It acts in a build script, or declares functions of C that ROCm does not have.
    """
    job = site.job
    if "extern" in text and (reason := c_declarations.explain_missing_c_function(job, text)):
        return reason
    named = _named(job, text) if job.workspace.is_build_script(site.source.path) else ""
    return (
        f"A build script acts by `{named}` here, which names CUDA. Write what {job.vendor.title}"
        f" needs, under the feature {job.feature}"
        if named
        else ""
    )


def explain_widening(site: Site, text: str) -> str:
    """Return what a finding says about a condition that is widened."""
    title, named = site.job.vendor.title, _named(site.job, text)
    if named:
        return (
            f"Its condition is widened to {title}, and the string `{named}` in it names CUDA."
            f" Check what it says on {title}"
        )
    return f"It names nothing of CUDA, so its condition is widened to {title}. Check that it should"


def _named(job: PortJob, text: str) -> str:
    """Return the first string that names the source's platform, those of conditions aside."""
    if not job.mentions_cuda(text):
        return ""
    asked = {match.start() for match in find_feature_conditions(text)}
    for match in NO_CODE.finditer(text):
        literal = match[0]
        if literal.startswith(("/", "'")) or match.start() in asked:
            continue
        if name_feature_variable(job) not in literal and job.mentions_cuda(literal):
            return literal.strip('"')
    return ""
