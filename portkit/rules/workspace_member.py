"""The workspace's list of members, or of crates that it leaves out.

The port adds crates, which Cargo must find. The HIP bindings crate becomes a member, and so does
the crate that generates kernels at run time, where the tree has one for CUDA. The kernels crate
stands where the CUDA kernels crate stands, among the members or among the excluded ones.

Not handled: patterns such as ``crates/*`` are not expanded; the crates are listed by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying.bindings import needed
from portkit.lang.source import span_of
from portkit.lang.span import Span
from portkit.lang.toml import bare, key_of, strings, table_of, value_of
from portkit.rules import SiteRule
from portkit.site.intent import Enlist, Intent, Keep, Member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find the lists of members and of excluded crates."""
    job, key = site.job, bare(key_of(site.node))
    if table_of(site.node) != "workspace" or key not in ("members", "exclude"):
        return
    array = value_of(site.node)
    if array.type != "array":
        return
    listed = strings(array)
    facade, generator = job.vendor.facade, job.vendor.generator
    own = not facade.source and needed(job.workspace, job.vendor, job.codebase)
    wanted = [facade.name] if key == "members" and own else []
    if key == "members" and job.workspace.requirement(generator.source):
        wanted.append(generator.name)
    kernels = job.codebase.kernels
    if kernels is not None and any(m.strip("./") == kernels.source for m in listed):
        wanted.append(kernels.name)
    construct = f"workspace {key}"
    if not wanted:
        yield Keep(construct, "the port adds nothing to this list", symbol=key)
        return
    last = [c for c in array.named_children if c.type == "string"][-1:]
    after = span_of(last[0]) if last else Span(array.start_byte + 1, array.start_byte + 1)
    yield Enlist(
        construct,
        f"the workspace gains {', '.join(wanted)}",
        symbol=key,
        members=tuple(Member(after, f'"{name}"') for name in wanted),
        listed=frozenset(f'"{name}"' for name in listed),
    )


RULE = SiteRule("PK203", frozenset({"pair"}), check)
