"""Manifests of a port in part: cargo loads no tree of which one names what is not there.

What is looked at is what would be written, whatever has left the rest out. What a manifest names
before and does not find is the tree's own. Source: the Cargo Book, chapters "Workspaces",
"Specifying Dependencies" and "Features".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from portkit.checks.manifests import find_namers, ported_manifests
from portkit.engine.partial_ports import list_places, locate_partial_port
from portkit.engine.scan import Scan
from portkit.errors import PlanError
from portkit.transaction.change import Change
from portkit.workspace.cargo_resolution import FILE, CargoFault
from portkit.workspace.cargo_workspace import Workspace
from portkit.workspace.finding import Finding, Status
from portkit.workspace.manifest import read_manifest


def check_manifests(whole: Scan, chosen: Scan, changes: Sequence[Change]) -> None:
    """Refuse to write a manifest that names what is left out."""
    if found := find_left_out(whole, chosen, changes):
        named = ", ".join(f"the {each.kind} {each.name}" for each in found)
        raise PlanError(
            f"{named} would be named and not be there, so that cargo would load no manifest of the"
            f" tree: write {'them' if len(found) > 1 else 'it'} too, or leave out"
            f" {list_places(chosen, find_naming(chosen, found))}"
        )


def find_left_out(whole: Scan, chosen: Scan, changes: Iterable[Change]) -> list[CargoFault]:
    """Return what manifests would name anew and is left out, each once; the arguments as above.

    What would not be there after the whole port either is no concern of who chooses.
    """
    written = {
        locate_partial_port(f)
        for f in chosen.findings
        if f.status is Status.TODO and not f.excluded
    }
    left = {
        name
        for f in whole.findings
        if f.excluded or (f.status is Status.TODO and locate_partial_port(f) not in written)
        for name in (f.path, f.symbol)
    }
    if not left:
        return []
    return [
        each
        for each in find_missing_names(whole.job.workspace, changes)
        if any(name == each.where or name.startswith(f"{each.where}/") for name in left)
    ]


def find_missing_names(workspace: Workspace, changes: Iterable[Change]) -> list[CargoFault]:
    """Return what the manifests among some changes would name anew and not find, each once."""
    texts = {change.path: change.after for change in changes}
    written = {path: read_manifest(text) for path, text in texts.items() if path.endswith(FILE)}
    before = workspace.manifests
    after = ported_manifests(workspace, written, texts.__contains__)
    return sorted(after.faults - before.faults)


def find_naming(chosen: Scan, found: Iterable[CargoFault]) -> list[Finding]:
    """Return what is chosen to be written and names what would not be there."""
    out: dict[int, Finding] = {}
    for each in found:
        here = [f for f in chosen.findings if f.path == each.path and f.status is Status.TODO]
        out |= {id(f): f for f in find_namers(here, each) or here}
    return list(out.values())
