from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import find_hipcc

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

# A shell starts what runs in the background, and nohup what it runs, with signals ignored; programs
# that the tests start would inherit that (POSIX, "Shell Command Language", 2.12).
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# What the rules' tests share asserts like a test, and shows what differs like one.
pytest.register_assert_rewrite("harness")

_NO_HIPCC = "NO HIPCC"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs AMD's compiler where there is none."""
    try:
        find_hipcc()
    except HipToolError as error:
        for item in items:
            if item.get_closest_marker("hipcc"):
                item.add_marker(pytest.mark.skip(reason=f"{_NO_HIPCC}: {error}"))


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say aloud how many tests there was no compiler for."""
    skipped = terminalreporter.stats.get("skipped", ())
    if count := sum(_NO_HIPCC in str(report.longrepr) for report in skipped):
        terminalreporter.write_sep("=", f"{_NO_HIPCC}: {count} tests LEFT OUT", yellow=True)
