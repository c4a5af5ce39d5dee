"""The test that shows a defect, as a file of the tree's own tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.engine.scan import Scan
    from portkit.repairs.defect_page import DefectPage
    from portkit.workspace.cargo_workspace import Crate, Workspace


class DefectTest(Value, frozen=True):
    """A file of tests."""

    path: str
    text: str
    command: str


def build_defect_test(scan: Scan, page: DefectPage, crate: Crate, name: str) -> DefectTest | None:
    """Return the test of a defect; none where its page shows none.

    It asks for the source vendor's feature where it needs such a GPU, and calls crates by the names
    that the package has for them.
    """
    if not page.test:
        return None
    job = scan.job
    text = page.test
    for package, own in _renamed(job.workspace, crate):
        text = re.sub(rf"\b{package}::", f"{own}::", text)
    feature = ""
    if page.needs_gpu:
        gate = f'#![cfg(feature = "{job.source_feature}")]\n'
        text = text if gate in text else f"{gate}\n{text}"
        feature = f" --features {job.source_feature}"
    stem = f"{name.replace('-', '_')}_tests"
    folder = "" if crate.directory == "." else f"{crate.directory}/"
    return DefectTest(
        path=f"{folder}tests/{stem}.rs",
        text=text,
        command=f"cargo test -p {crate.name}{feature} --test {stem}",
    )


def _renamed(workspace: Workspace, crate: Crate) -> Iterator[tuple[str, str]]:
    """Yield the crates that a package calls otherwise than they call themselves.

    Source: the Cargo Book, "Renaming dependencies in Cargo.toml", and "The workspace.dependencies
    table", from which an entry may be inherited.
    """
    shared = workspace.manifest.get("workspace", {}).get("dependencies", {})
    for table in ("dependencies", "dev-dependencies"):
        for key, entry in crate.manifest.get(table, {}).items():
            inherited = isinstance(entry, dict) and entry.get("workspace")
            said = shared.get(key) if inherited else entry
            package = said.get("package") if isinstance(said, dict) else None
            if isinstance(package, str) and package != key:
                yield package.replace("-", "_"), key.replace("-", "_")
