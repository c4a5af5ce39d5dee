"""Cooperative groups.

HIP has a part of them. A block and its tiles mean the same there and are kept, with what is known
of them. A group of active lanes follows the wavefront, which may have 64; synchronizing a whole
grid needs a cooperative launch that the host side must make; reductions, scans and copies HIP
lacks. For these nothing is written.

Example: with ``namespace cg = cooperative_groups;``, ``cg::this_thread_block()`` is kept, and
``cg::reduce(tile, x, cg::plus<int>())`` stays and is reported. So are ``coalesced_threads()`` after
``using namespace``, and names behind an alias that a header declares.

What to do: the finding says what to write in place of what HIP lacks. For a grid keep
``this_grid().sync()``, which ``hip/hip_cooperative_groups.h`` has, and launch the kernel by
``hipLaunchCooperativeKernel`` or ``hipModuleLaunchCooperativeKernel``.

Limits: names that other code has as well, as ``reduce``, are read without the namespace only where
the file itself says ``using namespace``.

Source: HIP headers, amd_hip_cooperative_groups.h and hip_runtime_api.h; HIP Programming Guide,
"Cooperative groups"; CUDA C++ Programming Guide, "Cooperative Groups".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify import api_table
from portkit.hipify.rules._findings import (
    MEMBER,
    is_declared_in_source,
    report_manual,
    report_unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

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


_GENERIC: Final = frozenset(
    {"sync", "thread_rank", "group_size", "this_thread", "thread_block", "thread_group", "reduce"}
    | {"wait", "wait_prior", "memcpy_async", "inclusive_scan", "exclusive_scan", "invoke_one"}
    | {"plus", "less", "greater", "bit_and", "bit_or", "bit_xor"}
)
"""Names of the namespace that other code has as well."""


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of the namespace, by an alias as well, and for each grid."""
    table = _load_names()
    specific = [
        index
        for name in (*table, *_GRID)
        if name not in _GENERIC
        and not is_declared_in_source(source, name, source.names.get(name, ()))
        for index in source.names.get(name, ())
    ]
    mentions = [*source.names.get(_NAMESPACE, ())]
    if not mentions and not specific:
        return
    mentions += _find_aliased(source, mentions)
    # An alias that a header declares is known by what only this namespace has.
    known = frozenset(mentions)
    qualifiers = {source.texts[i - 2] for i in specific if source.is_token(i - 1, "::")}
    mentions += [
        index
        for alias in sorted(qualifiers)
        for index in source.names.get(alias, ())
        if index not in known
        and source.is_token(index + 1, "::")
        and source.texts[index + 2] in (*table, *_GRID)
    ]
    grids = frozenset(index for name in _GRID for index in source.names.get(name, ()))
    # In one statement with the namespace, the grid is what there is to say.
    blocks = [index for index in mentions if index + 2 not in grids]
    members = frozenset(_report_members(source))
    plain = frozenset(
        _find_unqualified(source, table, uses_all=_has_using_directive(source, mentions))
    )
    for index in sorted((*blocks, *grids, *members, *plain)):
        if index in grids:
            yield report_manual(source, CODE, index, index, construct=_CONSTRUCT, message=_WHOLE)
        elif index in members:
            yield _report_name(source, index, index, f"thread_group::{source.tokens[index].text}")
        elif index in plain:
            yield _report_name(source, index, index, f"{_NAMESPACE}::{source.tokens[index].text}")
        elif source.is_token(index + 1, "::"):
            name = source.tokens[index + 2].text if index + 2 < len(source.tokens) else ""
            yield _report_name(source, index, index + 2, f"{_NAMESPACE}::{name}")
        else:
            yield report_unchanged(source, CODE, index, index, construct=_CONSTRUCT, message=_SAME)


def _load_names() -> dict[str, str]:
    """Return the names of the namespace in the table, and the kind of each."""
    return {
        mapping.cuda.rpartition("::")[2]: mapping.kind
        for mapping in api_table.load_corrections().values()
        if mapping.cuda.startswith(f"{_NAMESPACE}::")
    }


def _has_using_directive(source: KernelSource, mentions: Sequence[int]) -> bool:
    return any(
        source.is_token(index - 1, "namespace") and source.is_token(index - 2, "using")
        for index in mentions
    )


def _find_unqualified(
    source: KernelSource, table: dict[str, str], *, uses_all: bool
) -> Iterator[int]:
    """Yield where a name of the namespace that differs in HIP is called or is a type."""
    for name, kind in table.items():
        uses = source.names.get(name, ())
        if kind == "group" or name in _GRID or (name in _GENERIC and not uses_all):
            continue
        if not uses or is_declared_in_source(source, name, uses):
            continue
        for index in uses:
            following = source.texts[index + 1] if index + 1 < len(source.texts) else ""
            is_used = following in ("(", "<") or source.tokens[index + 1].kind == "name"
            if is_used and not (index and source.texts[index - 1] in MEMBER):
                yield index


def _report_name(source: KernelSource, first: int, last: int, name: str) -> Finding:
    """Return the finding about a name of the namespace's, or a member of a group."""
    known = api_table.load_corrections().get(name)
    if known is None:
        return report_manual(source, CODE, first, first, construct=_CONSTRUCT, message=_UNKNOWN)
    short = name.rpartition("::")[2]
    note = f": {known.note}" if known.note else ""
    if known.kind == "group":
        message = f"{short}: {_SAME}{note}"
        return report_unchanged(source, CODE, first, last, construct=_CONSTRUCT, message=message)
    if not known.hip:
        message = f"HIP has no {short}{note}"
    elif known.kind == "member" and known.hip != known.cuda:
        message = f"{short} is called {known.hip.rpartition('::')[2]} in HIP"
    else:
        message = f"{short}: {_SAME}{note}"
    return report_manual(source, CODE, first, first, construct=_CONSTRUCT, message=message)


def _report_members(source: KernelSource) -> Iterator[int]:
    """Yield where a member is called that HIP's groups lack, or have under another name."""
    table = api_table.load_corrections().values()
    names = [m.cuda.rpartition("::")[2] for m in table if m.kind == "member"]
    for index in (index for name in names for index in source.names.get(name, ())):
        if index and source.is_token(index - 1, ".") and source.is_token(index + 1, "("):
            yield index


def _find_aliased(source: KernelSource, mentions: Sequence[int]) -> Iterator[int]:
    """Yield where a name of the namespace's own, as in ``namespace cg = ..``, stands for it."""
    texts = [token.text for token in source.tokens]
    aliases = {texts[i - 2] for i in mentions if texts[max(i - 3, 0) : i : 2] == ["namespace", "="]}
    for alias in sorted(aliases):
        yield from (i for i in source.names[alias] if texts[i + 1 : i + 2] == ["::"])
