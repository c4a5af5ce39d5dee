"""A page about a defect: what is wrong, a test that shows it, and how it is mended.

A codebase's own pages lie in the folder ``upstream`` of its directory; those of the codebases that
portkit brings are a part of portkit's documentation (``docs/upstream``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from portkit.codebases.directory import Directory
from portkit.errors import ProfileError
from portkit.profiles.defects import FILE
from portkit.shipped import shipped
from portkit.syntax.value import Value
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
    """A page about a defect.

    Attributes:
        test: a file of tests in Rust that show it; empty where there is none.
        steady: whether the test fails every time; a page says where there is none that does.
    """

    title: str
    table: Mapping[str, str]
    what: str
    test: str
    fix: str
    steady: bool = True

    @property
    def needs_gpu(self) -> bool:
        """Whether the test asks for a GPU of the source vendor's."""
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
    """Return Markdown without what leads from one page to another."""
    return _LINK.sub(r"\1", text)
