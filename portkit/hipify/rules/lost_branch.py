"""The rule about branches of the preprocessor that only one of the compilers reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.preprocessor_conditions import (
    OPTIONAL,
    VERSIONS,
    find_amd_excluded,
    find_amd_only,
    is_within,
)
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource


def _find(source: KernelSource) -> Iterator[Hit]:
    chains: dict[int, list[str]] = {}
    requested: dict[int, frozenset[str]] = {}
    for branch in source.branches:
        names = branch.find_cuda_names() - source.undefined
        if not names or branch.names_amd() or branch.on_amd == branch.on_cuda:
            continue
        if branch.on_amd is False:
            verb = "skips"
        elif branch.on_amd or branch.on_cuda is False:
            verb = "reads"
        else:
            continue
        first, last = source.line(branch.start) + 1, source.line(branch.end) - 1
        lines = f"{first}" if first >= last else f"{first} to {last}"
        chains.setdefault(branch.directive, []).append(f"{verb} line {lines}")
        requested[branch.directive] = names
    if not chains:
        return
    unread = [find_amd_excluded(source), find_amd_only(source)]
    places = {token.start: index for index, token in enumerate(source.tokens)}
    for directive, verbs in sorted(chains.items()):
        if any(is_within(spans, directive) for spans in unread):
            continue
        index, names = places[directive], requested[directive]
        message = (
            f"a HIP compile does not define {' and '.join(sorted(names))}, so it"
            f" {' and '.join(verbs)}: write `|| defined(__HIPCC__)` where AMD needs what CUDA has"
        )
        is_version = names <= VERSIONS | OPTIONAL
        yield Hit(index, index, message, applicability=Applicability.REVIEW if is_version else None)


RULES: Final = (KernelRule("PH213", "lost_branch", "lost branch", _find),)
