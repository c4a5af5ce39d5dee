"""Files about the compile matrix of this repository's kernels: budgets and the report."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import TYPE_CHECKING

from portkit.verify.kernel_matrix import BUDGET_COLUMNS, find_spill_reason, list_spilled_kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.codebases.directory import Directory
    from portkit.verify.kernel_matrix import Cell, KernelsVerification


def write_budget(cells: Sequence[Cell], arch: str) -> str:
    """Return the budget of one architecture as CSV, sorted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(BUDGET_COLUMNS)
    for cell in sorted(cells, key=lambda cell: cell.compiled.source):
        if cell.compiled.arch == arch:
            for use in cell.uses:
                columns = [getattr(use, column) for column in BUDGET_COLUMNS[2:]]
                writer.writerow([cell.compiled.source, use.name, *columns])
    return out.getvalue()


def list_kernel_names(verification: KernelsVerification, arch: str) -> dict[str, frozenset[str]]:
    """Return the names of the kernels that each source has on an architecture.

    Returns:
        Source without suffix, such as ``affine``, to the names that a program loads kernels by.
    """
    return {
        cell.compiled.source.removesuffix(".hip"): frozenset(use.name for use in cell.uses)
        for cell in verification.cells
        if cell.compiled.arch == arch
    }


def render_matrix_table(verification: KernelsVerification) -> str:
    """Return the matrix as Markdown: how many kernels each source has, and how many spill."""
    archs = list(dict.fromkeys(cell.compiled.arch for cell in verification.cells))
    sources = list(dict.fromkeys(cell.compiled.source for cell in verification.cells))
    by_place = {(cell.compiled.source, cell.compiled.arch): cell for cell in verification.cells}
    lines = [
        "| source | " + " | ".join(archs) + " |",
        "| --- |" + " --- |" * len(archs),
        *(
            f"| {source} | "
            + " | ".join(_format_kernels(by_place[source, arch]) for arch in archs)
            + " |"
            for source in sources
        ),
    ]
    total = Counter(
        cell.compiled.arch for cell in verification.cells if cell.compiled.output is not None
    )
    lines.append(
        "| compiled | " + " | ".join(f"{total[arch]} of {len(sources)}" for arch in archs) + " |"
    )
    return "\n".join(lines) + "\n"


def _format_kernels(cell: Cell) -> str:
    if cell.compiled.output is None:
        return "**fails**"
    return f"{len(cell.uses)}" + (f", {cell.spilling} spill" if cell.spilling else "")


def write_matrix(
    verification: KernelsVerification,
    directory: Directory,
    version: str,
    compiler: str,
    date: str,
    *,
    missing: Sequence[str] = (),
) -> str:
    """Return the report of a matrix as Markdown."""
    lines = [
        f"# The compile matrix of {version}",
        "",
        f"Made by `make kernels` on {date} with {compiler}, with the flags of the emitted build "
        "script.",
        *([f"Not tried yet: {', '.join(missing)}."] if missing else []),
        "",
        "How many kernels each source has for each architecture:",
        "",
        render_matrix_table(verification),
        "## Kernels that spill",
        "",
        "Vector registers that are kept in memory (v), and scalar ones that are kept in lanes of\n"
        "vector registers (s).",
        "",
    ]
    if table := list_spilled_kernels(verification):
        lines += ["| source | kernel | spilled | why |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {source} | `{kernel}` | {', '.join(registers)} "
            f"| {find_spill_reason(directory, source, kernel) or '**not known**'} |"
            for (source, kernel), registers in table.items()
        ]
    else:
        lines += ["None."]
    return "\n".join(lines) + "\n"
