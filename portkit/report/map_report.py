"""What ``portkit map`` says of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from portkit.hipify.api_table import Lookup, Mapping
    from portkit.report.terminal import Terminal


_OVERLOADS: Final = "by its name: hipcc says whether the overload that you call is there"

_KINDS: Final = {
    "data": "type, constant or macro",
    "lacking": "header",
    "group": "name of cooperative groups",
    "lanes": "name of cooperative groups",
    "member": "member of cooperative groups",
    "ptx": "PTX",
}
"""What kinds of names are called where the table's word says too little."""


def render_mapping(mapping: Mapping, terminal: Terminal) -> str:
    """Return what a known name becomes, since when, and who says so."""
    if not mapping.hip:
        becomes = terminal.notable("no counterpart in HIP")
    elif mapping.hip == mapping.cuda:
        becomes = "the same in HIP"
    else:
        becomes = terminal.good(mapping.hip)
    kind = _KINDS.get(mapping.kind, mapping.kind)
    since = f", since ROCm {mapping.since}" if mapping.since else ""
    lines = [f"{terminal.bold(mapping.cuda)} -> {becomes}", f"    {kind}{since}"]
    if mapping.kind == "function" and mapping.hip == mapping.cuda and mapping.source != "prelude":
        lines.append(f"    {_OVERLOADS}")
    if mapping.note:
        lines.append(f"    {mapping.note}")
    if mapping.source == "prelude":
        lines.append("    from the headers that portkit hipify writes (hipx*.h)")
    else:
        lines.append(f"    source: {mapping.source}")
    return "\n".join(lines) + "\n"


def render_unknown(lookup: Lookup) -> str:
    """Return what to say of a name that the table does not know."""
    around = lookup.part_of
    if around is not None:
        note = f" ({around.note})" if around.note else ""
        return (
            f"{lookup.name} has no entry of its own; it belongs to {around.cuda}, which becomes"
            f" {around.hip}{note}\n"
        )
    names = f"; like it: {', '.join(lookup.similar)}" if lookup.similar else ""
    return f"{lookup.name} is no name of CUDA's that portkit knows{names}\n"
