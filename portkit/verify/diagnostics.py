"""Parse the diagnostics of compilers, each with the rule that wrote its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any, Final, NamedTuple

# "affine.hip:12:5: error: use of undeclared identifier 'x'", as clang and gcc write it
# (Clang User's Manual, "Formatting of Diagnostics").
_CLANG: Final = re.compile(
    r"(?P<path>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<level>fatal error|error|warning): (?P<message>.*)"
)
# What rustc says at the end of each crate, about how many there were.
_COUNT: Final = re.compile(r"aborting due to|\d+ warnings? emitted")


class LineRange(NamedTuple):
    """Lines of a file that a complaint names, from 1.

    Attributes:
        path: the file, relative to the root, with ``/``.
        primary: whether the complaint is about them, rather than says more by them.
    """

    path: str
    first: int
    last: int
    primary: bool


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One complaint of a compiler.

    Attributes:
        level: ``error`` or ``warning``.
        code: the compiler's, such as ``E0004`` or ``clippy::needless_return``; may be empty.
        path: the file, relative to the root, with ``/``; empty for none of the tree's.
        rule: the code of the rule that wrote the line; empty where no rule did.
        site: the identity of the finding, as reports of ``scan`` have it.
        origin: the place in the tree before the port that the line was written for.
    """

    level: str
    code: str
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    rule: str = ""
    site: str = ""
    origin: str = ""

    @property
    def text_without_position(self) -> str:
        """The level, the code and the message; diagnostics of two trees are compared by it."""
        return f"{self.level}[{self.code}]: {self.message}" if self.code else self.message

    def __str__(self) -> str:
        code = f"[{self.code}]" if self.code else ""
        text = f"{self.level}{code}: {self.message}"
        if self.path:
            text += f" ({self.path}:{self.line}:{self.column})"
        if self.site:
            text += f", written by {self.site} for {self.origin}"
        elif self.origin:
            text += f", as in {self.origin}"
        return text


def parse_cargo(output: Iterable[str], root: Path) -> Mapping[Diagnostic, tuple[LineRange, ...]]:
    """Return the diagnostics of rustc and clippy in ``cargo --message-format=json``.

    Each complaint comes with all the lines of the tree that it names.

    A library is compiled once for itself and once for its tests, and would complain twice: each
    complaint comes once. Format: The Cargo Book, "External tools", and the rustc book, "JSON
    Output".
    """
    found: dict[Diagnostic, tuple[LineRange, ...]] = {}
    for message in parse_messages(output):
        if message.get("reason") != "compiler-message":
            continue
        said = message["message"]
        if said["level"] in ("error", "warning", "error: internal compiler error"):
            diagnostic = _parse_rustc(said, root)
            if not _COUNT.match(diagnostic.message):
                found.setdefault(diagnostic, tuple(_list_named_lines(said, root)))
    return found


def parse_messages(output: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON messages among cargo's lines; tests and build scripts may write others."""
    for line in output:
        if line.startswith("{"):
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and "reason" in message:
                yield message


def render_cargo_line(line: str) -> str:
    """Return the part of a line of cargo's that a person needs; most JSON messages have none."""
    for message in parse_messages([line]):
        if message["reason"] != "compiler-message":
            return ""
        return str(message["message"].get("rendered") or message["message"]["message"]).rstrip()
    return line


def parse_clang(text: str, below: str = "") -> tuple[Diagnostic, ...]:
    """Return the diagnostics of clang, hipcc or gcc.

    Args:
        text: what they wrote.
        below: the folder that they ran in, relative to the root, with ``/``; where it is given, a
            path that leads elsewhere, such as that of a system header, counts as none.
    """
    found: dict[Diagnostic, None] = {}
    for match in _CLANG.finditer(text):
        path = PurePosixPath(normpath(PurePosixPath(below, match["path"])))
        inside = not path.is_absolute() and ".." not in path.parts
        level = match["level"].removeprefix("fatal ")
        place = (path.as_posix(), int(match["line"]), int(match["column"] or 0))
        found[Diagnostic(level, "", match["message"].strip(), *(place if inside else ()))] = None
    return tuple(found)


def _parse_rustc(said: Mapping[str, Any], root: Path) -> Diagnostic:
    primary = [span for span in said.get("spans", ()) if span.get("is_primary")]
    path, line, column = _locate_span(primary[0], root) if primary else ("", 0, 0)
    return Diagnostic(
        said["level"].split(":")[0],
        (said.get("code") or {}).get("code", ""),
        " ".join(said["message"].split()),
        path,
        line,
        column,
    )


def _locate_span(span: Mapping[str, Any], root: Path) -> tuple[str, int, int]:
    """Return the position of a span in the tree; for a span inside a macro, that of its call."""
    for each in _expand_span(span):
        if path := _find_relative_path(each, root):
            return path, each["line_start"], each["column_start"]
    return "", 0, 0


def _list_named_lines(said: Mapping[str, Any], root: Path) -> Iterator[LineRange]:
    notes = (span for note in said.get("children", ()) for span in note.get("spans", ()))
    for number, span in enumerate((*said.get("spans", ()), *notes)):
        about = number < len(said.get("spans", ())) and bool(span.get("is_primary"))
        for each in _expand_span(span):
            if path := _find_relative_path(each, root):
                first = each["line_start"]
                yield LineRange(path, first, each.get("line_end", first), about)


def _expand_span(span: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a span, and where it is inside of a macro, the calls from inside outwards."""
    yield span
    while span.get("expansion"):
        span = span["expansion"]["span"]
        yield span


def _find_relative_path(span: Mapping[str, Any], root: Path) -> str:
    """Return the file of a span, relative to the root; empty where it is none of the tree's."""
    path = Path(span["file_name"])
    if path.is_absolute() and path.is_relative_to(root):
        path = path.relative_to(root)
    inside = not path.is_absolute() and ".." not in path.parts and (root / path).is_file()
    return path.as_posix() if inside else ""
