"""The whole rewriting of a preprocessed source."""

from __future__ import annotations

from dataclasses import dataclass

from portkit.device.hipcc.clang_dialect import rewrite_dialect
from portkit.device.hipcc.kernels import rewrite_kernels
from portkit.device.hipcc.launches import rewrite_launches
from portkit.device.hipcc.shared_memory import rewrite_shared
from portkit.device.hipcc.source import Source
from portkit.device.hipcc.variables import rewrite_variables


@dataclass(frozen=True, slots=True)
class RewrittenSource:
    """A source in plain C++."""

    text: str  # the source
    kernels: bool  # whether it defines kernels


def rewrite_source(preprocessed: str, *, device: bool) -> RewrittenSource:
    """Rewrite a preprocessed HIP source into C++ for one side."""
    source = Source(preprocessed)
    kernels = rewrite_kernels(source, device=device)
    rewrite_variables(source, device=device)
    rewrite_shared(source)
    rewrite_launches(source)
    rewrite_dialect(source)
    return RewrittenSource(source.edited(), kernels)
