"""Macros of the standard library and of common crates, by their use of arguments.

Sources: the documentation of ``std``, ``anyhow``, `log`, ``tracing``, ``criterion`` and
``static_assertions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final


class MacroUse(Enum):
    """The use that a macro makes of its arguments."""

    CHECK = auto()
    """It evaluates a condition or compares two values; a message may follow."""
    REPORT = auto()
    """It only tells people about them."""
    PRINT = auto()
    """It writes them to the standard output, to which cargo listens in a build script."""
    VALUE = auto()
    """It evaluates them and gives a value."""
    TOKENS = auto()
    """It reads them as a condition, a pattern or the name of a file."""
    ITEMS = auto()
    """It defines items or checks types, and each of its names comes from its arguments."""


_NAMES: Final[Mapping[MacroUse, str]] = {
    MacroUse.CHECK: (
        "assert assert_eq assert_ne debug_assert debug_assert_eq debug_assert_ne ensure"
    ),
    MacroUse.REPORT: (
        "anyhow bail debug eprint eprintln error info panic todo trace unimplemented unreachable"
        " warn"
    ),
    MacroUse.PRINT: "print println",
    MacroUse.VALUE: "dbg format format_args vec write writeln",
    MacroUse.TOKENS: (
        "cfg column compile_error concat env file include include_bytes include_str line matches"
        " module_path option_env stringify"
    ),
    MacroUse.ITEMS: "assert_impl_all assert_not_impl_any assert_obj_safe const_assert"
    " criterion_group thread_local",
}
_USES: Final[Mapping[str, MacroUse]] = {
    name: use for use, names in _NAMES.items() for name in names.split()
}
EVALUATING: Final = frozenset({MacroUse.CHECK, MacroUse.PRINT, MacroUse.REPORT, MacroUse.VALUE})
"""The uses whose arguments are expressions."""


def find_use(name: str) -> MacroUse | None:
    """Return the use that a macro makes of its arguments; None for an unknown macro."""
    return _USES.get(name)
