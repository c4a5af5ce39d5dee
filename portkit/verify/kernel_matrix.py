"""The kernels step of the ladder: every source for every architecture, and what kernels use.

A budget is what each kernel used when a person last looked; a kernel that uses more is reported.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from portkit.errors import VerificationError
from portkit.hipify.archs import ARCHS
from portkit.hipify.code_object import KernelUse, read_kernels
from portkit.hipify.hipcc import CompileResult, compile_matrix
from portkit.verify.hip_sources import list_hip_sources, open_hip_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from portkit.codebases.directory import Directory

BUDGETS: Final = "budgets"
"""In the directory of a codebase: a folder for each version, a file for each architecture."""

SPILLS: Final = f"{BUDGETS}/spills.toml"
"""There as well: why kernels keep registers elsewhere that do."""

BUDGET_COLUMNS = ("source", "kernel", *KernelUse.__struct_fields__[1:])

Budget = dict[tuple[str, str], KernelUse]
"""What each kernel of each source may use on one architecture."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One source on one architecture.

    Attributes:
        compiled: what the compiler did.
        uses: its kernels; empty when it did not compile.
    """

    compiled: CompileResult
    uses: tuple[KernelUse, ...]


@dataclass(frozen=True, slots=True)
class BudgetExcess:
    """A kernel that uses more than its budget, in one sentence."""

    arch: str
    source: str
    kernel: str
    message: str


@dataclass(frozen=True, slots=True)
class KernelsVerification:
    """The matrix and what it shows.

    Attributes:
        cells: by source and architecture.
        worse: kernels over their budget.
    """

    cells: tuple[Cell, ...]
    worse: tuple[BudgetExcess, ...]

    @property
    def failures(self) -> tuple[CompileResult, ...]:
        """What did not compile."""
        return tuple(cell.compiled for cell in self.cells if cell.compiled.output is None)

    @property
    def passed(self) -> bool:
        """Whether everything compiled and no kernel got worse."""
        return not self.failures and not self.worse


def verify_kernels(
    crate: Path,
    archs: Sequence[str] = ARCHS,
    *,
    budgets: Mapping[str, Budget] | None = None,
    jobs: int | None = None,
    only: Sequence[str] | None = None,
    cuda: Path | None = None,
) -> KernelsVerification:
    """Compile the HIP sources of a kernels crate for every architecture.

    Returns:
        The matrix.
    """
    sources = list(list_hip_sources(crate, cuda))
    if only is not None:
        sources = [source for source in sources if source in only]
    if not sources:
        raise VerificationError(f"{crate / 'src'} has no HIP sources: run portkit apply first")
    with open_hip_folder(crate, cuda) as folder:
        matrix = compile_matrix(folder, sources, archs, jobs=jobs)
    cells = []
    worse = []
    for compiled in matrix:
        uses = read_kernels(compiled.output.read_bytes()) if compiled.output else ()
        cells.append(Cell(compiled, uses))
        budget = (budgets or {}).get(compiled.arch)
        if budget is not None:
            worse += _find_excesses(compiled, uses, budget)
    return KernelsVerification(tuple(cells), tuple(worse))


def _find_excesses(
    compiled: CompileResult, uses: Sequence[KernelUse], budget: Budget
) -> list[BudgetExcess]:
    worse = []
    for use in uses:
        allowed = budget.get((compiled.source, use.name))
        if allowed is None:
            continue
        more = [
            f"{column} {getattr(allowed, column)} to {getattr(use, column)}"
            for column in ("vgpr_spills", "sgpr_spills", "scratch", "lds")
            if getattr(use, column) > getattr(allowed, column)
        ]
        # Registers vary a little with every compiler; a tenth more can cost a wavefront.
        if use.vgpr > allowed.vgpr * 1.1 + 1:
            more.append(f"vgpr {allowed.vgpr} to {use.vgpr}")
        if more:
            worse.append(BudgetExcess(compiled.arch, compiled.source, use.name, ", ".join(more)))
    return worse


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


def read_budget(text: str) -> Budget:
    """Return a budget from its CSV."""
    rows = csv.DictReader(io.StringIO(text))
    try:
        return {
            (row["source"], row["kernel"]): KernelUse(
                row["kernel"], *(int(row[column]) for column in BUDGET_COLUMNS[2:])
            )
            for row in rows
        }
    except (KeyError, TypeError, ValueError) as error:
        raise VerificationError(f"the budget of kernels is malformed: {error!r}") from error


def load_budgets(directory: Directory | None, version: str) -> dict[str, Budget]:
    """Return the budgets of a version of a codebase, by architecture; there may be none."""
    if directory is None or not version:
        return {}
    folder = f"{BUDGETS}/{version}"
    return {
        name.removesuffix(".csv"): read_budget(directory.text(f"{folder}/{name}"))
        for name in directory.files(folder)
        if name.endswith(".csv")
    }


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
    spilling = sum(1 for use in cell.uses if _count_spills(use))
    return f"{len(cell.uses)}" + (f", {spilling} spill" if spilling else "")


def _count_spills(use: KernelUse) -> bool:
    return bool(use.vgpr_spills or use.sgpr_spills)


def list_spilled_kernels(verification: KernelsVerification) -> dict[tuple[str, str], list[str]]:
    """Return what kernels keep elsewhere, such as ``gfx90a 0v 14s``, by source and kernel."""
    table: dict[tuple[str, str], list[str]] = {}
    for cell in verification.cells:
        for use in cell.uses:
            if _count_spills(use):
                row = table.setdefault((cell.compiled.source, use.name), [])
                row.append(f"{cell.compiled.arch} {use.vgpr_spills}v {use.sgpr_spills}s")
    return dict(sorted(table.items()))


class Spill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why some kernels keep registers elsewhere.

    Attributes:
        source: a pattern for the names of sources.
        kernel: a pattern for the names of kernels.
        reason: one sentence.
    """

    source: str
    kernel: str
    reason: str


class SpillsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Kernels that keep registers elsewhere, and why nothing is done about it."""

    spill: tuple[Spill, ...] = ()


@cache
def load_spills(directory: Directory | None) -> tuple[Spill, ...]:
    """Return what is known of the spills of a codebase's kernels."""
    if directory is None or not directory.has(SPILLS):
        return ()
    return directory.typed(SPILLS, SpillsFile).spill


def find_spill_reason(directory: Directory | None, source: str, kernel: str) -> str:
    """Return why a kernel of a codebase spills registers; empty when that is not known."""
    for spill in load_spills(directory):
        if fnmatchcase(source, spill.source) and fnmatchcase(kernel, spill.kernel):
            return spill.reason
    return ""


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
