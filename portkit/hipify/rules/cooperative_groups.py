"""The rule about cooperative groups: by their namespace, an alias, or names that only they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.api_table import list_corrections, load_corrections
from portkit.hipify.rules.queries import MEMBER, is_declared_in_source
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

_NAMESPACE: Final = "cooperative_groups"
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


def _find(source: KernelSource) -> Iterator[Hit]:
    table = {
        mapping.cuda.rpartition("::")[2]: mapping.kind
        for mapping in list_corrections("group", "lanes", "member")
        if mapping.cuda.startswith(f"{_NAMESPACE}::")
    }
    specific = [
        index
        for name in (*table, *_GRID)
        if name not in _GENERIC and not is_declared_in_source(source, name)
        for index in source.uses(name)
    ]
    mentions = [*source.uses(_NAMESPACE)]
    if not mentions and not specific:
        return
    aliases = {
        source.texts[i - 2]
        for i in mentions
        if i > 2 and source.is_token(i - 1, "=") and source.is_token(i - 3, "namespace")
    }
    mentions += _find_qualifiers(source, aliases)
    # An alias that a header declares is known by what only this namespace has.
    known = frozenset(mentions)
    qualifiers = {source.texts[i - 2] for i in specific if source.is_token(i - 1, "::")}
    mentions += [
        index
        for index in _find_qualifiers(source, qualifiers)
        if index not in known and source.texts[index + 2] in (*table, *_GRID)
    ]
    grids = frozenset(index for name in _GRID for index in source.uses(name))
    # In one statement with the namespace, the grid is what there is to say.
    blocks = [index for index in mentions if index + 2 not in grids]
    members = frozenset(_find_members(source))
    uses_all = any(source.reads(index - 2, "using", "namespace") for index in mentions)
    plain = frozenset(_find_unqualified(source, table, uses_all=uses_all))
    for index in sorted((*blocks, *grids, *members, *plain)):
        text = source.texts[index]
        if index in grids:
            yield Hit(index, index, _WHOLE)
        elif index in members:
            yield _report(index, index, f"thread_group::{text}")
        elif index in plain:
            yield _report(index, index, f"{_NAMESPACE}::{text}")
        elif source.is_token(index + 1, "::"):
            name = source.texts[index + 2] if index + 2 < len(source.texts) else ""
            yield _report(index, index + 2, f"{_NAMESPACE}::{name}")
        else:
            yield Hit(index, index, _SAME, applicability=Applicability.KEEP)


def _find_qualifiers(source: KernelSource, names: set[str]) -> Iterator[int]:
    """Yield the uses of some names before ``::``."""
    for name in sorted(names):
        yield from (i for i in source.uses(name) if source.is_token(i + 1, "::"))


def _find_unqualified(
    source: KernelSource, table: dict[str, str], *, uses_all: bool
) -> Iterator[int]:
    """Yield the uses of a name that differs in HIP as a function or a type."""
    for name, kind in table.items():
        if kind == "group" or name in _GRID or (name in _GENERIC and not uses_all):
            continue
        if is_declared_in_source(source, name):
            continue
        for index in source.uses(name):
            following = source.texts[index + 1] if index + 1 < len(source.texts) else ""
            is_used = following in ("(", "<") or source.tokens[index + 1].kind == "name"
            if is_used and not (index and source.texts[index - 1] in MEMBER):
                yield index


def _find_members(source: KernelSource) -> Iterator[int]:
    """Yield the calls of members that HIP's groups lack, or have under another name."""
    for mapping in list_corrections("member"):
        for index in source.uses(mapping.cuda.rpartition("::")[2]):
            if index and source.is_token(index - 1, ".") and source.is_token(index + 1, "("):
                yield index


def _report(first: int, last: int, name: str) -> Hit:
    """Return the hit for a name of the namespace's, or a member of a group."""
    known = load_corrections().get(name)
    if known is None:
        return Hit(first, first, _UNKNOWN)
    short = name.rpartition("::")[2]
    note = f": {known.note}" if known.note else ""
    if known.kind == "group":
        return Hit(first, last, f"{short}: {_SAME}{note}", applicability=Applicability.KEEP)
    if not known.hip:
        message = f"HIP has no {short}{note}"
    elif known.kind == "member" and known.hip != known.cuda:
        message = f"{short} is called {known.hip.rpartition('::')[2]} in HIP"
    else:
        message = f"{short}: {_SAME}{note}"
    return Hit(first, first, message)


RULES: Final = (KernelRule("PH206", "cooperative_groups", "cooperative groups", _find),)
