"""A ``matches!`` on a value of the CUDA backend.

``matches!(device, Device::Cuda(_) | Device::Metal(_))`` asks for one or several backends. ROCm
joins the list; that the same holds on AMD is for a person to review. The arguments of a macro are
tokens, not syntax, so the alternatives are read from them.

With ``--gating cfg`` the variant exists only under the feature, and an alternative cannot stand
under one: the macro becomes the ``match`` that it is short for, with an arm for ROCm. So it does in
either gating if the guard names CUDA.

One that decides a branch of CUDA's own is a matter of PK402. Inside a function that is itself
copied, such as ``is_cuda``, nothing is written here.

Not handled: a ``matches!`` among the arguments of a macro that is not known to evaluate them, which
is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.device_queries import find_deciding_node, is_cuda_branch, matches_cuda_only
from portkit.context.intent import Intent, JoinPatterns
from portkit.rules import SiteRule
from portkit.syntax import patterns
from portkit.syntax.source_file import field_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a ``matches!`` that names the source vendor."""
    job = site.job
    own = site.scope.vendor or site.is_cuda_only
    if own or field_text(site.node, "macro").rsplit("::", 1)[-1] != "matches":
        return
    holder = find_deciding_node(site)
    alone = matches_cuda_only(job, site.node)
    if alone and holder.type == "if_expression" and is_cuda_branch(site, holder):
        return  # PK402's
    _, members, _ = patterns.parse_matches_macro(site.node)
    if any(job.mentions_cuda_value(site.source.slice(m)) for m in members):
        yield JoinPatterns(
            "matches! on a device",
            f"{job.vendor.title} joins the pattern: see that the same holds on AMD",
            review=True,
            lists=(tuple(members),),
        )


RULE = SiteRule("PK404", frozenset({"macro_invocation"}), check)
