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

from collections.abc import Iterator, Sequence

from portkit.context.intent import AddToList, InsertText, Intent, LeaveUnchanged, ListMember
from portkit.context.port_job import Site
from portkit.port.hip_bindings import requires_bindings
from portkit.rules import SiteRule
from portkit.syntax.source_file import span_of
from portkit.syntax.span import Span
from portkit.syntax.toml_nodes import (
    find_pair_end,
    find_value,
    read_key,
    read_strings,
    read_table_header,
    unquote,
)
from portkit.workspace.cargo_resolution import FILE


def check(site: Site) -> Iterator[Intent]:
    """Find the lists of members and of excluded crates."""
    job, key = site.job, unquote(read_key(site.node))
    if read_table_header(site.node) == "workspace" and key == "default-members":
        kept = "what cargo builds where it is asked for no crate by name stays what it was"
        yield LeaveUnchanged(f"workspace {key}", kept, symbol=key)
    if read_table_header(site.node) != "workspace" or key not in ("members", "exclude"):
        return
    if site.source.path != FILE:
        kept = "this is another workspace than the one that is ported; the port adds nothing to it"
        yield LeaveUnchanged(f"workspace {key}", kept, symbol=key)
        return
    array = find_value(site.node)
    if array.type != "array":
        return
    listed = read_strings(array)
    facade, generator = job.vendor.facade, job.vendor.generator
    own = not facade.source and requires_bindings(job.workspace, job.vendor, job.codebase)
    wanted = [facade.name] if key == "members" and own else []
    if key == "members" and job.workspace.find_requirement(generator.source):
        wanted.append(generator.name)
    kernels = job.codebase.kernels
    if kernels is not None and any(m.strip("./") == kernels.source for m in listed):
        wanted.append(kernels.name)
    whole = [each for each in job.codebase.whole if not each.unported]
    here = (
        {each.strip("./") for each in listed} if key == "exclude" else _list_excluded_folders(site)
    )
    wanted += [e.place for e in whole if (e.directory in here) is (key == "exclude")]
    if key == "members" and whole and "package" not in job.workspace.manifest:
        yield from _check_default_members(site, listed)
    construct = f"workspace {key}"
    if not wanted:
        yield LeaveUnchanged(construct, "the port adds nothing to this list", symbol=key)
        return
    last = [c for c in array.named_children if c.type == "string"][-1:]
    after = span_of(last[0]) if last else Span(array.start_byte + 1, array.start_byte + 1)
    yield AddToList(
        construct,
        f"the workspace gains {', '.join(wanted)}",
        symbol=key,
        members=tuple(ListMember(after, f'"{name}"') for name in wanted),
        listed=frozenset(f'"{name}"' for name in listed),
    )


def _list_excluded_folders(site: Site) -> set[str]:
    """Return the folders that the workspace leaves out."""
    said = site.job.workspace.manifest.get("workspace", {}).get("exclude")
    return {str(each).strip("./") for each in said} if isinstance(said, list) else set()


def _check_default_members(site: Site, listed: Sequence[str]) -> Iterator[Intent]:
    """Have cargo build what it built before, where it is asked for no crate by name."""
    members = [f'"{name}"' for name in listed]
    one_line, at = ", ".join(members), find_pair_end(site.node)
    if "\n" in site.code:
        one_line = "".join(f"\n    {member}," for member in members) + "\n"
    yield InsertText(
        "workspace default-members",
        "cargo builds what it built before, unless it is told another crate: a counterpart takes"
        " hipcc, and the crate beside it nvcc",
        symbol="default-members",
        text=f"\ndefault-members = [{one_line}]",
        at=at,
        name="default-members",
    )


RULE = SiteRule("PK203", frozenset({"pair"}), check)
