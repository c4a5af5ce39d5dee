"""The workspace's list of members, or of crates that it leaves out.

The port adds crates, which Cargo must find. The HIP bindings crate becomes a member, and so does the
crate that generates kernels at run time, where the tree has one for CUDA. The kernels crate stands
where the CUDA kernels crate stands, among the members or among the excluded ones.

Not handled: patterns such as ``crates/*`` are not expanded; the crates are listed by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Edit, Finding, Status
from portkit.rules import Rule
from portkit.rules.feature import key_of, strings, table_of, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK203"


def check(place: Place) -> Iterator[Finding]:
    """Find the lists of members and of excluded crates."""
    port = place.port
    if table_of(place.node) != "workspace" or key_of(place.node) not in ("members", "exclude"):
        return
    array = value_of(place.node)
    if array.type != "array":
        return
    listed = strings(array)
    wanted = [port.vendor.facade.name] if key_of(place.node) == "members" else []
    if wanted and port.workspace.requirement(port.vendor.generator.source):
        wanted.append(port.vendor.generator.name)
    kernels = port.codebase.kernels
    if kernels is not None and any(m.strip("./") == kernels.source for m in listed):
        wanted.append(kernels.name)
    missing = [w for w in wanted if w not in listed]
    if not wanted:
        yield emit.finding(
            place,
            CODE,
            f"workspace {key_of(place.node)}",
            "the port adds nothing to this list",
            symbol=key_of(place.node),
            applicability=Applicability.KEEP,
        )
        return
    elements = [c for c in array.named_children if c.type == "string"]
    added = [f'"{m}"' for m in missing]
    edits = (Edit(array.start_byte + 1, array.start_byte + 1, ", ".join(added)),)
    if elements:
        end = elements[-1].end_byte
        multiline = place.source.data.rfind(b"\n", array.start_byte, end) > 0
        gap = f",\n{place.source.indent(elements[-1].start_byte)}" if multiline else ", "
        edits = (Edit(end, end, "".join(gap + m for m in added)),)
    yield emit.finding(
        place,
        CODE,
        f"workspace {key_of(place.node)}",
        f"the workspace gains {', '.join(wanted)}",
        symbol=key_of(place.node),
        status=Status.TODO if missing else Status.PORTED,
        edits=edits,
    )


RULE = Rule(CODE, "workspace_member", frozenset({"pair"}), check)
