"""Values in Rust source that no table of names knows: a person reviews a copy that has one.

Each kind is one function from the text that is copied to a sentence, which names the value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.syntax.name_table import NO_CODE, strip_comments_and_strings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from portkit.context.port_job import PortJob

_WARP: Final = re.compile(r"\b(\w*warp_?size\w*)\b[^;,{}()=]*[=:]\s*(32)(?:_?[ui]\w+)?\b", re.I)
_CAPABILITY: Final = re.compile(
    r"\b(?:sm|sm_version|compute_cap(?:ability)?\w*)(?:\(\))?\s*(?:[<>]=?|[=!]=)\s*\d+"
)
_NVRTC: Final = re.compile(
    r"--gpu-architecture|-arch\b|\b(?:compute|sm)_\d+\w*|--use_fast_math|--fmad|--maxrregcount"
    r"|--ptxas-options|-Xptxas|--device-debug|--generate-line-info|-lineinfo\b|--relocatable-device"
)
"""Options of NVRTC, and the architectures that they name (NVIDIA: "NVRTC", chapter "Supported
Compile Options"); HIPRTC has others, such as ``--offload-arch=gfx90a``."""
_OUTSIDE: Final = re.compile(
    r'(?<=")(?:CUBLAS|CUBLASLT|CUDA|CUDNN|NCCL|NVCC|NVIDIA)_[A-Z][A-Z0-9_]*(?=")'
    r'|[^\s"]+\.(?:dll|dylib|so)\b[.\d]*|/usr/local/cuda[^\s"]*'
)
"""A variable of the environment that NVIDIA's programs read (CUDA C++ Programming Guide, chapter
"CUDA Environment Variables"), the file of a library, and the folder of the toolkit."""
_NVRTC_WORDS: Final = ("--", "-Xptxas", "-arch", "-lineinfo", "compute_", "sm_")
_CAPABILITY_WORDS: Final = ("sm", "compute_cap")
_OUTSIDE_WORDS: Final = (
    '"CUBLAS',
    '"CUDA_',
    '"CUDNN_',
    '"NCCL_',
    '"NVCC_',
    '"NVIDIA_',
    ".dll",
    ".dylib",
    ".so",
    "/usr/local/cuda",
)
"""Words of which each pattern finds one at least: nearly all texts have none, and to look for them
takes far less time than to search by the pattern."""
_IN_KERNEL: Final = re.compile(
    r"\b__(?:shfl|ballot|all|any|activemask|match|reduce)\w*|\b__syncwarp\b|\bwarpSize\b"
    r"|\b0x[fF]{8}\b|\b32[uU]?\b|\basm\b"
)
"""What a kernel says about a warp of 32 lanes, or in PTX."""


def explain_platform_literal(job: PortJob, text: str) -> str:
    """Return why a person reviews the values in a copy of Rust source, or an empty string."""
    return ". ".join(filter(None, (kind(job, text) for kind in _KINDS)))


def _warp(job: PortJob, text: str) -> str:
    """Doubt a warp of 32 lanes: ``const WARP_SIZE: usize = 32``."""
    if "warp" not in text.lower() or job.codebase.kernels is not None:
        return ""  # a profile of kernels decides how many lanes their launches count with
    found = _WARP.search(strip_comments_and_strings(text))
    return (
        f"`{found[1]}` is {found[2]}, and a wavefront of AMD's GPUs has 32 or 64 lanes. Check each"
        " use"
        if found
        else ""
    )


def _capability(job: PortJob, text: str) -> str:
    """Doubt a question about a GPU's compute capability: ``sm >= 90``."""
    if not _has_any(text, _CAPABILITY_WORDS) or not _CAPABILITY.search(text):
        return ""
    found = _CAPABILITY.search(strip_comments_and_strings(text))
    return (
        f"`{found[0]}` compares NVIDIA's compute capability. Ask {job.vendor.title} for what the"
        " code needs of the GPU"
        if found
        else ""
    )


def _options(job: PortJob, text: str) -> str:
    """Doubt an option of NVRTC in a string: ``"--gpu-architecture=sm_80"``."""
    if not _has_any(text, _NVRTC_WORDS) or not _NVRTC.search(text):
        return ""
    found = next((m[0] for each in _strings(text) if (m := _NVRTC.search(each))), "")
    return (
        f"A string has `{found}`, which is for NVIDIA's compiler. Give {job.vendor.title} what its"
        " compiler accepts, such as `--offload-arch`"
        if found
        else ""
    )


def _outside(job: PortJob, text: str) -> str:
    """Doubt a name outside the program, which no table of names knows: ``"libcuda.so.1"``."""
    if '"' not in text or not _has_any(text, _OUTSIDE_WORDS) or not _OUTSIDE.search(text):
        return ""
    for each in _strings(text):
        found = _OUTSIDE.search(each)
        if found and (job.mentions_cuda(each) or job.rename(each) != each):
            return f"A string names `{found[0]}`. Check the name that {job.vendor.title} has"
    return ""


def _maker_in_text(job: PortJob, text: str) -> str:
    """Doubt a string that names NVIDIA: ``"/dev/nvidia0"``."""
    maker, title = job.vendor.source_maker.lower(), job.vendor.title
    if maker not in text.lower():
        return ""
    found = next((each for each in _strings(text) if _is_path(job, each, maker)), "")
    kept = re.search(rf'[^\s"]*{re.escape(maker)}[^\s"]*', job.rename(found), re.IGNORECASE)
    return f"A string names `{kept[0]}`. Name what is true of {title}" if kept else ""


def _is_path(job: PortJob, text: str, maker: str) -> bool:
    """Whether a string is a path, or a name that the copy changes in part: ``"nvidia/cuda"``."""
    if maker not in text.lower() or len(text.split()) != 1:
        return False
    return text.startswith('"/') or ("/" in text and job.rename(text) != text)


def _kernel(job: PortJob, text: str) -> str:
    """Doubt a kernel in a string that counts with a warp of 32 lanes."""
    if "__global__" not in text:
        return ""
    kernels = (each for each in _strings(text) if "__global__" in each)
    found = next((m[0] for each in kernels if (m := _IN_KERNEL.search(each))), "")
    return (
        f"A kernel in a string has `{found}`, and a wavefront of AMD's GPUs has 32 or 64 lanes."
        f" Check the kernel, which {job.vendor.title} compiles when the program runs"
        if found
        else ""
    )


def _has_any(text: str, words: Sequence[str]) -> bool:
    return any(word in text for word in words)


def _strings(text: str) -> Iterator[str]:
    """Yield the strings of Rust source."""
    return (m[0] for m in NO_CODE.finditer(text) if not m[0].startswith(("/", "'")))


_KINDS: Final[tuple[Callable[[PortJob, str], str], ...]] = (
    _options,
    _kernel,
    _warp,
    _capability,
    _outside,
    _maker_in_text,
)
"""The kinds of value. One more is a function here, and a row of the table in its test."""
