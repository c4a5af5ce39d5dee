"""A shuffle whose mask names some lanes, or those that a variable says.

CUDA wants every lane that calls to be named, every named lane to call, and the lane that is read to
be among them; else the result is undefined. So the mask says nothing of which value a lane reads,
and AMD's own functions with masks compare it with the lanes that are there, and then call the ones
without. The prelude's take none.

Example: ``__shfl_down_sync(mask, x, 4, 8)`` becomes ``hipx::shfl_down(x, 4, 8)``.

Limits: for review, since CUDA has the named lanes wait for each other, and on AMD they have to come
in one step: lanes that reach the call by different branches, or in different rounds of a loop, read
what is undefined, which the CPU device tells. A mask that is had by a call or changes something is
refused, and so are votes and ballots among some lanes, whose result depends on the mask (PH202).

Source: CUDA C++ Programming Guide, "Warp Shuffle Functions"; HIP headers,
amd_warp_sync_functions.h, ``__hip_check_mask``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.hipify import api_table
from portkit.hipify.rules import warp_size
from portkit.hipify.rules._findings import report_rewrite
from portkit.hipify.rules.warp_sync import find_masked_calls
from portkit.workspace.finding import Applicability, Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.hipify.rules.warp_sync import WarpCall
    from portkit.workspace.finding import Finding

CODE = "PH114"

_SHUFFLES: Final = frozenset(
    {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"}
)
_CHANGES: Final = frozenset({"=", "++", "--", "+=", "-=", "*=", "%=", "&=", "|=", "^=", "<<="})


def is_shuffle_of_some(source: KernelSource, call: WarpCall) -> bool:
    """Whether a call of a warp function is one that this rule writes."""
    return (
        source.tokens[call.name].text in _SHUFFLES
        and call.arguments is not None
        and len(call.arguments) > 2
        and not call.is_full
        and _is_only_read(source, call.arguments[0])
    )


def _is_only_read(source: KernelSource, mask: range) -> bool:
    """Whether a mask may go: nothing is called or changed in it, and no other rule writes there."""
    for index in mask:
        token = source.tokens[index]
        if token.text in _CHANGES or token.kind not in ("name", "number", "punct"):
            return False
        if token.kind == "name" and (
            source.is_token(index + 1, "(")
            or token.text in (warp_size.NAME, "hipx")
            or token.text in api_table.load_corrections()
        ):
            return False
    return True


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such shuffle."""
    for call in find_masked_calls(source):
        index, arguments, _ = call
        if not arguments or not is_shuffle_of_some(source, call):
            continue
        token = source.tokens[index]
        new = api_table.load_corrections()[token.text].hip
        mask, rest = (source.tokens[argument.start].start for argument in arguments[:2])
        edits = (Edit(token.start, token.end, new), Edit(mask, rest, ""))
        written = report_rewrite(
            source,
            CODE,
            index,
            arguments[0].stop,
            edits,
            construct="shuffle among some lanes",
            message=f"{token.text} becomes {new}: the lanes that the mask names have to come here "
            "in one step, where CUDA has them wait for each other",
        )
        yield replace(written, applicability=Applicability.REVIEW)
