"""Rules that only write another name: those of the API tables, namespaces, ``warpSize``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from portkit.hipify.api_table import find_mapping, list_corrections
from portkit.hipify.rules.calls import find_api_calls
from portkit.hipify.rules.queries import (
    drop_amd_uses,
    find_cuda_uses,
    is_declared_in_source,
    rename,
)
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.hipify.scopes import resolve_name
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from portkit.hipify.kernel_source import KernelSource

WARP_SIZE: Final = "warpSize"


def _find_api_names(source: KernelSource) -> Iterator[Hit]:
    called = {index for index, _, _ in find_api_calls(source)}
    for name, uses in source.names.items():
        known = find_mapping(name)
        if known is not None and known.group and known.hip not in ("", name):
            for index in uses:
                if index not in called:
                    yield rename(source, index, known.hip, f"{known.group} API")


def _find_namespaces(source: KernelSource) -> Iterator[Hit]:
    for index in source.uses("cuda"):
        if is_thrust_namespace(source, index):
            yield rename(source, index, "hip")
            continue
        within_itself = source.is_token(index - 1, "::") and source.is_token(index - 2, "cuda")
        if source.reads(index + 1, "::", "std") and not within_itself:
            edit = Edit(source.tokens[index].start, source.tokens[index + 2].start, "")
            yield Hit(index, index + 2, "cuda::std becomes std", (edit,))
    for index in source.uses("cuda_cub"):
        if source.reads(index - 2, "thrust", "::"):
            yield rename(source, index, "hip_rocprim")
    for index in source.uses("cub"):
        aliased = source.is_token(index - 1, "=") and source.is_token(index - 3, "namespace")
        if aliased or source.is_token(index + 1, "::") or source.is_token(index - 1, "namespace"):
            yield rename(source, index, "hipcub")


def is_thrust_namespace(source: KernelSource, index: int) -> bool:
    """Whether a name is ``cuda`` in ``thrust::cuda`` or ``thrust::system::cuda``."""
    first = index - 2
    if source.reads(first - 1, "::", "system"):
        first -= 2
    return source.is_token(index - 1, "::") and source.is_token(first, "thrust")


def _rename_kinds(
    kinds: tuple[str, ...],
    find_uses: Callable[[KernelSource, str], Iterable[int]],
    source: KernelSource,
) -> Iterator[Hit]:
    """Yield a hit for each use of a correction of some kinds."""
    for mapping in list_corrections(*kinds):
        if mapping.cuda in source.names:
            for index in find_uses(source, mapping.cuda):
                yield rename(source, index, mapping.hip, "" if len(kinds) == 1 else mapping.kind)


def _find_uses(source: KernelSource, name: str) -> list[int]:
    return source.uses(name)


def _find_uses_outside_aliases(source: KernelSource, name: str) -> Iterator[int]:
    return (index for index in source.uses(name) if not _is_alias(source, index))


def _is_alias(source: KernelSource, index: int) -> bool:
    """Whether a typedef or an alias declares the name; its uses need no other name then."""
    if source.is_token(index - 1, "using") and source.is_token(index + 1, "="):
        return True
    if not source.is_token(index + 1, ";"):
        return False
    for before in range(index - 1, -1, -1):
        text = source.texts[before]
        if text in ("typedef", ";", "{", "}"):
            return text == "typedef"
    return False


def _find_shared_uses(source: KernelSource, name: str) -> list[int]:
    return drop_amd_uses(source, source.uses(name))


def _find_unmasked_calls(source: KernelSource, name: str) -> list[int]:
    is_own = name in source.own or is_declared_in_source(source, name)
    return [] if is_own else find_cuda_uses(source, name)


def _find_warp_sizes(source: KernelSource, name: str) -> Iterator[int]:
    if name in source.own:
        return
    own = resolve_name(source, name)
    uses = [index for index in find_cuda_uses(source, name) if index not in own]
    for index in (*uses, *find_qualified(source)):
        if not source.is_token(index - 1, "#undef"):
            yield index


def find_qualified(source: KernelSource) -> Iterator[int]:
    """Yield each use as ``::warpSize``."""
    for index in source.uses(WARP_SIZE):
        if source.is_token(index - 1, "::"):
            before = source.tokens[index - 2] if index > 1 else None
            if before is None or (before.kind != "name" and before.text != ">"):
                yield index


_TABLE: Final = (
    ("PH103", "arch_macro", "architecture macro", ("macro",), _find_uses),
    ("PH104", "narrow_float", "", ("bfloat16", "fp8"), _find_uses_outside_aliases),
    ("PH106", "intrinsic", "intrinsic", ("intrinsic",), _find_shared_uses),
    (
        *("PH111", "warp_unmasked", "warp function without a mask"),
        *(("unmasked",), _find_unmasked_calls),
    ),
    ("PH112", "warp_size", "size of a warp", ("variable",), _find_warp_sizes),
)
"""Rules that write the name in the table of corrections: for which kinds, and for which uses."""

RULES: Final = (
    *(
        KernelRule(code, name, construct, partial(_rename_kinds, kinds, find_uses))
        for code, name, construct, kinds, find_uses in _TABLE
    ),
    KernelRule("PH107", "api_name", "", _find_api_names),
    KernelRule("PH108", "namespace", "namespace", _find_namespaces),
)
