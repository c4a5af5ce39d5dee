"""A call of a CUDA runtime function that HIP declares with other arguments.

CUDA has some functions with fewer arguments than HIP has, or with others in a later release. The
number of arguments says which one is called. The kernel that ``cudaLaunchKernel`` launches is cast
to ``const void *``, as HIP wants it.

Example: ``cudaGraphInstantiate(&exec, graph, 0)`` becomes
``hipGraphInstantiateWithFlags(&exec, graph, 0)``.

Limits: ``cudaGraphExecUpdate`` with three arguments, of CUDA 12, is refused.

Source: CUDA Runtime API, "Graph Management" and "Execution Control"; HIP headers,
hip_runtime_api.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from portkit.hipify.rules._findings import join_template_arguments, report_manual, report_rewrite
from portkit.hipify.rules.kernel_attribute import report_kernel_arguments
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH118"


class _Counterpart(NamedTuple):
    hip: str
    added: str = ""


_CALLS: Final = {
    ("cudaGraphInstantiate", 2): _Counterpart("hipGraphInstantiateWithFlags", ", 0"),
    ("cudaGraphInstantiate", 3): _Counterpart("hipGraphInstantiateWithFlags"),
    ("cudaLaunchCooperativeKernel", 4): _Counterpart("hipLaunchCooperativeKernel", ", 0, 0"),
    ("cudaLaunchCooperativeKernel", 5): _Counterpart("hipLaunchCooperativeKernel", ", 0"),
    ("cudaGraphExecUpdate", 3): None,
}
_KERNELS: Final = (
    "cudaLaunchKernel",
    "cudaFuncSetSharedMemConfig",
    "hipLaunchKernel",
    "hipFuncSetSharedMemConfig",
)
"""Functions that take a kernel first; HIP's too, for text renamed before."""

_REPLACEMENTS: Final = (
    "cudaGraphExecUpdate has three arguments here, and hipGraphExecUpdate takes four: pass a"
    " hipGraphNode_t * and a hipGraphExecUpdateResult * in place of the last"
)


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such call."""
    for name in _KERNELS:
        yield from report_kernel_arguments(source, CODE, name, 0)
    for index, arguments, new in find_calls(source):
        last = arguments[-1].stop
        if new is None:
            yield report_manual(
                source, CODE, index, last, construct="API call", message=_REPLACEMENTS
            )
            continue
        token, end = source.tokens[index], source.tokens[last].start
        edits = [Edit(token.start, token.end, new.hip)]
        if new.added:
            edits.append(Edit(end, end, new.added))
        message = f"{token.text} with {len(arguments)} arguments becomes {new.hip}"
        yield report_rewrite(
            source, CODE, index, last, tuple(edits), construct="API call", message=message
        )


def find_calls(
    source: KernelSource,
) -> Iterator[tuple[int, list[range], _Counterpart | None]]:
    """Yield the name, the arguments and the counterpart of each such call."""
    for name in dict.fromkeys(name for name, _ in _CALLS):
        for index in source.names.get(name, ()):
            found = source.arguments(index + 1) if source.is_token(index + 1, "(") else None
            arguments = join_template_arguments(source, found or [])
            if (name, len(arguments)) in _CALLS:
                yield index, arguments, _CALLS[name, len(arguments)]
