"""Variables of the device: programs find them by name, so their names are kept.

``__device__`` stands before functions too; those lose it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.device.hipcc.keywords import DEVICE

if TYPE_CHECKING:
    from portkit.device.hipcc.source import Source

_VISIBLE: Final = '__attribute__((visibility("default")))'
_ATTRIBUTES: Final = frozenset({"__attribute__", "alignas"})


def rewrite_variables(source: Source, *, device: bool) -> None:
    """Rewrite what ``__device__`` and ``__constant__`` stand before."""
    for index, token in enumerate(source.tokens):
        if token == DEVICE:
            visible = device and _is_variable(source, index + 1)
            source.replace(index, index, _VISIBLE if visible else "")


def _is_variable(source: Source, index: int) -> bool:
    while index < len(source.tokens):
        token = source.tokens[index]
        if token == "static":
            return False  # nobody else sees it
        if token in _ATTRIBUTES:
            index = source.closing(index + 1)
        elif token in ("=", ";", "["):
            return True
        elif token in ("(", "{", ")", ",", "operator"):
            return False
        index += 1
    return False
