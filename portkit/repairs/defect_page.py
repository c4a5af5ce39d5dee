"""A page about a defect: the defect, a test that shows it, and the fix.

A codebase's own pages lie in the folder ``upstream`` of its directory; those of the codebases that
portkit brings are a part of portkit's documentation (``docs/upstream``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from portkit.codebases.directory import Directory
from portkit.engine.scan import Scan
from portkit.errors import ProfileError
from portkit.profiles.defects import FILE
from portkit.shipped import shipped
from portkit.syntax.value import Value
from portkit.workspace.cargo_workspace import Crate, Workspace
from portkit.workspace.regular_files import read_regular

FOLDER: Final = "upstream"
_SHIPPED: Final = "docs/upstream"
_LARGEST: Final = 1 << 20
_CODE: Final = re.compile(r"^```rust\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECTION: Final = re.compile(r"^## (.*)\n((?s:.*?))(?=^## |\Z)", re.MULTILINE)
_ROW: Final = re.compile(r"^\| ([a-z ]+) \| (.*?) ?\|$", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^]]*)\]\([^)]*\)")
_GPU: Final = "GPU"
_UNSTEADY: Final = "none that fails every time"


class DefectPage(Value, frozen=True):
    """A page about a defect."""

    title: str
    table: Mapping[str, str]
    what: str
    test: str  # A file of tests in Rust that show it; empty where there is none.
    fix: str
    # Whether the test fails every time; a page says where there is none that does.
    steady: bool = True

    @property
    def needs_gpu(self) -> bool:
        """Whether the test needs a GPU of the source vendor."""
        return _GPU in self.table.get("runs on", "")


def read_page(directory: Directory, name: str) -> DefectPage:
    """Return a page."""
    file = f"{FOLDER}/{name}.md"
    if directory.has(file):
        text = directory.text(file)
    else:
        place = shipped(_SHIPPED) / f"{name}.md"
        try:
            text = read_regular(place, _LARGEST).decode()
        except OSError:
            raise ProfileError(
                f"{directory}/{FILE} names the page {name}, and there is no {directory}/{file}:"
                " write it, or mend the name"
            ) from None
    sections = {heading: body.strip() for heading, body in _SECTION.findall(text)}
    if lacking := [each for each in ("What", "Fix") if each not in sections]:
        raise ProfileError(f"the page {name} has no section {lacking[0]!r}: write it")
    code = _CODE.search(text)
    return DefectPage(
        title=text.split("\n", 1)[0].removeprefix("# "),
        table=dict(_ROW.findall(text)),
        what=_plain(sections["What"]),
        test=code[1] if code else "",
        fix=_plain(sections["Fix"]),
        steady=_UNSTEADY not in sections.get("Reproduction", ""),
    )


def _plain(text: str) -> str:
    """Return Markdown without its links."""
    return _LINK.sub(r"\1", text)


class DefectTest(Value, frozen=True):
    """A file of tests."""

    path: str
    text: str
    command: str


def build_defect_test(scan: Scan, page: DefectPage, crate: Crate, name: str) -> DefectTest | None:
    """Return the test of a defect, or None if its page has none.

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
