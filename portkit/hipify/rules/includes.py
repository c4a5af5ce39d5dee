"""Rules about a file as a whole and what it includes."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.hipify.api_table import load_corrections
from portkit.hipify.paths import derive_hip_path
from portkit.hipify.rules.ptx import HEADER as PTX_HEADER
from portkit.hipify.rules.ptx import translate_statements
from portkit.hipify.rules.rule import Hit, KernelRule, report_site
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from portkit.hipify.kernel_source import KernelSource

HEADER: Final = "hipx.h"

# Each part of CUB has its counterpart under the same name (hipCUB, include/hipcub).
_CUB: Final = re.compile(r"cub/(?!cub\.cuh)(.+)\.cuh")
# So has each part of Thrust that is CUDA's (rocThrust, thrust/system/hip).
_THRUST: Final = "thrust/system/cuda/"

_SUSPECT: Final = re.compile(
    r"(cuda|cutlass|cute|cooperative_groups|nvtx3)/.*"
    r"|cub/.*\.h"
    r"|helper_(cuda|math|string|timer|image|functions|gl|multiprocess)\w*\.h|drvapi_error_string\.h"
    r"|crt/.*|sm_\d\d_\w+\.hp*|npp\w*\.h|nvfunctional"
    r"|cu(da|blas|rand|dnn|fft|sparse|solver|file|pti|tensor|Complex)\w*\.h"
    r"|nv(ml|rtc|ToolsExt|JitLink|jpeg|shmem|Fatbin)\w*\.h"
)

_SHIM_HIP: Final = re.compile(r"<(hip|hipblas|hiprand|rocblas)/")
_SHIM_CUDA: Final = re.compile(r"[<\"](cu\w+\.h|mma\.h|cub/.*)[>\"]")
_SHIM_DEFINITION: Final = re.compile(
    r"#[ \t]*define[ \t]+(?:cuda|cublas|curand|nv_|__nv_|__shfl_)\w+"
    r"|\btypedef\b[^;{}]*\b(?:cuda|__nv_|nv_)\w+[ \t]*;"
)


def _find_missing_prelude(source: KernelSource) -> Iterator[Finding]:
    missing = [
        name
        for name in (HEADER, *find_extra_headers(source))
        if f'#include "{source.to_root}{name}"' not in source.text
    ]
    if missing:
        text = "".join(f'#include "{source.to_root}{name}"\n' for name in missing)
        message = f"the file includes {' and '.join(missing)} first"
        found = report_site(
            "PH101", source.path, "start of file", HEADER, message, Applicability.SAFE
        )
        yield replace(found, status=Status.TODO, edits=(Edit(0, 0, text),))


def find_extra_headers(source: KernelSource) -> list[str]:
    """Return the headers of the prelude that a source needs and ``hipx.h`` does not include."""
    headers = {
        mapping.header
        for name, mapping in load_corrections().items()
        if mapping.header and name in source.names
    }
    if any(isinstance(new, str) for _, new in translate_statements(source)):
        headers.add(PTX_HEADER)
    return sorted(headers)


def _find_cuda_headers(source: KernelSource) -> Iterator[Hit]:
    for index in source.includes:
        token = source.tokens[index]
        quote, name = read_header(token.text)
        quoted = token.text[quote] == '"'
        new = find_hip_header(name, source.own, source.to_root, quoted=quoted)
        if quoted and name in source.renamed:
            new = f'"{source.renamed[name]}"'
        if new:
            edits = (Edit(token.start + quote, token.end, new),)
            yield Hit(index, index, f"{name} becomes {new[1:-1]}", edits)


def read_header(include: str) -> tuple[int, str]:
    """Return where the header begins in the text of an include, with its bracket, and its name."""
    quote = max(include.find('"'), include.find("<"))
    return quote, include[quote + 1 : -1]


def find_hip_header(name: str, own: Container[str], to_root: str, *, quoted: bool) -> str:
    """Return the header to include for another, with its brackets; empty if nothing changes.

    ``own``: the names of the tree's own headers; one may have the name of one of CUDA's.
    ``to_root``: the way to the folder with the prelude, empty or with a ``/`` at its end.
    """
    if not (quoted and PurePosixPath(name).name in own):
        if part_of_cub := _CUB.fullmatch(name):
            return f"<hipcub/{part_of_cub[1]}.hpp>"
        if name.startswith(_THRUST):
            return f"<thrust/system/hip/{name.removeprefix(_THRUST)}>"
        mapping = load_corrections().get(name)
        if mapping is not None and mapping.kind == "header":
            ours = mapping.hip.startswith("hipx")
            return f'"{to_root}{mapping.hip}"' if ours else f"<{mapping.hip}>"
    return f'"{derive_hip_path(name)}"' if quoted and derive_hip_path(name) != name else ""


def _find_unknown_headers(source: KernelSource) -> Iterator[Hit]:
    for index in source.includes:
        text = source.texts[index]
        quote, name = read_header(text)
        own = text[quote] == '"' and PurePosixPath(name).name in source.own
        known = load_corrections().get(name)
        lacking = known is not None and known.kind == "lacking"
        if own or (known and not lacking) or not (lacking or _SUSPECT.fullmatch(name)):
            continue
        action = known.note if known is not None else "write by hand what it is for"
        yield Hit(index, index, f"{name}: HIP has no such header; {action}")


def is_shim(source: KernelSource) -> bool:
    """Whether a file defines CUDA's names for AMD's platform."""
    includes = [source.texts[index] for index in source.includes]
    return (
        any(map(_SHIM_HIP.search, includes))
        and not any(map(_SHIM_CUDA.search, includes))
        and "__global__" not in source.names
        and bool(_SHIM_DEFINITION.search(source.text))
    )


def find_shims(source: KernelSource) -> Iterator[Finding]:
    """Yield the finding about the whole file, if it is a shim."""
    if is_shim(source):
        message = "it defines CUDA's names for AMD by itself, so it is left as it is"
        construct, whole = "HIP's side of CUDA's names", Span(0, len(source.text))
        yield report_site(
            "PH110", source.path, construct, source.path, message, Applicability.KEEP, whole
        )


def _find_endless_comment(source: KernelSource) -> Iterator[Finding]:
    if (start := source.unterminated) is not None:
        message = "the comment never ends: close it; nothing after it was translated"
        span = Span(start, len(source.text))
        found = report_site(
            "PH208", source.path, "comment", "/*", message, Applicability.MANUAL, span
        )
        yield replace(found, claims=(span,))


RULES: Final = (
    KernelRule("PH101", "prelude_include", "start of file", _find_missing_prelude),
    KernelRule("PH102", "header_include", "include", _find_cuda_headers),
    KernelRule("PH110", "hip_shim", "HIP's side of CUDA's names", find_shims),
    KernelRule("PH208", "malformed", "comment", _find_endless_comment),
    KernelRule("PH209", "unknown_header", "include", _find_unknown_headers),
)
