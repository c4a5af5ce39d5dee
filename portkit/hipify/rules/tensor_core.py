"""A use of ``nvcuda`` that the prelude does not have.

The prelude's ``hipx_wmma.h`` has fragments of 16x16x16, 8x32x16 and 32x8x16 with a row-major A, a
column-major B and a float accumulator, and ``fill_fragment``, ``load_matrix_sync``, ``mma_sync``
and ``store_matrix_sync``.

Example: ``nvcuda::wmma::experimental::bmma_sync`` stays and is reported; so does
``wmma::precision::tf32``.

What to do: write the product with what the prelude has, or with rocWMMA.

Source: CUDA C++ Programming Guide, "Warp Matrix Functions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules._findings import report_manual

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH204"

_MISSING = ("experimental", "precision", "bmma_sync", "bmmaBitOp", "bmmaAccumulateOp")


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each part of ``nvcuda`` that is missing."""
    if "nvcuda" not in source.names:
        return
    for name in _MISSING:
        for index in source.names.get(name, ()):
            if source.is_token(index - 1, "::") or name.startswith("bmma"):
                yield report_manual(
                    source,
                    CODE,
                    index,
                    index,
                    construct="tensor core",
                    message=f"nvcuda::wmma's {name} has no counterpart in the prelude",
                )
    for index in source.names.get("fragment", ()):
        if not source.is_token(index + 1, "<"):
            continue
        layout = _unsupported_layout(source, index + 2)
        if layout is not None:
            yield report_manual(
                source,
                CODE,
                index,
                layout,
                construct="tensor core",
                message="the prelude has a row-major A and a column-major B only",
            )


def _unsupported_layout(source: KernelSource, index: int) -> int | None:
    """Return the index of a layout that the prelude lacks among template arguments."""
    use = None
    for position in range(index, min(index + 40, len(source.tokens))):
        text = source.tokens[position].text
        if text in ("matrix_a", "matrix_b"):
            use = text
        elif (use, text) in (("matrix_a", "col_major"), ("matrix_b", "row_major")):
            return position
        elif text in (";", "{", "row_major", "col_major", "accumulator"):
            return None
    return None
