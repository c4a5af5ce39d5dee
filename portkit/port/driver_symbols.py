"""Functions and constants of CUDA's driver that code asks for itself, past cudarc's own interface.

cudarc has them in modules called ``sys``. The bindings have there what a port has needed so far,
and a copy that names anything else would not compile: a person sees what HIP has for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.port.hip_bindings import list_binding_files
from portkit.syntax.name_table import strip_comments_and_strings

if TYPE_CHECKING:
    from portkit.context.port_job import Site

_ASKED: Final = re.compile(r"\bsys\s*::\s*(?:\w+\s*::\s*)*((?:cu|CU)[A-Z_]\w*)")


def find_missing_symbol(site: Site, text: str) -> str:
    """Return a name of the driver's in a text that the bindings have no counterpart of, if any."""
    if "sys" not in text or not site.source.path.endswith(".rs"):
        return ""
    job = site.job
    words = job.vendor.names.words
    asked = [name for name in _ASKED.findall(strip_comments_and_strings(text)) if name not in words]
    if not asked:  # what the name table has was written with the bindings
        return ""

    def known() -> frozenset[str]:
        texts = (
            make()
            for name, make in list_binding_files(job.vendor.facade).items()
            if name.endswith(".rs")
        )
        return frozenset(word for each in texts for word in re.findall(r"\w+", each))

    names = job.memoize("bindings", make=known)
    return next((name for name in asked if job.rename(name) not in names), "")
