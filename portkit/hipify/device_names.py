"""Names that look like those of CUDA's device functions."""

from __future__ import annotations

import re

# Two underscores and a small letter, or an atomic function (CUDA C++ Programming Guide, "C++
# Language Extensions"; CUDA Math API). What ends with underscores is a word of the language, such
# as ``__launch_bounds__``; the others are the compiler's own, of which ``__cpuid`` is x86's.
_LIKE_CUDA = re.compile(
    r"__(?!(?:builtin|hip|amdgcn|ocml|ockl|llvm|clang|has|is|gnu|cxx|libc|std|remove|make)_)"
    r"(?!(?:asm|attribute|declspec|alignof|typeof|decltype|extension|volatile|inline|pragma"
    r"|cplusplus|cpuid\w*|underlying_type)\b)[a-z]\w*(?<!__)"
    r"|atomic[A-Z]\w*"
)


def looks_like_cuda(name: str) -> bool:
    """Whether a name begins as those of CUDA's device functions do."""
    return _LIKE_CUDA.fullmatch(name) is not None
