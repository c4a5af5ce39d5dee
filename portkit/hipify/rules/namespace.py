"""A namespace of CUDA's C++ libraries.

``cuda::std`` is the standard library on the device; hipcc has ``std`` there. Thrust's CUDA system
is rocThrust's ``hip``. CUB is hipCUB.

Example: ``thrust::cuda::par.on(stream)`` becomes ``thrust::hip::par.on(stream)``.

Limits: other parts of ``cuda::`` (atomics, barriers, pipelines) are refused as unknown names;
``using namespace cub`` and aliases are followed, since they name it too.

Source: documentation of libcu++, rocThrust and hipCUB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules._findings import report_rename, report_rewrite
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH108"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of such a namespace."""
    for index in source.names.get("cuda", ()):
        if is_thrust_namespace(source, index):
            yield report_rename(source, CODE, index, "hip", "namespace")
            continue
        if not source.is_token(index + 1, "::"):
            continue
        within_itself = source.is_token(index - 1, "::") and source.is_token(index - 2, "cuda")
        if source.is_token(index + 2, "std") and not within_itself:
            tokens = source.tokens
            edit = Edit(tokens[index].start, tokens[index + 2].start, "")
            yield report_rewrite(
                source,
                CODE,
                index,
                index + 2,
                (edit,),
                construct="namespace",
                message="cuda::std becomes std",
            )
    for index in source.names.get("cuda_cub", ()):
        if source.is_token(index - 1, "::") and source.is_token(index - 2, "thrust"):
            yield report_rename(source, CODE, index, "hip_rocprim", "namespace")
    for index in source.names.get("cub", ()):
        aliased = source.is_token(index - 1, "=") and source.is_token(index - 3, "namespace")
        if aliased or source.is_token(index + 1, "::") or source.is_token(index - 1, "namespace"):
            yield report_rename(source, CODE, index, "hipcub", "namespace")


def is_thrust_namespace(source: KernelSource, index: int) -> bool:
    """Whether a name is ``cuda`` in ``thrust::cuda`` or ``thrust::system::cuda``."""
    first = index - 2
    if source.is_token(first, "system") and source.is_token(first - 1, "::"):
        first -= 2
    return source.is_token(index - 1, "::") and source.is_token(first, "thrust")
