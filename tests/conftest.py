from __future__ import annotations

import signal

import pytest

from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import find_hipcc

# A shell starts what runs in the background, and nohup what it runs, with signals ignored; programs
# that the tests start would inherit that (POSIX, "Shell Command Language", 2.12).
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# What the rules' tests share asserts like a test, and shows what differs like one.
pytest.register_assert_rewrite("harness")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs AMD's compiler where there is none."""
    try:
        find_hipcc()
    except HipToolError as error:
        for item in items:
            if item.get_closest_marker("hipcc"):
                item.add_marker(pytest.mark.skip(reason=str(error)))
