"""An arm of a `match` that is an argument of the tree's own macro.

`arms!(d; Device::Cuda(i) => i)` writes a `match` from its arguments, so an arm for ROCm joins them:
`arms!(d; Device::Cuda(i) => i, Device::Rocm(i) => i)`. The macro's own rule says where an arm ends
and what separates two arms, also within brackets: `arms!(d, { Cpu => 0, Cuda => 1 })`. portkit
expands the call with and without the new arm, and writes it only if each `match` gains that one
arm.

Without it the `match` lacks a variant, and rustc refuses it in every build (E0004).

With `--gating cfg` the variant exists only under the feature. If the macro takes no attribute
before an arm, the place is manual.

Not handled: a macro of another crate, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.context.intent import AddToList, AlreadyPorted, Intent, ListMember, RequireManual
from portkit.context.macro_fragments import find_macro_name, is_evaluating
from portkit.context.macro_items import count_copies, find_arms
from portkit.port import gating
from portkit.rules import SiteRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site

_CONSTRUCT: Final = "match arm in a macro"
_NO_ATTRIBUTE: Final = (
    "this macro takes no attribute before an arm, so no arm of a call can be under the feature:"
    " write the arm in the macro by hand"
)


def check(site: Site) -> Iterator[Intent]:
    """Find the arms for the source vendor among the arguments of a macro."""
    job, call = site.job, site.node
    if site.scope.vendor or site.is_cuda_only or is_evaluating(call):
        return
    message = f"copy the arm for {job.vendor.title}"
    attribute = gating.write_feature_attribute(job) if gating.requires_cfg(site) else ""
    for arm, count in find_arms(site, call):
        copy = job.rename(site.source.slice(arm.span))
        copies = _write_gated(copy, attribute) if attribute else (copy,)
        right = next((c for c in copies if count_copies(site, call, arm, c) == 1), "")
        if count > 1 or job.mentions_rocm(arm.pattern):
            yield AlreadyPorted(_CONSTRUCT, message, claims=(arm.span,))
        elif right:
            member = ListMember(arm.span, right, separator=arm.separator)
            yield AddToList(_CONSTRUCT, message, members=(member,), claims=(arm.span,))
        else:
            reason = (
                f"{find_macro_name(call)}! takes no such arm as portkit would write. The match"
                " lacks one"
                f" for {job.vendor.title}. Write it by hand."
            )
            yield RequireManual(_CONSTRUCT, _NO_ATTRIBUTE if count else reason, claims=(arm.span,))


def _write_gated(copy: str, attribute: str) -> tuple[str, ...]:
    """Return an arm under an attribute, which may also be within the brackets of the arm."""
    if copy.startswith(attribute):
        return (copy,)
    inside = (f"{copy[0]}{attribute} {copy[1:]}",) if copy[0] in "([{" else ()
    return (f"{attribute} {copy}", *inside)


RULE = SiteRule("PK411", frozenset({"macro_invocation"}), check)
