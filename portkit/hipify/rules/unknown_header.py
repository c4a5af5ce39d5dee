"""A header of CUDA's, or of a library of NVIDIA's, that no rule translates.

HIP has none of that name. CUTLASS and CuTe are made of NVIDIA's instructions; cuDNN, NVTX, NVML and
parts of libcu++ have counterparts of another shape, or none.

The headers of NVIDIA's samples, as ``helper_cuda.h``, are no part of CUDA and are not in HIP.

Example: ``#include <cutlass/cutlass.h>`` stays and is reported.

What to do: keep the include from AMD with ``#if !defined(__HIP_PLATFORM_AMD__)`` and write what it
was for by hand: AMD's counterpart of CUTLASS is Composable Kernel, of cuDNN MIOpen, of NVTX rocTX,
of NVML AMD SMI.

Limits: a header in quotes that lies in the tree is the tree's own.

Source: the ROCm documentation, "ROCm libraries"; HIPIFY, src/CUDA2HIP.cpp.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._findings import report_manual

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH209"

_SUSPECT = re.compile(
    r"(cuda|cutlass|cute|cooperative_groups|nvtx3)/.*"
    r"|cub/.*\.h"
    r"|helper_(cuda|math|string|timer|image|functions|gl|multiprocess)\w*\.h|drvapi_error_string\.h"
    r"|crt/.*|sm_\d\d_\w+\.hp*|npp\w*\.h|nvfunctional"
    r"|cu(da|blas|rand|dnn|fft|sparse|solver|file|pti|tensor|Complex)\w*\.h"
    r"|nv(ml|rtc|ToolsExt|JitLink|jpeg|shmem|Fatbin)\w*\.h"
)


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each include of such a header."""
    table = api_table.load_corrections()
    for index in source.includes:
        token = source.tokens[index]
        quote = max(token.text.find('"'), token.text.find("<"))
        name = token.text[quote + 1 : -1]
        own = token.text[quote] == '"' and PurePosixPath(name).name in source.own
        known = table.get(name)
        lacking = known is not None and known.kind == "lacking"
        if own or (known and not lacking) or not (lacking or _SUSPECT.fullmatch(name)):
            continue
        instead = known.note if known is not None else "write by hand what it is for"
        yield report_manual(
            source,
            CODE,
            index,
            index,
            construct="include",
            message=f"{name}: HIP has no such header; {instead}",
        )
