"""Compile every kernel source for every architecture, and compare resources with budgets.

A budget is what each kernel used when a person last looked; a kernel that uses more is reported.
"""

from __future__ import annotations

import csv
import io
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
        uses: its kernels; empty when it did not compile.
    """

    compiled: CompileResult
    uses: tuple[KernelUse, ...]

    @property
    def spilling(self) -> int:
        """How many kernels keep registers elsewhere."""
        return sum(bool(use.vgpr_spills or use.sgpr_spills) for use in self.uses)


@dataclass(frozen=True, slots=True)
class BudgetExcess:
    """A kernel that uses more than its budget, in one sentence."""

    arch: str
    source: str
    kernel: str
    message: str


@dataclass(frozen=True, slots=True)
class KernelsVerification:
    """The compile matrix and the kernels over budget."""

    cells: tuple[Cell, ...]
    worse: tuple[BudgetExcess, ...]

    @property
    def failures(self) -> tuple[CompileResult, ...]:
        """The sources that did not compile."""
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


def list_spilled_kernels(verification: KernelsVerification) -> dict[tuple[str, str], list[str]]:
    """Return spilled registers, such as ``gfx90a 0v 14s``, by source and kernel."""
    table: dict[tuple[str, str], list[str]] = {}
    for cell in verification.cells:
        for use in cell.uses:
            if use.vgpr_spills or use.sgpr_spills:
                row = table.setdefault((cell.compiled.source, use.name), [])
                row.append(f"{cell.compiled.arch} {use.vgpr_spills}v {use.sgpr_spills}s")
    return dict(sorted(table.items()))


class Spill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why some kernels keep registers elsewhere.

    Attributes:
        source: a pattern for the names of sources.
        kernel: a pattern for the names of kernels.
    """

    source: str
    kernel: str
    reason: str


class SpillsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Kernels that keep registers elsewhere, and why nothing is done about it."""

    spill: tuple[Spill, ...] = ()


@cache
def load_spills(directory: Directory | None) -> tuple[Spill, ...]:
    """Return the known spills of a codebase's kernels."""
    if directory is None or not directory.has(SPILLS):
        return ()
    return directory.typed(SPILLS, SpillsFile).spill


def find_spill_reason(directory: Directory | None, source: str, kernel: str) -> str:
    """Return why a kernel of a codebase spills registers; empty when that is not known."""
    for spill in load_spills(directory):
        if fnmatchcase(source, spill.source) and fnmatchcase(kernel, spill.kernel):
            return spill.reason
    return ""
