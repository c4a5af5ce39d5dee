"""A call of a warp function with a full mask.

CUDA's ``__shfl_xor_sync(mask, ...)`` and its kin take a 32-bit mask first and work on 32 lanes.
HIP's take a 64-bit mask or none and work on a wavefront, 32 or 64 lanes. The prelude's functions
work on logical warps of 32 lanes on every architecture; the mask goes.

Example: ``__shfl_xor_sync(0xffffffff, x, 16)`` becomes ``hipx::shfl_xor(x, 16)``.

Limits: only masks that name all lanes are translated (``0xffffffff``, ``~0``, ``-1``, casts of it,
``FULL_MASK`` and other names that end in ``FULL_MASK``); any other is refused (PH202).

Source: CUDA C++ Programming Guide, "Warp Shuffle Functions"; HIP headers,
amd_warp_sync_functions.h.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._common import rewritten
from portkit.tree.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH105"

_FULL_MASK = re.compile(
    r"0[xX][fF]{8}[uUlL]*|~0[uUlL]*|-1|\w*FULL_?MASK|"
    r"(unsigned(int)?|uint32_t)\(-1\)|\((unsigned(int)?|uint32_t)\)-1|"
    r"(std::)?numeric_limits<(unsigned(int)?|uint32_t)>::max\(\)",
    re.IGNORECASE,
)


def is_full_mask(source: KernelSource, argument: range) -> bool:
    """Whether a mask argument names all 32 lanes."""
    text = "".join(source.tokens[index].text for index in argument)
    return _FULL_MASK.fullmatch(text) is not None


def calls(source: KernelSource) -> Iterator[tuple[int, list[range] | None]]:
    """Return each masked call: the index of its name, and its arguments."""
    for name, mapping in api_table.corrections().items():
        if mapping.kind != "warp":
            continue
        for index in source.names.get(name, ()):
            defined = source.is_token(index - 1, "#define")
            if source.is_token(index + 1, "(") and not defined:
                yield index, source.arguments(index + 1)


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each call with a full mask, or with none where none is the default."""
    table = api_table.corrections()
    for index, arguments in calls(source):
        if arguments is None:
            continue
        token = source.tokens[index]
        new = table[token.text].hip
        edits = [Edit(token.start, token.end, new)]
        if arguments:
            if not is_full_mask(source, arguments[0]):
                continue
            mask = source.tokens[arguments[0].start].start
            rest = source.tokens[arguments[1].start].start if len(arguments) > 1 else None
            end = source.tokens[arguments[0].stop - 1].end if rest is None else rest
            edits.append(Edit(mask, end, ""))
        yield rewritten(
            source,
            CODE,
            index,
            arguments[0].stop if arguments else index,
            tuple(edits),
            construct="warp function",
            message=f"{token.text} becomes {new}, on logical warps of 32 lanes",
        )
