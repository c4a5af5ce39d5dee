"""An include of a CUDA header.

Each CUDA header that has a counterpart becomes it: HIP's own, a header of the prelude, or the
standard library's in place of ``cuda/std``. Headers beside the source are translated as well, so
their suffix changes with them (``.cuh`` to ``.h``); a plain one that is translated beside itself
has ``hip`` in its name, and its includes follow. Other includes stay.

Example: ``#include "cuda_fp16.h"`` becomes ``#include <hip/hip_fp16.h>``.

Limits: a header named by a macro (``#include HEADER``) is not seen.

Source: HIPIFY, src/CUDA2HIP.cpp; the table's own entries name theirs.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.paths import derive_hip_path
from portkit.hipify.rules._findings import report_rewrite
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH102"

# Each part of CUB has its counterpart under the same name (hipCUB, include/hipcub).
_CUB = re.compile(r"cub/(?!cub\.cuh)(.+)\.cuh")
# So has each part of Thrust that is CUDA's (rocThrust, thrust/system/hip).
_THRUST = "thrust/system/cuda/"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each include that changes."""
    for index in source.includes:
        token = source.tokens[index]
        quote = max(token.text.find('"'), token.text.find("<"))
        name = token.text[quote + 1 : -1]
        quoted = token.text[quote] == '"'
        new = find_hip_header(name, source.own, source.to_root, quoted=quoted)
        if quoted and name in source.renamed:
            new = f'"{source.renamed[name]}"'
        if not new:
            continue
        edit = Edit(token.start + quote, token.end, new)
        message = f"{name} becomes {new[1:-1]}"
        yield report_rewrite(
            source, CODE, index, index, (edit,), construct="include", message=message
        )


def find_hip_header(name: str, own: Container[str], to_root: str, *, quoted: bool) -> str:
    """Return what is included for a header, with its brackets; empty where nothing changes.

    Args:
        name: the header, as in ``#include``.
        own: the names of the tree's own headers; one may have the name of one of CUDA's.
        to_root: the way to the folder with the prelude, empty or with a ``/`` at its end.
        quoted: whether it stands in quotes.
    """
    own_header = quoted and PurePosixPath(name).name in own
    part_of_cub = _CUB.fullmatch(name)
    if part_of_cub and not own_header:
        return f"<hipcub/{part_of_cub[1]}.hpp>"
    if name.startswith(_THRUST) and not own_header:
        return f"<thrust/system/hip/{name.removeprefix(_THRUST)}>"
    mapping = api_table.load_corrections().get(name)
    if mapping is not None and mapping.kind == "header" and not own_header:
        ours = mapping.hip.startswith("hipx")
        return f'"{to_root}{mapping.hip}"' if ours else f"<{mapping.hip}>"
    return f'"{derive_hip_path(name)}"' if quoted and derive_hip_path(name) != name else ""
