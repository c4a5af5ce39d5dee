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

from portkit.lang import patterns
from portkit.lang.source import field_text
from portkit.rules import SiteRule
from portkit.site.intent import Intent, Join
from portkit.site.questions import decided, is_of_source, is_of_source_alone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a ``matches!`` that names the source vendor."""
    job = site.job
    own = site.scope.vendor or site.is_source
    if own or field_text(site.node, "macro").rsplit("::", 1)[-1] != "matches":
        return
    holder = decided(site)
    alone = is_of_source_alone(job, site.node)
    if alone and holder.type == "if_expression" and is_of_source(site, holder):
        return  # PK402's
    _, members, _ = patterns.of_matches(site.node)
    if any(job.names_value(site.source.slice(m)) for m in members):
        yield Join(
            "matches! on a device",
            f"{job.vendor.title} joins the pattern: see that the same holds on AMD",
            review=True,
            lists=(tuple(members),),
        )


RULE = SiteRule("PK404", frozenset({"macro_invocation"}), check)
