"""What is put into the documentation site when it is built: the table of API names.

mkdocs calls what begins with ``on_``; see "Hooks" in its user guide.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TITLES = {
    "runtime": "CUDA runtime",
    "driver": "CUDA driver",
    "device": "Device functions and types",
    "rtc": "Runtime compilation",
    "cub": "CUB",
    "rand": "cuRAND",
    "blas": "cuBLAS",
    "complex": "cuComplex",
}


def on_files(files: Any, config: Any) -> Any:
    """Add the table of each group of the CUDA API, and the page that leads to them."""
    from mkdocs.structure.files import File, InclusionLevel

    made = pages()
    for name, text in made.items():
        inclusion = InclusionLevel.INCLUDED if name == "api.md" else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, name, content=text, inclusion=inclusion))
    return files


def pages() -> dict[str, str]:
    """Return the pages: their names, relative to ``docs``, and their texts."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from portkit.hipify.api_table import GROUPS, load_corrections, load_group

    own = load_corrections()
    rows = []
    made = {}
    for name in GROUPS:
        table = {**load_group(name), **{n: m for n, m in own.items() if n in load_group(name)}}
        mapped = sum(bool(entry.hip) for entry in table.values())
        rows.append(f"| [{TITLES[name]}](api/{name}.md) | {len(table)} | {mapped} |")
        made[f"api/{name}.md"] = _table(TITLES[name], table)
    made["api/own.md"] = _table("Corrections and additions", own)
    made["api.md"] = "\n".join(
        [
            "# Names of the CUDA APIs",
            "",
            "What a CUDA name becomes in HIP, as `portkit map NAME` says it. The tables are made"
            " from HIPIFY's documentation; [corrections and additions](api/own.md) are our own.",
            "",
            "| group | names | with a counterpart |",
            "| --- | ---: | ---: |",
            *rows,
            "",
        ]
    )
    return made


def _table(title: str, table: Any) -> str:
    head = "| CUDA | HIP | kind | since ROCm | |"
    lines = [f"# {title}", "", head, "| --- | --- | --- | --- | --- |"]
    for name, entry in sorted(table.items()):
        hip = f"`{entry.hip}`" if entry.hip else "none"
        lines.append(f"| `{name}` | {hip} | {entry.kind} | {entry.since} | {entry.note} |")
    return "\n".join([*lines, ""])
