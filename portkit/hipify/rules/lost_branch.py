"""A branch of the preprocessor that CUDA's compiler reads and AMD's does not, or the reverse.

``__CUDACC__`` and ``__NVCC__`` are not defined by a HIP compile, nor are the versions
``CUDA_VERSION``, ``CUDART_VERSION`` and ``__CUDACC_VER_MAJOR__``. Code under them vanishes on AMD,
and its ``#else`` is compiled instead. The same holds for the versions of CUDA's libraries, and for
macros that nvcc defines with some options, such as ``__CUDACC_EXTENDED_LAMBDA__``. Nothing is
written.

Example: ``#ifdef __CUDACC__`` around a kernel stays and is reported.

What to do: write ``#if defined(__CUDACC__) || defined(__HIPCC__)`` if AMD needs the branch. A
version or an option is for review: check that the other branch computes the same.

Limits: a chain of conditions that names AMD's compiler itself is its author's choice, and is not
reported. Nor is one whose macros the profile lists as undefined on AMD.

Source: CUDA C++ Programming Guide and nvcc documentation, "Predefined Macros"; clang documentation,
"HIP Support".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.hipify.preprocessor_conditions import (
    OPTIONAL,
    VERSIONS,
    find_amd_excluded,
    find_amd_only,
    find_branches,
    is_within,
)
from portkit.hipify.rules._findings import report_manual
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH213"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return one finding for each chain of conditions with such a branch."""
    chains: dict[int, list[str]] = {}
    asked: dict[int, frozenset[str]] = {}
    for branch in find_branches(source):
        names = branch.find_cuda_names() - source.undefined
        if not names or branch.names_amd() or branch.on_amd == branch.on_cuda:
            continue
        if branch.on_amd is False:
            verb = "skips"
        elif branch.on_amd or branch.on_cuda is False:
            verb = "reads"
        else:
            continue
        lines = _name_lines(source, branch.start, branch.end)
        chains.setdefault(branch.directive, []).append(f"{verb} line {lines}")
        asked[branch.directive] = names
    unread = [find_amd_excluded(source), find_amd_only(source)] if chains else []
    places = {token.start: index for index, token in enumerate(source.tokens)} if chains else {}
    for directive, said in sorted(chains.items()):
        if any(is_within(spans, directive) for spans in unread):
            continue
        index = places[directive]
        names = asked[directive]
        message = (
            f"a HIP compile does not define {' and '.join(sorted(names))}, so it"
            f" {' and '.join(said)}: write `|| defined(__HIPCC__)` where AMD needs what CUDA has"
        )
        finding = report_manual(
            source, CODE, index, index, construct="lost branch", message=message
        )
        if names <= VERSIONS | OPTIONAL:
            finding = replace(finding, applicability=Applicability.REVIEW)
        yield finding


def _name_lines(source: KernelSource, start: int, end: int) -> str:
    first, last = source.line(start) + 1, source.line(end) - 1
    return f"{first}" if first >= last else f"{first} to {last}"
