"""A condition that asks whether the device is CUDA's.

``device.is_cuda()`` and ``cfg!(feature = "cuda")`` choose a dtype, a tolerance or a faster path.
ROCm joins where the same holds on AMD: ``device.is_cuda() || device.is_rocm()``. That is a decision
and not a renaming, so it comes from the table of decisions in the profile. What the table does not
list is written and marked ``review``; what it says to keep is left alone, with its reason, and no
person is asked about it again.

Without it the code compiles and takes the wrong path; rustc does not notice.

In a build script ``env::var_os("CARGO_FEATURE_CUDA").is_some()`` asks the same, where it decides an
``if`` that names nothing else of CUDA. Kept in a variable, or asked for its absence, it is left to
a person (PK702): what runs then is not known. A person also writes what a build script does by a
string that names CUDA, such as ``cargo:rustc-link-lib=dylib=cudart``.

In an assertion, `assert!(device.is_cuda())`, and in other macros that evaluate their arguments, it
is a condition like any other. So it is in the body of a `macro_rules!` that defines no items.

Handed over as a function, as in ``devices.iter().all(Device::is_cuda)``, the question becomes a
closure that asks both. In a file that takes the path without the feature (``[[plain]]`` of a
profile) it stays as it is, and a person looks at what the table does not list.

A ``cfg!`` on a feature that the port does not write, such as ``cuda-graphs``, is left to a person;
one that never holds without a library that has no counterpart is left as it is.

Not handled: a question that is kept in a variable. It is widened like any other, but what is chosen
by it later is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.device_queries import (
    find_deciding_node,
    find_decision,
    is_build_script_query,
    is_cuda_branch,
    is_cuda_query,
    is_query_path,
)
from portkit.context.intent import (
    Intent,
    LeaveUnchanged,
    ReplaceText,
    RequireManual,
    WidenCondition,
)
from portkit.port import cuda_tools
from portkit.rules import SiteRule
from portkit.syntax.cfg import parse_cfg_macro
from portkit.syntax.source_file import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a condition on the source vendor's device that stands in no branch of its own."""
    job = site.job
    if site.scope.vendor:
        return
    if is_build_script_query(job, site.node):
        yield from _of_build(site)
        return
    if site.kind == "scoped_identifier":
        yield from _as_value(site)
        return
    if not is_cuda_query(job, site.node):
        is_cfg = site.kind == "macro_invocation" and site.code.startswith("cfg!")
        if is_cfg and job.mentions_cuda(site.code):
            message = (
                "it asks for a feature that the port does not write: see what ROCm needs there"
            )
            yield RequireManual("cfg! check", message)
        return
    asked = parse_cfg_macro(site.code)
    path = site.source.path
    if asked is not None and (unported := job.find_unported_feature(asked, path)):
        yield LeaveUnchanged("cfg! check", job.explain_unported(unported, path))
        return
    plain = job.codebase.find_no_feature_entry(path)
    if asked is not None and plain is not None:
        yield LeaveUnchanged("cfg! check", plain.reason)
        return
    holder = find_deciding_node(site)
    if holder.type == "if_expression" and is_cuda_branch(site, holder):
        return
    found = find_decision(site, holder)
    known, entry, shadowed = found.by, found.entry, found.shadowed
    if known is not None and known.verdict == "keep":
        yield LeaveUnchanged(_construct(site, holder), known.reason, entry=entry, shadowed=shadowed)
        return
    if known is None and (reason := _not_widened(site, holder)):
        yield RequireManual(_construct(site, holder), reason, entry=entry, shadowed=shadowed)
        return
    if known is None and plain is not None:
        kept = f"{plain.reason}: {job.vendor.title} does what stands for other devices: see it"
        yield LeaveUnchanged(
            _construct(site, holder), kept, review=True, entry=entry, shadowed=shadowed
        )
        return
    yield WidenCondition(
        _construct(site, holder),
        known.reason
        if known
        else f"the port widens the condition to {job.vendor.title}; no decision in the profile "
        "speaks of it, so see whether the same holds on AMD",
        review=known is None,
        entry=entry,
        shadowed=shadowed,
        condition=site.node,
        within=holder,
    )


def _as_value(site: Site) -> Iterator[Intent]:
    """Find a question that is handed over, as in ``devices.iter().all(Device::is_cuda)``."""
    job, parent = site.job, site.parent
    if parent is None or parent.type != "arguments" or not is_query_path(job, site.node):
        return
    construct = f"is_{job.vendor.source} check"
    found = find_decision(site, find_deciding_node(site))
    known, entry, shadowed = found.by, found.entry, found.shadowed
    plain = job.codebase.find_no_feature_entry(site.source.path)
    if known is None and plain is not None:
        kept = f"{plain.reason}: {job.vendor.title} does what stands for other devices: see it"
        yield LeaveUnchanged(construct, kept, review=True)
        return
    if known is not None and known.verdict == "keep":
        yield LeaveUnchanged(construct, known.reason, entry=entry, shadowed=shadowed)
        return
    name = site.code.rpartition("::")[2]
    yield ReplaceText(
        construct,
        known.reason
        if known
        else f"it holds for {job.vendor.title} too: see whether the same holds on AMD",
        review=known is None,
        entry=entry,
        shadowed=shadowed,
        old=site.code,
        new=f"|device| device.{name}() || device.{job.rename(name)}()",
    )


def _of_build(site: Site) -> Iterator[Intent]:
    """Widen the ``if`` of a build script, unless what it leads to is the source vendor's."""
    holder = find_deciding_node(site)
    is_negated = site.parent is not None and site.parent.type == "unary_expression"
    if holder.type != "if_expression" or is_negated or is_cuda_branch(site, holder):
        return
    body = node_text(holder)
    reason = cuda_tools.explain_cuda_tool(site.job, body) or cuda_tools.explain_uncopied_call(
        site, body
    )
    if reason := reason or cuda_tools.explain_manual_widening(site, body):
        yield RequireManual("build's check", reason)
        return
    yield WidenCondition(
        "build's check",
        cuda_tools.explain_widening(site, body),
        review=True,
        condition=site.node,
        within=holder,
    )


def _not_widened(site: Site, holder: Node) -> str:
    """Return why what an ``if`` of a build script does is a person's, or an empty string."""
    body = holder.child_by_field_name("consequence") if holder.type == "if_expression" else None
    return cuda_tools.explain_manual_widening(site, node_text(body)) if body is not None else ""


def _construct(site: Site, holder: Node) -> str:
    condition = holder.child_by_field_name("condition")
    text = node_text(condition) if condition is not None else site.code
    peer = "/is_metal" if "is_metal" in text else ""
    if site.code.startswith("cfg!"):
        return "cfg! check"
    return f"is_{site.job.vendor.source}{peer} check"


RULE = SiteRule(
    "PK401", frozenset({"call_expression", "macro_invocation", "scoped_identifier"}), check
)
