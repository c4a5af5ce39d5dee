"""Cooperative groups.

HIP has a part of them. A block and its tiles mean the same there and are kept, with what is known
of them. A group of active lanes follows the wavefront, which may have 64; synchronizing a whole
grid needs a cooperative launch that the host side must make; reductions, scans and copies HIP
lacks. For these nothing is written.

Example: with ``namespace cg = cooperative_groups;``, ``cg::this_thread_block()`` is kept, and
``cg::reduce(tile, x, cg::plus<int>())`` stays and is reported.

What to do: the finding says what to write in place of what HIP lacks. For a grid keep
``this_grid().sync()``, which ``hip/hip_cooperative_groups.h`` has, and launch the kernel by
``hipLaunchCooperativeKernel`` or ``hipModuleLaunchCooperativeKernel``.

Source: HIP headers, amd_hip_cooperative_groups.h and hip_runtime_api.h; HIP Programming Guide,
"Cooperative groups"; CUDA C++ Programming Guide, "Cooperative Groups".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify import api_table
from portkit.hipify.rules._common import kept, refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH206"

_NAMESPACE: Final = "cooperative_groups"
_CONSTRUCT: Final = "cooperative groups"
_GRID: Final = ("grid_group", "multi_grid_group", "this_grid", "this_multi_grid")
_WHOLE: Final = (
    "a grid is synchronized where its kernel is launched cooperatively, by"
    " hipLaunchCooperativeKernel or hipModuleLaunchCooperativeKernel: keep it, with"
    " hip/hip_cooperative_groups.h, and change the launch; __syncthreads waits for a block alone"
)
_UNKNOWN: Final = (
    "portkit does not know whether HIP has this: use __syncthreads for a block,"
    " the prelude's warp functions for a warp"
)
_SAME: Final = "HIP has it, in hip/hip_cooperative_groups.h"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of the namespace, by an alias as well, and for each grid."""
    mentions = [*source.names.get(_NAMESPACE, ())]
    if not mentions:
        return
    mentions += _by_alias(source, mentions)
    grids = [index for name in _GRID for index in source.names.get(name, ())]
    # In one statement with the namespace, the grid is what there is to say.
    blocks = [index for index in mentions if index + 2 not in grids]
    members = [*_members(source)]
    for index in sorted((*blocks, *grids, *members)):
        if index in grids:
            yield refused(source, CODE, index, index, construct=_CONSTRUCT, message=_WHOLE)
        elif index in members:
            yield _of_name(source, index, index, f"thread_group::{source.tokens[index].text}")
        elif source.is_token(index + 1, "::"):
            name = source.tokens[index + 2].text if index + 2 < len(source.tokens) else ""
            yield _of_name(source, index, index + 2, f"{_NAMESPACE}::{name}")
        else:
            yield kept(source, CODE, index, index, construct=_CONSTRUCT, message=_SAME)


def _of_name(source: KernelSource, first: int, last: int, name: str) -> Finding:
    """Return the finding about a name of the namespace's, or a member of a group."""
    known = api_table.corrections().get(name)
    if known is None:
        return refused(source, CODE, first, first, construct=_CONSTRUCT, message=_UNKNOWN)
    short = name.rpartition("::")[2]
    note = f": {known.note}" if known.note else ""
    if known.kind == "group":
        message = f"{short}: {_SAME}{note}"
        return kept(source, CODE, first, last, construct=_CONSTRUCT, message=message)
    if not known.hip:
        message = f"HIP has no {short}{note}"
    elif known.kind == "member":
        message = f"{short} is called {known.hip.rpartition('::')[2]} in HIP"
    else:
        message = f"{short}: {_SAME}{note}"
    return refused(source, CODE, first, first, construct=_CONSTRUCT, message=message)


def _members(source: KernelSource) -> Iterator[int]:
    """Yield where a member is called that HIP's groups lack, or have under another name."""
    table = api_table.corrections().values()
    names = [m.cuda.rpartition("::")[2] for m in table if m.kind == "member"]
    for index in (index for name in names for index in source.names.get(name, ())):
        if index and source.is_token(index - 1, ".") and source.is_token(index + 1, "("):
            yield index


def _by_alias(source: KernelSource, mentions: Sequence[int]) -> Iterator[int]:
    """Yield where a name of the namespace's own, as in ``namespace cg = ..``, stands for it."""
    texts = [token.text for token in source.tokens]
    aliases = {texts[i - 2] for i in mentions if texts[max(i - 3, 0) : i : 2] == ["namespace", "="]}
    for alias in sorted(aliases):
        yield from (i for i in source.names[alias] if texts[i + 1 : i + 2] == ["::"])
