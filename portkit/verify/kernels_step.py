"""The step that compiles every kernel for AMD's architectures and checks its budget."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import VerificationError
from portkit.hipify.archs import ARCHS, GENERIC_ARCHS
from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import find_hipcc, read_compiler_version
from portkit.profiles.settings import read_settings
from portkit.verify.blame import attribute_diagnostics
from portkit.verify.diagnostics import parse_clang
from portkit.verify.hip_sources import is_compiled_from_cuda, list_hip_sources
from portkit.verify.kernel_matrix import (
    KernelsVerification,
    find_spill_reason,
    list_spilled_kernels,
    load_budgets,
    verify_kernels,
)
from portkit.verify.step_runner import Step, fail_step, mark_inapplicable, pass_step, skip_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.codebases.directory import Directory
    from portkit.verify.kernel_matrix import Budget
    from portkit.verify.step_runner import Outcome
    from portkit.verify.verified_tree import VerifiedTree

ONE_OF_EACH: Final = ("gfx90a", "gfx1100")
"""What the ladder compiles for unless asked otherwise: wavefronts of 64 lanes and of 32."""

EVERY: Final = (*ARCHS, *GENERIC_ARCHS)
"""What the port promises, and the families that hold them."""


def compile_kernels(tree: VerifiedTree) -> Outcome:
    """Compile the kernels crate, and compare the kernels' resources with their budgets."""
    kernels = tree.scan.job.codebase.kernels
    if kernels is None:
        return mark_inapplicable(
            "the port has no crate of kernels: build scripts compile what there is"
        )
    crate = tree.root / kernels.name
    if not crate.is_dir():
        return skip_step("there is no crate of HIP kernels: run portkit apply first")
    try:
        hipcc = find_hipcc()
        compiler = ", ".join(read_compiler_version(hipcc).splitlines()[:2])
    except HipToolError as error:
        return skip_step(str(error))
    wanted = _choose_architectures(tree)
    archs = [arch for arch in wanted if _has_budget(hipcc, arch)]
    unknown = [arch for arch in wanted if arch not in archs]
    if promised := [arch for arch in unknown if arch not in GENERIC_ARCHS]:
        raise VerificationError(
            f"hipcc ({compiler}) does not know {', '.join(promised)}: name other architectures, or"
            " use a newer one"
        )
    tree.say(f"{compiler}: {', '.join(archs)}")
    own = tree.scan.job.codebase.directory
    budgets = load_budgets(own, tree.scan.job.workspace.version)
    found = _compile_share(tree, crate, tree.root / kernels.source, archs, budgets)
    figures = {
        "compiled": len(found.cells) - len(found.failures),
        "not compiled": len(found.failures),
        "kernels": sum(len(cell.uses) for cell in found.cells),
        "spilling": sum(cell.spilling for cell in found.cells),
        "over budget": len(found.worse),
        **_count_cells(found),
    }
    left_out = [f"{arch}, which this hipcc does not know" for arch in unknown]
    evidence = [
        *(f"{each.source} for {each.arch}: {each.error}" for each in found.failures),
        *(f"{w.source} for {w.arch}: {w.kernel} uses more: {w.message}" for w in found.worse),
    ]
    if evidence:
        said = "\n".join(each.error for each in found.failures)
        # The build names the CUDA sources by the way from the crate to them.
        below = crate.name if is_compiled_from_cuda(crate) else f"{crate.name}/src"
        complaints = attribute_diagnostics(tree, parse_clang(said, below))
        evidence += [str(complaint) for complaint in complaints if complaint.origin]
        return fail_step(*evidence, left_out=left_out, figures=figures, diagnostics=complaints)
    return pass_step(
        f"{figures['compiled']} sources compile with {compiler}",
        *_group_by_architecture(found, archs, budgets),
        *_render_spills(own, found),
        left_out=left_out,
        figures=figures,
    )


def list_inputs(tree: VerifiedTree) -> Sequence[str]:
    """Return everything but the tree that decides the outcome."""
    try:
        compiler = read_compiler_version(find_hipcc())
    except HipToolError as error:
        compiler = str(error)
    return (compiler, *_choose_architectures(tree))


def _choose_architectures(tree: VerifiedTree) -> tuple[str, ...]:
    """Return the architectures: the user's, else those of ``portkit.toml``, else one of each."""
    return tree.options.archs or read_settings(tree.root).archs or ONE_OF_EACH


def _compile_share(
    tree: VerifiedTree, crate: Path, cuda: Path, archs: Sequence[str], budgets: Mapping[str, Budget]
) -> KernelsVerification:
    if tree.options.shard.count == 1:
        return verify_kernels(crate, archs, budgets=budgets, cuda=cuda)
    pairs = tree.options.shard.part([(s, a) for s in list_hip_sources(crate, cuda) for a in archs])
    only = {arch: [s for s, a in pairs if a == arch] for arch in archs}
    parts = [
        verify_kernels(crate, [arch], budgets=budgets, only=only[arch], cuda=cuda)
        for arch in archs
        if any(a == arch for _, a in pairs)
    ]
    return KernelsVerification(
        tuple(cell for part in parts for cell in part.cells),
        tuple(worse for part in parts for worse in part.worse),
    )


def _count_cells(found: KernelsVerification) -> Mapping[str, int]:
    """Return the figures of each source on each architecture, of which reports draw a matrix."""
    figures: dict[str, int] = {}
    for cell in found.cells:
        name = f"{cell.compiled.source} for {cell.compiled.arch}"
        if cell.compiled.output is None:
            figures[f"{name}, failed"] = 1
        else:
            figures[f"{name}, kernels"] = len(cell.uses)
            figures[f"{name}, spilling"] = cell.spilling
    return figures


def _group_by_architecture(
    found: KernelsVerification, archs: Sequence[str], budgets: Mapping[str, Budget]
) -> Iterator[str]:
    for arch in archs:
        cells = [cell for cell in found.cells if cell.compiled.arch == arch]
        kernels, spilling = sum(len(c.uses) for c in cells), sum(c.spilling for c in cells)
        kept = "all within their budgets" if arch in budgets else "there is no budget"
        yield f"{arch}: {kernels} kernels, {spilling or 'none'} of which spill; {kept}"


def _render_spills(own: Directory | None, found: KernelsVerification) -> Iterator[str]:
    table = list_spilled_kernels(found)
    if table:
        yield "spilled registers, v for vector and s for scalar ones:"
    for (source, kernel), registers in table.items():
        reason = find_spill_reason(own, source, kernel) or "the reason is not known"
        yield f"{source} {kernel}: {', '.join(registers)}; {reason}"


def _has_budget(hipcc: Path, arch: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "empty.hip").touch()
        command = ["-c", "-nogpuinc", "-nogpulib", "--offload-device-only"]
        done = subprocess.run(
            [hipcc, *command, "--no-gpu-bundle-output", f"--offload-arch={arch}", "empty.hip"],
            cwd=folder,
            capture_output=True,
            check=False,
        )
    return done.returncode == 0


KERNELS: Final = Step(
    "kernels",
    "every kernel compiles for AMD's architectures and uses no more than its budget",
    46,
    compile_kernels,
    divisible=True,
    inputs=list_inputs,
)
"""Compiles for ``Options.archs``."""
