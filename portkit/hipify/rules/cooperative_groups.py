"""Cooperative groups.

HIP has a part of them, whose tiles follow the wavefront instead of 32 lanes; synchronizing a whole
grid needs a cooperative launch that the host side must make. Nothing is written.

Example: ``namespace cg = cooperative_groups;`` stays and is reported, and so is each use of ``cg``.

What to do: use ``__syncthreads`` for a block and the prelude's warp functions for a warp. For a
grid neither is right: keep ``this_grid().sync()``, which ``hip/hip_cooperative_groups.h`` has, and
launch the kernel by ``hipLaunchCooperativeKernel`` or ``hipModuleLaunchCooperativeKernel``.

Source: HIP headers, amd_hip_cooperative_groups.h and hip_runtime_api.h; HIP Programming Guide,
"Cooperative groups".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules._common import refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH206"


_GRID = ("grid_group", "multi_grid_group", "this_grid", "this_multi_grid")
_BLOCK = (
    "cooperative groups: use __syncthreads for a block, the prelude's warp functions for a warp"
)
_WHOLE = (
    "a grid is synchronized where its kernel is launched cooperatively, by"
    " hipLaunchCooperativeKernel or hipModuleLaunchCooperativeKernel: keep it, with"
    " hip/hip_cooperative_groups.h, and change the launch; __syncthreads waits for a block alone"
)


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each mention of the namespace, by an alias as well, and each grid."""
    mentions = [*source.names.get("cooperative_groups", ())]
    if not mentions:
        return
    mentions += _by_alias(source, mentions)
    grids = [index for name in _GRID for index in source.names.get(name, ())]
    # In one statement with the namespace, the grid is what there is to say.
    blocks = [index for index in mentions if index + 2 not in grids]
    for index in sorted((*blocks, *grids)):
        yield refused(
            source,
            CODE,
            index,
            index,
            construct="cooperative groups",
            message=_WHOLE if index in grids else _BLOCK,
        )


def _by_alias(source: KernelSource, mentions: Sequence[int]) -> Iterator[int]:
    """Yield where a name of the namespace's own, as in ``namespace cg = ..``, stands for it."""
    texts = [token.text for token in source.tokens]
    aliases = {texts[i - 2] for i in mentions if texts[max(i - 3, 0) : i : 2] == ["namespace", "="]}
    for alias in sorted(aliases):
        yield from (i for i in source.names[alias] if texts[i + 1 : i + 2] == ["::"])
