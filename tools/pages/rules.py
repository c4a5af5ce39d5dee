"""The pages of ``docs/rules``, made from the rules' docstrings and the first fixture of each.

Usage: ``python -m tools.pages.rules [REPOSITORY]`` writes them, by default into the current
directory; a test fails where they are stale.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.engine.rule_pages import list_pages
from portkit.report.model import MEANINGS

if TYPE_CHECKING:
    from portkit.engine.rule_pages import RulePage

FIXTURES = Path("tests") / "fixtures" / "rules"
DOCS = Path("docs") / "rules"

_FENCES = {".rs": "rust", ".toml": "toml"}


def made(repository: Path) -> dict[str, str]:
    """Return every page: its name in ``docs/rules``, and its text.

    Args:
        repository: where the fixtures lie.
    """
    texts = {file_name(page): _page(page, repository) for page in list_pages()}
    return {"index.md": _index(), **texts}


def file_name(page: RulePage) -> str:
    """Return the name of a page's file, such as ``PK301-match-arm.md``."""
    return f"{page.code}-{page.name.replace('_', '-')}.md"


def _index() -> str:
    rows = [f"| [{p.code}]({file_name(p)}) | {_code(p.title)} |" for p in list_pages()]
    states = ", ".join(f"`{state.word}` ({meaning})" for state, meaning in MEANINGS.items())
    head = [
        "# What a report can name",
        "",
        "`portkit explain CODE` prints the same pages. A place is in one of these states:"
        f" {states}.",
        "",
        "| code | finds |",
        "| --- | --- |",
    ]
    return "\n".join([*head, *rows, ""])


def _page(page: RulePage, repository: Path) -> str:
    head = f"# {page.code}: {page.name.replace('_', ' ')}"
    parts = [head, _code(page.title), _code(page.text)]
    folder = repository / FIXTURES / page.name
    if folder.is_dir():
        parts += ["## Example", *_example(min(p for p in folder.iterdir() if p.is_dir()))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _example(case: Path) -> list[str]:
    """Return what a case shows: what changes with each gating, or the code that stays."""
    before = _tree(case / "before")
    if not (case / "after").is_dir():
        return ["Nothing is written here:", *(_fenced(p, t) for p, t in before.items())]
    parts = [_diff(before, _tree(case / "after"))]
    if (case / "after_cfg").is_dir():
        after = _tree(case / "after_cfg")
        parts += (
            ["With `--gating cfg` nothing is written here."]
            if after == before
            else ["With `--gating cfg`:", _diff(before, after)]
        )
    return parts


def _tree(root: Path) -> dict[str, str]:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {f.relative_to(root).as_posix(): f.read_text(encoding="utf-8") for f in files}


def _fenced(path: str, text: str) -> str:
    return f"```{_FENCES.get(Path(path).suffix, '')}\n{text}```"


def _diff(before: dict[str, str], after: dict[str, str]) -> str:
    lines: list[str] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path, ""), after.get(path, "")
        if old != new:
            found = difflib.unified_diff(
                old.splitlines(), new.splitlines(), path, path, lineterm="", n=max(len(old), 1)
            )
            lines += [line for line in found if not line.startswith("@@")]
    return "\n".join(["```diff", *lines, "```"])


def _code(text: str) -> str:
    """Return text whose code is marked as Markdown has it."""
    return text.replace("``", "`")


def main(arguments: list[str]) -> int:
    """Write the pages, and take away those of codes that are gone."""
    repository = Path(arguments[0] if arguments else ".")
    folder = repository / DOCS
    folder.mkdir(parents=True, exist_ok=True)
    texts = made(repository)
    for old in folder.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
