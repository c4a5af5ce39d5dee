"""The workspace's list of members, or of crates that it leaves out.

The port adds crates, which Cargo must find. The HIP bindings crate becomes a member, and so does
the crate that generates kernels at run time, where the tree has one for CUDA. The kernels crate
stands where the CUDA kernels crate stands, among the members or among the excluded ones.

Not handled: patterns such as ``crates/*`` are not expanded; the crates are listed by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.rules import Rule
from portkit.rules.feature import key_of, strings, table_of, value_of
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK203"


def check(site: Site) -> Iterator[Finding]:
    """Find the lists of members and of excluded crates."""
    job = site.job
    if table_of(site.node) != "workspace" or key_of(site.node) not in ("members", "exclude"):
        return
    array = value_of(site.node)
    if array.type != "array":
        return
    listed = strings(array)
    members, facade, generator = (
        key_of(site.node) == "members",
        job.vendor.facade,
        job.vendor.generator,
    )
    wanted = [facade.name] if members and not facade.source else []
    if members and job.workspace.requirement(generator.source):
        wanted.append(generator.name)
    kernels = job.codebase.kernels
    if kernels is not None and any(m.strip("./") == kernels.source for m in listed):
        wanted.append(kernels.name)
    missing = [w for w in wanted if w not in listed]
    if not wanted:
        yield emit.finding(
            site,
            CODE,
            f"workspace {key_of(site.node)}",
            "the port adds nothing to this list",
            symbol=key_of(site.node),
            applicability=Applicability.KEEP,
        )
        return
    elements = [c for c in array.named_children if c.type == "string"]
    added = [f'"{m}"' for m in missing]
    edits = (Edit(array.start_byte + 1, array.start_byte + 1, ", ".join(added)),)
    if elements:
        end = elements[-1].end_byte
        multiline = site.source.data.rfind(b"\n", array.start_byte, end) > 0
        gap = f",\n{site.source.indent(elements[-1].start_byte)}" if multiline else ", "
        edits = (Edit(end, end, "".join(gap + m for m in added)),)
    yield emit.finding(
        site,
        CODE,
        f"workspace {key_of(site.node)}",
        f"the workspace gains {', '.join(wanted)}",
        symbol=key_of(site.node),
        status=Status.TODO if missing else Status.PORTED,
        edits=edits,
    )


RULE = Rule(CODE, "workspace_member", frozenset({"pair"}), check)
