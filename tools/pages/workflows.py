"""The workflows that ``docs/ci.md`` shows, put into the page from their files.

Usage: ``python -m tools.pages.workflows [REPOSITORY]`` writes the page anew, by default of the
current directory; a test fails where it is stale.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

PAGE: Final = Path("docs") / "ci.md"
_BLOCK: Final = re.compile(r"```yaml\n# (ci/workflows/\S+)\n.*?```\n", re.DOTALL)
"""A workflow: its first line names its file."""


def page(repository: Path) -> str:
    """Return the page with each workflow as its file has it.

    Args:
        repository: where the page and the workflows lie.
    """

    def filled(block: re.Match[str]) -> str:
        text = (repository / block[1]).read_text(encoding="utf-8")
        return f"```yaml\n# {block[1]}\n{text}```\n"

    return _BLOCK.sub(filled, (repository / PAGE).read_text(encoding="utf-8"))


if __name__ == "__main__":
    root = Path(*sys.argv[1:2])
    (root / PAGE).write_text(page(root), encoding="utf-8")
