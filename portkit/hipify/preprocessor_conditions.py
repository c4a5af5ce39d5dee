"""Preprocessor conditions that keep code from AMD's compiler, or from CUDA's.

Each condition is evaluated twice: as a HIP compile for AMD sees it, and as nvcc does. It is decided
by the macros that the one compiler defines and the other does not, and by those that the user says
the build for AMD defines. A branch is kept from AMD's compiler as well where an ``#if`` is false at
the feature level that translated sources see, and in the host pass, which has none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from portkit.hipify.preprocessor_expressions import evaluate_expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from portkit.hipify.kernel_source import KernelSource

DEFINED = frozenset({"__HIP_PLATFORM_AMD__", "__HIPCC__", "__HIP__", "__AMDGCN__"})
"""What a HIP compile for AMD defines (clang documentation, "HIP Support"), host pass included
where it is used in this sense."""

VERSIONS = frozenset(
    {
        *("__CUDACC_VER_MAJOR__", "__CUDACC_VER_MINOR__", "__CUDACC_VER_BUILD__"),
        *("CUDA_VERSION", "CUDART_VERSION", "CUDNN_VERSION", "CUBLAS_VERSION", "CURAND_VERSION"),
        *("CUSPARSE_VERSION", "CUSOLVER_VERSION", "CUFFT_VERSION", "NVML_API_VERSION"),
    }
)
"""The versions that only CUDA's compilers and headers define."""

_OF_CUDA = VERSIONS | {"__CUDACC__", "__NVCC__"}

OPTIONAL = frozenset(
    {
        *("__CUDACC_DEBUG__", "__CUDACC_EXTENDED_LAMBDA__", "__CUDACC_RELAXED_CONSTEXPR__"),
        *("__CUDACC_RDC__", "__CUDA_ARCH_LIST__", "__CUDA_ARCH_SPECIFIC__", "__NVCOMPILER"),
        *("__CUDA_ARCH_FAMILY_SPECIFIC__", "__CUDA_ARCH_FEAT_SM90_ALL"),
        *("__CUDA_ARCH_FEAT_SM100_ALL", "__CUDA_ARCH_FEAT_SM120_ALL"),
    }
)
"""What CUDA's compilers define with some options or for some architectures (nvcc and NVRTC
documentation, "Predefined Macros")."""

UNDEFINED = _OF_CUDA | OPTIONAL | {"__HIP_PLATFORM_NVIDIA__"}
"""What a HIP compile for AMD never defines."""

_AMD_ONLY = re.compile(r"__HIP_DEVICE_COMPILE__|__GFX\w+__|__gfx\w+__|USE_ROCM")
"""What a HIP compile may define, and CUDA's compilers never do."""

_ARCH = frozenset({"__CUDA_ARCH__", "HIPX_CUDA_ARCH"})
_LEVEL = 890
"""What ``HIPX_CUDA_ARCH`` is in the prelude."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class Branch(NamedTuple):
    """One branch of a conditional."""

    directive: int  # the offset of the ``#if`` that its chain begins with
    start: int  # the offset after its own directive
    end: int  # the offset of the next directive of the chain
    on_amd: bool | None  # whether AMD's compiler reads it; None where that is not decided
    on_cuda: bool | None  # whether CUDA's compiler reads it
    names: frozenset[str]  # the names in the conditions of the chain up to here

    def names_amd(self) -> bool:
        """Whether the chain asks for AMD's compiler."""
        return any(name in DEFINED or _AMD_ONLY.fullmatch(name) for name in self.names)

    def find_cuda_names(self) -> frozenset[str]:
        """Return what the chain asks of CUDA's compiler."""
        return self.names & (_OF_CUDA | OPTIONAL)


def find_amd_excluded(source: KernelSource) -> list[tuple[int, int]]:
    """Return the spans of text that a HIP compile for AMD skips, in order, none in another."""
    return _drop_inner_spans((b.start, b.end) for b in source.branches if b.on_amd is False)


def find_amd_only(source: KernelSource) -> list[tuple[int, int]]:
    """Return the spans of text that CUDA's compiler never reads and AMD's may, likewise."""
    return _drop_inner_spans(
        (b.start, b.end) for b in source.branches if b.on_cuda is False and b.on_amd is not False
    )


