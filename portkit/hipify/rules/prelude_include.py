"""The first line of a translated source includes the prelude.

CUDA's compiler includes its runtime and intrinsics by itself; HIP wants them named. The prelude
brings them, and what HIP lacks. Headers that other sources include need it as well, since each may
come first. ``#pragma once`` keeps it to one reading. A header of the prelude that few sources need
follows where one of its functions is used, as ``hipx_ptx.h`` with inline PTX.

Example: a file that begins with a comment begins with ``#include "hipx.h"`` afterwards.

Limits: none; a file without code gets it too.

Source: CUDA C++ Programming Guide (nvcc includes cuda_runtime.h); HIP Programming Guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules import ptx_instruction
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

CODE = "PH101"
HEADER = "hipx.h"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return one finding for the start of the file, unless the prelude is already included."""
    missing = [
        name
        for name in (HEADER, *find_extra_headers(source))
        if f'#include "{source.to_root}{name}"' not in source.text
    ]
    if not missing:
        return
    yield Finding(
        code=CODE,
        path=source.path,
        span=Span(0, 0),
        construct="start of file",
        symbol=HEADER,
        applicability=Applicability.SAFE,
        status=Status.TODO,
        message=f"the file includes {' and '.join(missing)} first",
        edits=(Edit(0, 0, "".join(f'#include "{source.to_root}{name}"\n' for name in missing)),),
    )


def find_extra_headers(source: KernelSource) -> list[str]:
    """Return the headers of the prelude that a source needs and ``hipx.h`` does not include."""
    headers = {
        mapping.header
        for name, mapping in api_table.load_corrections().items()
        if mapping.header and name in source.names
    }
    if any(isinstance(new, str) for _, new in ptx_instruction.translate_statements(source)):
        headers.add(ptx_instruction.HEADER)
    return sorted(headers)
