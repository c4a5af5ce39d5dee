"""A warp function with a mask that is not all lanes, or that is not called.

A mask that leaves lanes out says which lanes take part; HIP's functions without masks take those
that are active, which may be others. Dropping such a mask can change results, but for shuffles
(PH114), so nothing is written. A warp function whose address is taken or that a macro hides has no
mask to judge.

Example: ``__any_sync(mask, x)`` stays as it is and is reported.

What to do: where every lane of the warp comes to the call, write the full mask, else branch around
the lanes that should not take part and use ``hipx::`` functions by hand.

Source: CUDA C++ Programming Guide, "Warp Shuffle Functions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._findings import drop_amd_uses, report_manual
from portkit.hipify.rules.warp_masked import is_shuffle_of_some
from portkit.hipify.rules.warp_sync import find_masked_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH202"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such use."""
    called = {call.name: call for call in find_masked_calls(source)}
    for name, mapping in api_table.load_corrections().items():
        if mapping.kind != "warp":
            continue
        for index in drop_amd_uses(source, source.names.get(name, ())):
            if source.is_token(index - 1, "#define"):
                continue
            call = called.get(index)
            if call is None or call.arguments is None:
                message = f"{name} is not called here: write the call with {mapping.hip} by hand"
                last = index
            elif call.arguments and not call.is_full and not is_shuffle_of_some(source, call):
                message = (
                    f"{name} has a mask that is not known to name all lanes: use the full mask "
                    f"where every lane comes here, else branch and call {mapping.hip}"
                )
                last = call.arguments[0].stop - 1
            else:
                continue
            yield report_manual(
                source, CODE, index, last, construct="partial warp mask", message=message
            )
