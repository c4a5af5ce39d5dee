"""A reader of the YAML that our workflows are written in, and of nothing else.

Mappings and sequences in block style, flow sequences of scalars, plain and double-quoted scalars,
literal blocks, comments. Whatever else it meets it refuses: a workflow that it reads says what it
seems to say. (YAML 1.2.2, chapters 6 to 8; the lint of the whole language is ast-grep's.)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

Value = "dict[str, Value] | list[Value] | str | int | float | bool | None"

_KEY: Final = re.compile(r"([A-Za-z_][\w .-]*):(?: +(.*))?$")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?$")
_WORDS: Final = {"true": True, "false": False, "null": None, "": None}


class NotReadError(ValueError):
    """The text is not in the subset; the message names the line."""


@dataclass(frozen=True)
class _Line:
    number: int
    indent: int
    text: str


def read(text: str) -> object:
    """Return what a text stands for.

    Raises:
        NotReadError: it is not in the subset.
    """
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        if "\t" in raw:
            raise NotReadError(f"line {number}: a tabulator")
        stripped = raw.strip()
        lines.append(_Line(number, len(raw) - len(raw.lstrip()), stripped))
    reader = _Reader(lines, text.splitlines())
    value = reader.block(0)
    reader.skip()
    if reader.at < len(lines):
        raise NotReadError(f"line {lines[reader.at].number}: it belongs to nothing")
    return value


class _Reader:
    def __init__(self, lines: list[_Line], raw: list[str]) -> None:
        self.lines, self.raw, self.at = lines, raw, 0

    def skip(self) -> None:
        while self.at < len(self.lines) and self.lines[self.at].text[:1] in ("", "#"):
            self.at += 1

    def next(self) -> _Line | None:
        self.skip()
        return self.lines[self.at] if self.at < len(self.lines) else None

    def block(self, indent: int) -> object:
        """Read the mapping or the sequence that begins here, at exactly this indent."""
        line = self.next()
        if line is None or line.indent != indent:
            raise NotReadError(f"line {line.number if line else 'at the end'}: no block")
        return self.sequence(indent) if line.text.startswith("- ") else self.mapping(indent)

    def sequence(self, indent: int) -> list[object]:
        found: list[object] = []
        while (line := self.next()) is not None and line.indent == indent:
            if not line.text.startswith("- "):
                break
            inner = line.text[2:].lstrip()
            deeper = indent + len(line.text) - len(inner)
            if _KEY.match(inner):
                # "- key: value" begins a mapping whose indent is that of the key.
                self.lines[self.at] = _Line(line.number, deeper, inner)
                found.append(self.mapping(deeper))
            else:
                self.at += 1
                found.append(_scalar(inner, line.number))
        return found

    def mapping(self, indent: int) -> dict[str, object]:
        found: dict[str, object] = {}
        while (line := self.next()) is not None and line.indent == indent:
            match = _KEY.match(line.text)
            if match is None:
                raise NotReadError(f"line {line.number}: no key")
            key, rest = match[1], (match[2] or "").strip()
            if key in found:
                raise NotReadError(f"line {line.number}: {key} stands twice")
            self.at += 1
            found[key] = self.value(rest, indent, line.number)
        if line is not None and line.indent > indent:
            raise NotReadError(f"line {line.number}: it is set too deep")
        return found

    def value(self, rest: str, indent: int, number: int) -> object:
        if rest == "|":
            return self.literal(indent)
        if rest and not rest.startswith("#"):
            return _scalar(rest, number)
        line = self.next()
        if line is not None and line.indent > indent:
            return self.block(line.indent)
        return None

    def literal(self, indent: int) -> str:
        taken: list[str] = []
        while self.at < len(self.lines):
            raw, line = self.raw[self.at], self.lines[self.at]
            if line.text and line.indent <= indent:
                break
            taken.append(raw)
            self.at += 1
        depth = min((len(r) - len(r.lstrip()) for r in taken if r.strip()), default=0)
        return "\n".join(raw[depth:] for raw in taken).rstrip("\n") + "\n"


def _scalar(text: str, number: int) -> object:
    if text.startswith("["):
        if not text.endswith("]") or "[" in text[1:] or '"' in text:
            raise NotReadError(f"line {number}: a flow sequence that is not plain")
        return [_scalar(part.strip(), number) for part in text[1:-1].split(",") if part.strip()]
    if text.startswith('"'):
        return str(json.loads(text))
    if text[0] in "'{}&*!>%@`|?" or " #" in text or ": " in text or text.startswith("- "):
        raise NotReadError(f"line {number}: {text}")
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.match(text):
        return float(text) if "." in text else int(text)
    return text
