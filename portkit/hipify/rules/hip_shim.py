"""A file that gives CUDA's names a meaning on AMD's platform.

Some codebases carry such a header for their own HIP build: it includes HIP's headers and none of
CUDA's, has no kernel, and defines CUDA's names as macros, types or functions. It is left as it is:
what it defines would be renamed in its own definition. The files that use those names are
translated.

Example: a header with ``#include <hip/hip_runtime.h>`` and ``#define cudaFree hipFree`` stays.

Limits: a header that includes both platforms' headers, each under a condition, is translated; put
the definitions for AMD in a file of their own.

Source: HIP Porting Guide, "Identifying HIP targets".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

CODE = "PH110"

_HIP = re.compile(r"<(hip|hipblas|hiprand|rocblas)/")
_CUDA = re.compile(r"[<\"](cu\w+\.h|mma\.h|cub/.*)[>\"]")
_DEFINITION = re.compile(
    r"#[ \t]*define[ \t]+(?:cuda|cublas|curand|nv_|__nv_|__shfl_)\w+"
    r"|\btypedef\b[^;{}]*\b(?:cuda|__nv_|nv_)\w+[ \t]*;"
)


def is_shim(source: KernelSource) -> bool:
    """Whether a file is such a header."""
    includes = [source.tokens[index].text for index in source.includes]
    return (
        any(map(_HIP.search, includes))
        and not any(map(_CUDA.search, includes))
        and "__global__" not in source.names
        and bool(_DEFINITION.search(source.text))
    )


def find(source: KernelSource) -> Iterator[Finding]:
    """Return the finding about the whole file, if it is one."""
    if is_shim(source):
        yield Finding(
            code=CODE,
            path=source.path,
            span=Span(0, len(source.text)),
            construct="HIP's side of CUDA's names",
            symbol=source.path,
            applicability=Applicability.KEEP,
            status=Status.NONE,
            message="it defines CUDA's names for AMD by itself, so it is left as it is",
        )
