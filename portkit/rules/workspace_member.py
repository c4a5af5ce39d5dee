"""The workspace's list of members, or of crates that it leaves out.

The port adds crates, which Cargo must find. The HIP bindings crate becomes a member, and so does
the crate that generates kernels at run time, where the tree has one for CUDA. The kernels crate
stands where the CUDA kernels crate stands, among the members or among the excluded ones, and so
does the counterpart of a crate that is CUDA's as a whole. With one of those, a workspace without a
package at its root gains ``default-members``, those that it had: few machines have nvcc and hipcc.
A workspace below the root, such as that of fuzz tests, gains nothing: a path needs no member.

Not handled: patterns such as ``crates/*`` are not expanded; the crates are listed by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying.bindings import needed
from portkit.lang.source import span_of
from portkit.lang.span import Span
from portkit.lang.toml import bare, end_of, key_of, strings, table_of, value_of
from portkit.rules import SiteRule
from portkit.site.intent import Add, Enlist, Intent, Keep, Member
from portkit.tree.resolution import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find the lists of members and of excluded crates."""
    job, key = site.job, bare(key_of(site.node))
    if table_of(site.node) == "workspace" and key == "default-members":
        kept = "what cargo builds where it is asked for no crate by name stays what it was"
        yield Keep(f"workspace {key}", kept, symbol=key)
    if table_of(site.node) != "workspace" or key not in ("members", "exclude"):
        return
    if site.source.path != FILE:
        kept = "this is another workspace than the one that is ported; the port adds nothing to it"
        yield Keep(f"workspace {key}", kept, symbol=key)
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
    whole = [each for each in job.codebase.whole if not each.unported]
    here = {each.strip("./") for each in listed} if key == "exclude" else _excluded(site)
    wanted += [e.place for e in whole if (e.directory in here) is (key == "exclude")]
    if key == "members" and whole and "package" not in job.workspace.manifest:
        yield from _default(site, listed)
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


def _excluded(site: Site) -> set[str]:
    """Return the folders that the workspace leaves out."""
    said = site.job.workspace.manifest.get("workspace", {}).get("exclude")
    return {str(each).strip("./") for each in said} if isinstance(said, list) else set()


def _default(site: Site, listed: Sequence[str]) -> Iterator[Intent]:
    """Have cargo build what it built before, where it is asked for no crate by name."""
    members = [f'"{name}"' for name in listed]
    one_line, at = ", ".join(members), end_of(site.node)
    if "\n" in site.code:
        one_line = "".join(f"\n    {member}," for member in members) + "\n"
    yield Add(
        "workspace default-members",
        "cargo builds what it built before, unless it is told another crate: a counterpart takes"
        " hipcc, and the crate beside it nvcc",
        symbol="default-members",
        text=f"\ndefault-members = [{one_line}]",
        at=at,
        name="default-members",
    )


RULE = SiteRule("PK203", frozenset({"pair"}), check)
