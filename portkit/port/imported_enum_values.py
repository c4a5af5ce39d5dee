"""Values of the bindings' enums that a file brings in by their names.

``use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE;`` brings in a
variant. HIP's enums are constants of a type, since a release may add values, and a constant of a
type cannot be imported (the Rust reference, chapter "Use declarations"). So a copy brings in the
type, once, and names it before each of its values.

Not handled: a list of imports, ``use ..::CUdevice_attribute::{A, B};``.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from portkit.syntax.name_table import TOKEN

if TYPE_CHECKING:
    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile

_USE: Final = re.compile(r"\buse\s+(?:\w+\s*::\s*)+(\w*[a-z]\w*)\s*::\s*(CU[A-Z0-9_]+)\s*;")
"""A value of an enum of CUDA's, whose name is in capitals, and the enum, whose name is not."""


def qualify_enum_values(job: PortJob, source: SourceFile, copy: str) -> str:
    """Return the copy of a file with the values of enums named through their types."""
    if b"::CU" not in source.data:
        return copy
    words = job.vendor.names.words
    found = _USE.findall(source.text(0, source.size))
    known = [(words[kind], words[value]) for kind, value in found if {kind, value} <= words.keys()]
    brought: set[str] = set()
    for kind, value in known:
        pattern = rf"(\buse\s+[\w:\s]+::\s*{kind})\s*::\s*{value}\s*;(\n?)"
        again = kind in brought or re.search(rf"\buse\s+[\w:\s]+::\s*{kind}\s*;", copy) is not None
        copy = re.sub(pattern, "" if again else r"\1;\2", copy)
        brought.add(kind)
        copy = TOKEN.sub(partial(_named, kind, value), copy)
    return copy


def _named(kind: str, value: str, token: re.Match[str]) -> str:
    through = token.string.endswith("::", 0, token.start())
    return f"{kind}::{value}" if token.group() == value and not through else token.group()