def find_cuda_only(source: KernelSource) -> list[tuple[int, int]]:
    """Return the spans that stand beside code for AMD and are not for AMD, likewise."""
    return _drop_inner_spans(
        (b.start, b.end)
        for b in source.branches
        if b.names_amd() and b.on_cuda is not False and b.on_amd is not True
    )


def is_within(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Whether one of some spans, which are in order and apart, has an offset."""
    index = bisect_right(spans, offset, key=lambda span: span[0]) - 1
    return index >= 0 and offset < spans[index][1]


def _drop_inner_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found


def find_branches(source: KernelSource) -> Iterator[Branch]:
    """Yield each branch, inner ones before the one around them."""
    stack: list[Branch] = []
    # Of the chain that each belongs to: whether an earlier branch is read, on AMD and on CUDA.
    earlier: list[tuple[bool | None, bool | None]] = []
    for token in source.tokens:
        if token.kind != "directive":
            continue
        word = token.text
        if word in ("#else", "#elif", "#endif") and stack:
            yield stack[-1]._replace(end=token.start)
            last = stack.pop()
            amd, cuda = earlier.pop()
            if word == "#endif":
                continue
            amd, cuda = _or(amd, last.on_amd), _or(cuda, last.on_cuda)
        elif word in ("#if", "#ifdef", "#ifndef"):
            last, amd, cuda = None, False, False
        else:
            continue
        text = "" if word == "#else" else _read_directive(source, token.end)
        own_amd, own_cuda = _evaluate(source, word, text)
        names = frozenset(_IDENTIFIER.findall(text)) | (last.names if last else frozenset())
        directive = last.directive if last else token.start
        on_amd, on_cuda = _and(_negate(amd), own_amd), _and(_negate(cuda), own_cuda)
        stack.append(Branch(directive, token.end, token.end, on_amd, on_cuda, names))
        earlier.append((amd, cuda))


def _evaluate(source: KernelSource, word: str, text: str) -> tuple[bool | None, bool | None]:
    """Return what a condition is on AMD and on CUDA."""
    if word == "#else":
        return True, True
    if word in ("#ifdef", "#ifndef"):
        text = f"{'!' * (word == '#ifndef')}defined({text})"
    at_levels = [_evaluate_at_level(source, text, level) for level in (_LEVEL, None)]
    on_amd = _read_truth(at_levels[0]) if at_levels[0] == at_levels[1] else None
    if all(_read_truth(value) is False for value in at_levels):
        on_amd = False

    def value(name: str) -> int | None:
        return 0 if _is_defined_on_cuda(name, source) is False else None

    return on_amd, _read_truth(
        evaluate_expression(text, lambda name: _is_defined_on_cuda(name, source), value)
    )


def _evaluate_at_level(source: KernelSource, text: str, level: int | None) -> int | None:
    """Return what a condition is at a feature level, None in the pass that has none."""

    def defined(name: str) -> bool | None:
        return level is not None if name in _ARCH else _is_defined(name, source)

    def value(name: str) -> int | None:
        if name in _ARCH:
            return level or 0
        return 0 if _is_defined(name, source) is False else None

    return evaluate_expression(text, defined, value)


def _read_directive(source: KernelSource, offset: int) -> str:
    """Return the rest of a directive's line, continuation lines joined, without comments."""
    end = offset
    while True:
        end = source.text.find("\n", end)
        if end < 0:
            end = len(source.text)
            break
        if source.text[end - 1] != "\\":
            break
        end += 1
    text = source.text[offset:end].replace("\\\n", " ")
    return re.sub(r"/\*.*?\*/|//.*", "", text).strip()


def _is_defined(name: str, source: KernelSource) -> bool | None:
    if name in DEFINED or name in source.defined:
        return True
    return False if name in UNDEFINED or name in source.undefined else None


def _negate(value: bool | None) -> bool | None:
    return None if value is None else not value


def _is_defined_on_cuda(name: str, source: KernelSource) -> bool | None:
    if name in DEFINED or name in source.defined or _AMD_ONLY.fullmatch(name):
        return False
    if name == "__HIP_PLATFORM_NVIDIA__":
        return False
    return True if name in _OF_CUDA else None


def _read_truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _or(left: bool | None, right: bool | None) -> bool | None:
    if left or right:
        return True
    return None if left is None or right is None else False


def _and(left: bool | None, right: bool | None) -> bool | None:
    return _negate(_or(_negate(left), _negate(right)))
