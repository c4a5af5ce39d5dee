"""One file of a plan."""

from __future__ import annotations

from portkit.syntax.value import Value


class Change(Value, frozen=True):
    """One file of the plan.

    Attributes:
        path: the file, relative to the workspace root, with ``/``.
        before: the content that the plan was made from; None: the file must not exist.
    """

    path: str
    before: bytes | None
    after: bytes
