"""``portkit.toml``: what a codebase's maintainers have decided about its port.

The file lies beside the workspace's root manifest and is not part of what is scanned.
``config.schema.json`` beside this module describes it for editors. A key that is unknown, or a
value that cannot be, is an error that names the line: a decision that is silently not taken is
worse than none.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from portkit.errors import ConfigError
from portkit.profile.profile import Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tree_sitter import Node

    from portkit.lang.source import Source

NAME: Final = "portkit.toml"
GATINGS: Final = ("dummy", "cfg")
ARCH: Final = r"gfx([6-9][0-9a-f]{2}|1[0-3][0-9a-f]{2}|(9|1[0-3])(-[0-9])?-generic)"
"""What LLVM calls AMD's processors (https://llvm.org/docs/AMDGPUUsage.html#processors)."""
VERDICTS: Final = ("widen", "keep", "peer")
BINDINGS: Final = ("path", "git", "branch", "tag", "rev", "version")
"""Where a crate may come from, in the words of Cargo's dependencies."""

T = TypeVar("T")
Key = tuple[str | int, ...]
"""Where a value stands: the names of tables and keys, and the numbers, from 0, in arrays."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Places that are not ported, on purpose.

    Attributes:
        codes: beginnings of codes; empty for any.
        paths: patterns over paths relative to the root; empty for any.
        reason: why, for the reader of the report.
        line: where ``portkit.toml`` says so.
    """

    codes: tuple[str, ...]
    paths: tuple[str, ...]
    reason: str
    line: int

    def applies(self, code: str, path: str) -> bool:
        """Whether a place is one of them."""
        return (not self.codes or code.startswith(self.codes)) and (
            not self.paths or any(fnmatchcase(path, pattern) for pattern in self.paths)
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``portkit.toml`` says; each has a value that stands for nothing said.

    Attributes:
        profile: the codebase: a name that portkit knows, or a directory relative to the root.
        gating: ``dummy`` or ``cfg``.
        archs: the architectures that kernels are compiled for, such as ``gfx1100``.
        skips: places that are not ported.
        decisions: about conditions on the device; they count before the profile's.
        profile_line: the line that names the profile.
        bindings: where the tree takes the HIP bindings from; a copy in the tree where empty.
        bindings_line: the line that says so.
    """

    profile: str = ""
    gating: str = ""
    archs: tuple[str, ...] = ()
    skips: tuple[Skip, ...] = ()
    decisions: tuple[Condition, ...] = ()
    profile_line: int = 0
    bindings: Mapping[str, str] = field(default_factory=dict)
    bindings_line: int = 0


def settings(source: Source | None) -> Settings:
    """Return the settings in a file, or those that say nothing where there is no file.

    Raises:
        ConfigError: the file is malformed.
    """
    if source is None:
        return Settings()
    try:
        data = tomllib.loads(source.data.decode())
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{NAME} is not valid TOML ({error}): mend it") from None
    return _Reader(source).settings(data)


def read(directory: Path) -> Settings:
    """Return the settings of the tree at a path.

    Raises:
        ConfigError: the file is malformed.
    """
    from portkit.lang.source import Source

    file = directory / NAME
    return settings(Source(NAME, file.read_bytes()) if file.is_file() else None)


class _Reader:
    """Checks values, and knows the lines that they stand on."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def settings(self, data: Mapping[str, Any]) -> Settings:
        self._only(data, (), ("profile", "gating", "archs", "bindings", "skip", "decision"))
        gating = self._text(data, (), "gating")
        if gating and gating not in GATINGS:
            self._fail(("gating",), f"gating is {gating!r}: write {_either(GATINGS)}")
        return Settings(
            profile=self._text(data, (), "profile"),
            gating=gating,
            archs=self._texts(data, (), "archs", ARCH, "an architecture as gfx1100"),
            skips=tuple(self._each(data, "skip", self._skip)),
            decisions=tuple(self._each(data, "decision", self._decision)),
            profile_line=self._line(("profile",)) if "profile" in data else 0,
            bindings=self._bindings(data["bindings"]) if "bindings" in data else {},
            bindings_line=self._line(("bindings",)) if "bindings" in data else 0,
        )

    def _bindings(self, table: object) -> Mapping[str, str]:
        key = ("bindings",)
        if not isinstance(table, dict):
            self._fail(key, 'bindings is not a table: write bindings = { git = "..." }')
        self._only(table, key, BINDINGS)
        source = {name: self._text(table, key, name) for name in BINDINGS if name in table}
        if len({"path", "git", "version"} & source.keys()) != 1:
            self._fail(key, "bindings come from one place: write one of path, git and version")
        refs = {"branch", "tag", "rev"} & source.keys()
        if len(refs) > ("git" in source):
            self._fail(key, "one of branch, tag and rev may stand beside git: leave out the others")
        return source

    def _skip(self, entry: Mapping[str, Any], key: Key) -> Skip:
        self._only(entry, key, ("codes", "paths", "reason"))
        codes = self._texts(entry, key, "codes", r"P[KH]\d{0,3}", "a code, or how it begins: PK301")
        paths = self._texts(entry, key, "paths")
        if not codes and not paths:
            self._fail(key, "a skip names neither codes nor paths: name what is skipped")
        return Skip(codes, paths, self._needed(entry, key, "reason"), self._line(key))

    def _decision(self, entry: Mapping[str, Any], key: Key) -> Condition:
        self._only(entry, key, ("when", "path", "verdict", "reason"))
        when = self._needed(entry, key, "when")
        try:
            re.compile(when)
        except re.error as error:
            self._fail((*key, "when"), f"{when!r} is not a regular expression ({error})")
        verdict = self._needed(entry, key, "verdict")
        if verdict not in VERDICTS:
            self._fail((*key, "verdict"), f"verdict is {verdict!r}: write {_either(VERDICTS)}")
        path = self._text(entry, key, "path")
        return Condition(when, path, verdict, self._needed(entry, key, "reason"))

    def _only(self, table: Mapping[str, Any], key: Key, known: Iterable[str]) -> None:
        for name in table:
            if name not in known:
                self._fail((*key, name), f"there is no key {name!r} here: known are {_all(known)}")

    def _each(
        self, data: Mapping[str, Any], name: str, read: Callable[[Mapping[str, Any], Key], T]
    ) -> Iterable[T]:
        entries = data.get(name, [])
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            self._fail((name,), f"{name} is not a list of tables: write [[{name}]]")
        return (read(entry, (name, number)) for number, entry in enumerate(entries))

    def _text(self, table: Mapping[str, Any], key: Key, name: str) -> str:
        value = table.get(name, "")
        if not isinstance(value, str) or (name in table and not value.strip()):
            self._fail((*key, name), f"{name} is not a text: write it between quotes")
        return str(value)

    def _needed(self, table: Mapping[str, Any], key: Key, name: str) -> str:
        if name not in table:
            self._fail(key, f"{name} is missing")
        return self._text(table, key, name)

    def _texts(
        self, table: Mapping[str, Any], key: Key, name: str, form: str = ".+", what: str = "a text"
    ) -> tuple[str, ...]:
        values = table.get(name, [])
        if not isinstance(values, list) or (name in table and not values):
            self._fail((*key, name), f"{name} is not a list: write {name} = [...]")
        for value in values:
            if not isinstance(value, str) or not re.fullmatch(form, value):
                self._fail((*key, name), f"{value!r} is not {what}")
        return tuple(values)

    def _fail(self, key: Key, sentence: str) -> NoReturn:
        raise ConfigError(f"{NAME}:{self._line(key)}: {sentence}")

    def _line(self, key: Key) -> int:
        """Return the line, from 1, of the innermost part of a key that the file spells out."""
        found, line = 0, 1
        for names, node in _keys(self.source.tree.root_node):
            if len(names) > found and names == key[: len(names)]:
                found, line = len(names), node.start_point.row + 1
        return line


def _keys(root: Node) -> Iterable[tuple[Key, Node]]:
    """Yield every key of a TOML file with the node that spells it."""
    counts: dict[str, int] = {}
    for node in root.named_children:
        prefix: Key = ()
        pairs = [node]
        if node.type in ("table", "table_array_element"):
            head, *pairs = [child for child in node.named_children if child.type != "comment"]
            name = _spelled(head)
            if node.type == "table_array_element":
                prefix = (name, counts.setdefault(name, 0))
                counts[name] += 1
            else:
                prefix = (name,)
            yield prefix[:1], node
            yield prefix, node
        for pair in pairs:
            if pair.type == "pair":
                yield (*prefix, _spelled(pair.named_children[0])), pair


def _spelled(node: Node) -> str:
    text = node.text.decode() if node.text is not None else ""
    return text.strip("\"'")


def _all(words: Iterable[str]) -> str:
    return ", ".join(words)


def _either(words: Iterable[str]) -> str:
    *most, last = (repr(word) for word in words)
    return f"{', '.join(most)} or {last}"
