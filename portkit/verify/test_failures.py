"""What a failed test said, in a line: libtest writes it after all results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# What libtest writes before the output of a failed test (library/test/src/formatters/pretty.rs of
# Rust), and what a panic writes (library/std/src/panicking.rs).
_OUTPUT: Final = re.compile(r"---- (.+?)(?: - should panic)? stdout ----")
_PANIC: Final = re.compile(r"thread .+ panicked at (.+?):?$")
_END: Final = ("note: ", "stack backtrace:", "failures:")
_LENGTH: Final = 200


def summarize_failures(lines: Iterable[str]) -> dict[str, str]:
    """Return the last message of each failed test that wrote one, by test name."""
    outputs: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if match := _OUTPUT.match(line):
            current = outputs.setdefault(match[1], [])
        else:
            current.append(line)
    found = ((name, _summarize_failure(output)) for name, output in outputs.items())
    return {name: essence for name, essence in found if essence}


def _summarize_failure(output: Sequence[str]) -> str:
    """Return the last panic with its place, else the error that the test returned."""
    for index in range(len(output) - 1, -1, -1):
        if match := _PANIC.match(output[index]):
            said = _read_to_end(output[index + 1 :])
            return _shorten(f"{said or 'panicked'}, at {match[1]}")
        if output[index].startswith("Error: "):
            return _shorten(" ".join(_read_to_end(output[index:]).split()))
    return ""


def _read_to_end(lines: Sequence[str]) -> str:
    said: list[str] = []
    for line in lines:
        if line.startswith(_END) or (said and not line.strip()):
            break
        said.append(line.strip())
    return "; ".join(filter(None, said))


def _shorten(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 1]}…"
