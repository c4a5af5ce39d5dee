"""A crate of a tree that is the source vendor's as a whole."""

from __future__ import annotations

from portkit.syntax.value import Value


class CudaOnlyCrate(Value, frozen=True):
    """A crate that is the source vendor's as a whole, and its counterpart.

    Attributes:
        name: the crate's name.
        directory: where it lies, relative to the workspace root.
        copy: what the counterpart is called.
        place: where that lies.
        module: what code calls the crate.
        copied_module: what code calls the counterpart.
        unported: why it gets no counterpart; empty where it gets one.
    """

    name: str
    directory: str
    copy: str
    place: str
    module: str
    copied_module: str
    unported: str = ""
