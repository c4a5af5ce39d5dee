"""A crate of a tree that is the source vendor's as a whole."""

from __future__ import annotations

from portkit.syntax.value import Value


class CudaOnlyCrate(Value, frozen=True):
    """A crate that is the source vendor's as a whole, and its counterpart."""

    name: str
    directory: str
    copy: str
    place: str
    module: str
    copied_module: str
    unported: str = ""
