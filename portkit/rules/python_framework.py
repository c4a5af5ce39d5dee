"""A name of CUDA's that is a framework's in Python, and is the same on AMD's platform.

PyTorch for AMD is asked for ``torch.cuda.is_available()`` and ``tensor.to("cuda")`` as PyTorch for
CUDA is (PyTorch, "HIP (ROCm) semantics"). In a file that imports it, such a name stays, unless the
crate around the file makes a module of Python: then the name may be that module's.

What is not there on AMD's platform is for a person to look at: ``torch.version.cuda`` is ``None``,
and ``torch.version.hip`` says the version (PyTorch, "HIP (ROCm) semantics"); a variable of the
environment that a library of CUDA's reads, such as ``CUBLAS_WORKSPACE_CONFIG``, is no one's there.

Not handled: other names of CUDA's in such a file, such as an extension that is imported; they are
listed as unaccounted, and ``[[keep]]`` of a profile says why they may stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.context.intent import Intent, LeaveUnchanged
from portkit.context.python_files import find_framework
from portkit.rules import SiteRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site

_VARIABLE: Final = re.compile(r"CU(?:BLAS|BLASLT|DNN|FFT|SPARSE|SOLVER)_[A-Z0-9_]+")


def check(site: Site) -> Iterator[Intent]:
    """Find a device, or a path into a framework, that names the source vendor."""
    name = find_framework(site)
    if not name:
        return
    construct, title = "Python framework", site.job.vendor.title
    source = re.escape(site.job.vendor.source)
    device = rf"{source}(?::\d+)?" if site.kind == "string_content" else rf"{name}\.{source}"
    if re.fullmatch(device, site.code):
        yield LeaveUnchanged(construct, site.job.vendor.frameworks[name])
    elif re.fullmatch(rf"{name}\.version\.{source}", site.code):
        said = f"it is None on {title}, where {name}.version.hip says which: see what asks for it"
        yield LeaveUnchanged(construct, said, review=True)
    elif site.kind == "string_content" and _VARIABLE.fullmatch(site.code):
        said = f"a library of CUDA's reads this variable, and none of {title}'s: see what needs it"
        yield LeaveUnchanged(construct, said, review=True)


RULE = SiteRule("PK524", frozenset({"attribute", "dotted_name", "string_content"}), check)
