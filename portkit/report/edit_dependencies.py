"""Find the findings that must be written together so that every commit compiles.

It is derived from what is written, never listed: a name that the tree does not have is defined
somewhere, a module needs its file, a manifest needs the crates and features that it names. Of
several places that define a name, a trait's word counts before those of its implementations, then
that of the same file, then that of the same crate, else all of them: to bring more than is needed
makes a commit larger, to bring less makes it fail.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Final

from portkit.rules import named_items, use_list
from portkit.rules.manifest_features import FEATURE
from portkit.syntax.value import Value

MANIFEST: Final = "Cargo.toml"
_ITEM: Final = re.compile(
    r"\b(?:fn|struct|enum|union|trait|type|mod|const|static|macro_rules!)\s+(?:mut\s+)?([A-Za-z_]\w*)"
)
_MEMBER: Final = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(\w+)", re.MULTILINE)
"""A variant or a field, at the beginning of its line."""
_MOD: Final = re.compile(r"\bmod\s+(\w+)")
_MODULE: Final = re.compile(r"\bmod\s+(\w+)\s*;")
_USED: Final = r"\b{0}\s*::|\buse\s[^;]*\b{0}\b"
"""A module's name where it means the module."""
_IMPORT: Final = re.compile(r"\b(pub\s+)?use\s+([^;]*);")
_ALIAS: Final = re.compile(r"\buse\s[^;]*?\bas\s+(\w+)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_KEY: Final = re.compile(r"^\s*([\w-]+)\s*=", re.MULTILINE)
"""A key of TOML at the beginning of its line."""
_SILENT: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|#!?\[[^\]]*\]', re.DOTALL)
"""Comments, strings and attributes: they name nothing that must be defined."""
_WORD: Final = re.compile(r"[\w-]+")
_OWN_FEATURE: Final = re.compile(r'"([\w-]+)"')
_OTHER_FEATURE: Final = re.compile(r'"([\w-]+)\??/([\w-]+)"')


class WrittenFinding(Value, frozen=True):
    """The texts that one finding writes.

    Attributes:
        path: the file that is edited, or the file or folder that is added.
        crate: the directory of the crate that holds it.
        files: the text of each file that is added, by its path; of a crate, that of its manifest.
        types: the enum of a variant, or the struct of a field.
        added_crate: the name of the crate that it adds, if it does.
    """

    code: str
    path: str
    symbol: str
    crate: str
    edits: tuple[str, ...]
    files: Mapping[str, str]
    types: tuple[str, ...] = ()
    added_crate: str = ""

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The written texts, each with the path of its file."""
        return (*((self.path, text) for text in self.edits), *self.files.items())

    @property
    def is_manifest(self) -> bool:
        """Whether a manifest is edited."""
        return self.path.rpartition("/")[2] == MANIFEST


def find_dependencies(
    written: Sequence[WrittenFinding], known: Set[str], variant: str, packages: Mapping[str, str]
) -> list[set[int]]:
    """Return for each of several findings which others it needs, by their numbers."""
    names = _Names(written, known, variant)
    found = [set(chain(names.find_providers(n), names.modules(n))) for n in range(len(written))]
    for one, other in chain(_link_crates(written), _link_manifests(written, packages)):
        found[one].add(other)
    for number, others in enumerate(found):
        others.discard(number)
    return found


def assign_phases(
    written: Sequence[WrittenFinding], needed: Sequence[Set[int]], own: Sequence[int]
) -> list[int]:
    """Return the phase that each finding is written in: with the first that needs it."""
    found = list(own)
    for number, w in enumerate(written):
        if (
            w.is_manifest
        ):  # an entry goes with what it names, where neither stands without the other
            joined = [own[n] for n in needed[number] if number in needed[n]]
            found[number] = min((n for n in joined), default=own[number])
    waiting = list(range(len(found)))
    while waiting:
        number = waiting.pop()
        for other in needed[number]:
            if found[other] > found[number]:
                found[other] = found[number]
                waiting.append(other)
    return found


class _Names:
    """The names that several findings define and use."""

    def __init__(self, written: Sequence[WrittenFinding], known: Set[str], variant: str) -> None:
        self.written, self.variant = written, variant
        self.plain = [
            "\n".join(_SILENT.sub(" ", text) for path, text in w.texts if path.endswith(".rs"))
            for w in written
        ]
        self.defined: dict[str, list[int]] = defaultdict(list)
        self.imported: dict[str, list[tuple[int, bool]]] = defaultdict(list)
        self.variants: dict[str, list[int]] = defaultdict(list)
        listed = (
            name for plain in self.plain for name in (*_MOD.findall(plain), *_ALIAS.findall(plain))
        )
        self.spaces = frozenset(listed)
        self.added = {path: n for n, w in enumerate(written) for path in w.files}
        for number in range(len(written)):
            for name in self._defined(number) - known:
                self.defined[name].append(number)
            for public, listed in _IMPORT.findall(self.plain[number]):
                for name in {*_NAME.findall(listed)} - known:
                    self.imported[name].append((number, bool(public)))
            if written[number].code == use_list.RULE.code:  # members of a list have no `use`
                for name in {*_NAME.findall(self.plain[number])} - known:
                    self.imported[name].append((number, False))
            if written[number].code == named_items.ENUM_VARIANT.code:
                for name in written[number].types:
                    self.variants[name].append(number)

    def _defined(self, number: int) -> set[str]:
        w, plain = self.written[number], self.plain[number]
        found = {*_ITEM.findall(plain), *_ALIAS.findall(plain)}
        if w.code in (named_items.ENUM_VARIANT.code, named_items.FIELD.code):
            found |= {*_MEMBER.findall(plain)} - {self.variant}
        if w.added_crate:
            found.add(_normalize_name(w.added_crate))
        if w.is_manifest:
            found |= {_normalize_name(key) for text in w.edits for key in _KEY.findall(text)}
        return found

    def find_providers(self, number: int) -> Iterator[int]:
        """Yield the findings that define or import a name that this finding uses."""
        w, plain = self.written[number], self.plain[number]
        for name in {*_NAME.findall(plain)}:
            defined = self.defined.get(name, ())
            if name in self.spaces and not re.search(_USED.format(name), plain):
                continue  # a field or a variable has the name of a module
            if number not in defined:
                yield from self._meant(number, defined)
            for other, public in self.imported.get(name, ()):
                if public or self.written[other].path == w.path:
                    yield other
        for owner in re.findall(rf"(\w+)\s*::\s*{self.variant}\b", plain):
            if owner in self.variants:
                yield from self._near(number, self.variants[owner])
            else:  # `Self`, or another name that the file gives it
                yield from self._near(number, [n for v in self.variants.values() for n in v])

    def _meant(self, number: int, candidates: Sequence[int]) -> Sequence[int]:
        traits = [n for n in candidates if self.written[n].symbol.startswith("trait ")]
        return traits or self._near(number, candidates)

    def _near(self, number: int, candidates: Sequence[int]) -> Sequence[int]:
        w = self.written[number]
        same_file = [n for n in candidates if self.written[n].path == w.path]
        return (
            same_file or [n for n in candidates if self.written[n].crate == w.crate] or candidates
        )

    def modules(self, number: int) -> Iterator[int]:
        """Yield the findings that add the file of a module that this finding declares."""
        for path, text in self.written[number].texts:
            if path.endswith(".rs"):
                folder, _, name = path.rpartition("/")
                for module in _MODULE.findall(_SILENT.sub(" ", text)):
                    for base in (folder, f"{folder}/{name.removesuffix('.rs')}"):
                        for file in (f"{base}/{module}.rs", f"{base}/{module}/mod.rs"):
                            if file in self.added:
                                yield self.added[file]


def _link_crates(written: Sequence[WrittenFinding]) -> Iterator[tuple[int, int]]:
    """Yield pairs of added crates and the manifests that name them.

    Cargo refuses a workspace with a member that is not there, and a crate in its folder that is
    none of its members (The Cargo Book, "Workspaces").
    """
    added = {w.added_crate: n for n, w in enumerate(written) if w.added_crate}
    for number, w in enumerate(written):
        texts = w.edits if w.is_manifest else tuple(w.files.values()) if w.added_crate else ()
        for name in {word for text in texts for word in _WORD.findall(text)} & added.keys():
            yield number, added[name]
            if w.path == MANIFEST:
                yield added[name], number
    # A target and its file: cargo finds the file by itself, and does not know what it requires.
    files = {(w.crate, _find_stem(path)): n for n, w in enumerate(written) for path in w.files}
    for number, w in enumerate(written):
        for text in w.edits if w.is_manifest else ():
            for name in re.findall(r'^\s*name\s*=\s*"([\w-]+)"', text, re.MULTILINE):
                if (other := files.get((w.crate, name))) is not None:
                    yield from ((number, other), (other, number))


def _link_manifests(
    written: Sequence[WrittenFinding], packages: Mapping[str, str]
) -> Iterator[tuple[int, int]]:
    """Yield pairs of manifests that need features or dependencies of each other.

    Cargo refuses a feature that names one which is not there (The Cargo Book, "Features").
    """
    features = defaultdict(list)
    for number, w in enumerate(written):
        if w.code == FEATURE.code:
            features[w.crate].append(number)
    everywhere = [n for numbers in features.values() for n in numbers]
    own = {
        (written[n].crate, name): n
        for numbers in features.values()
        for n in numbers
        for text in written[n].edits
        for name in _KEY.findall(text)
    }
    for number, w in enumerate(written):
        if not (w.is_manifest or w.added_crate):
            continue
        for text in w.edits or w.files.values():
            for package, _ in _OTHER_FEATURE.findall(text):
                for other in features.get(packages.get(package, ""), everywhere):
                    yield number, other
            for name in _OWN_FEATURE.findall(text):
                if (w.crate, name) in own:
                    yield number, own[w.crate, name]
            keys = {*_WORD.findall(text)}
            for other, entry in enumerate(written):
                if entry.code == FEATURE.code or entry.path not in (w.path, MANIFEST):
                    continue
                named = {key for said in entry.edits for key in _KEY.findall(said)}
                if named & keys and (entry.path != w.path or w.code == FEATURE.code):
                    yield number, other


def _normalize_name(package: str) -> str:
    return package.replace("-", "_")


def _find_stem(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name in ("main.rs", "mod.rs") else name.removesuffix(".rs")
