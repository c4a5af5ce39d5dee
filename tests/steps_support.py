"""Work in instructions: a measure of time that no other work on the machine changes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, ModuleType


def steps(work: Callable[[], object], *modules: ModuleType) -> int:
    """Return how many instructions of some modules' code are run."""
    taken = 0
    files = {module.__file__ for module in modules}

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal taken
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        taken += event == "opcode"
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(None)
    return taken
