"""Names that code needs of the bindings, and those that the bindings lack.

The bindings have the shape of CUDA's, and of that what ports have needed. A copy that names more,
such as ``cudarc::cusolver`` or a function of cuBLAS's that has no counterpart there, would build
nowhere: a person sees what stands for it.

A path is followed from module to module, as far as files of the bindings say what they hold. What
lies below a type is looked for in modules called ``sys`` alone, where values of enums are written
out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

from portkit.context.port_job import PortJob, Site
from portkit.hipify.api_table import find_mapping
from portkit.port.hip_bindings import HOME, list_binding_files
from portkit.shipped import shipped
from portkit.syntax.imports import find_import_leaves, find_import_paths
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import SourceFile, field_text
from portkit.syntax.value import Value
from portkit.workspace.finding import Edit

_Asked = tuple[str, tuple[str, ...]]
_BELOW: Final = re.compile(r"\s*::\s*(\w+(?:\s*::\s*\w+)*)")
_OF_A_USE: Final = re.compile(r"\buse\s+([\w\s:,{]*)\Z")
_COMMENT: Final = re.compile(r"//[^\n]*")
_PUBLIC: Final = re.compile(r"\bpub\s+(?:use\b[^;]*|[^;{(=<:]*)")
# What a macro is given makes items, so that its words are names of theirs.
_MACRO: Final = re.compile(r"^\w+!\s*[({].*?^[)}]", re.MULTILINE | re.DOTALL)
_NO_NAMES: Final = frozenset({"self", "super", "crate"})
_SHOWN: Final = 3
"""How many names a finding about a file says."""


class BindingsApi(Value, frozen=True, dict=True):
    """The public names of the bindings, read as they are asked for."""

    home: Path  # the folder of their sources

    def lacks(self, path: tuple[str, ...]) -> int | None:
        """Return which part of a path is not there, none where nothing says that one is not."""
        module: tuple[str, ...] = ()
        for number, name in enumerate(path):
            if not _has_word(self._public(module), name):
                return number
            if self._file(module, name):
                module = (*module, name)
            elif not self._holds_module(module, name):
                values = path[number + 1 : number + 2] if module[-1:] == ("sys",) else ()
                lacking = any(not _has_word(self._public(module), value) for value in values)
                return number + 1 if lacking else None
        return None

    def is_module(self, path: tuple[str, ...]) -> bool:
        """Whether a path names a module."""
        *module, name = path or ("",)
        outer = tuple(module)
        return self._file(outer, name) != "" or self._holds_module(outer, name)

    def _holds_module(self, module: tuple[str, ...], name: str) -> bool:
        return f"pub mod {name} {{" in self._public(module)

    def _file(self, module: tuple[str, ...], name: str) -> str:
        """Return the file of a module in another one, or nothing; of the root without a name."""
        way = "/".join((*module, name or "lib"))
        return next((each for each in (f"{way}.rs", f"{way}/mod.rs") if each in self._files), "")

    @cached_property
    def _files(self) -> frozenset[str]:
        """Every file, by its path: to ask for each costs as much as to list all of them."""
        start = len(str(self.home)) + 1
        return frozenset(
            f"{folder}/{file}"[start:] for folder, _, files in os.walk(self.home) for file in files
        )

    @cached_property
    def _known(self) -> dict[tuple[str, ...], str]:
        return {}

    def _public(self, module: tuple[str, ...]) -> str:
        """Return what a module's file says of its public names; of ``sys`` it is the whole."""
        if module not in self._known:
            *outer, name = module or ("",)
            file = self._file(tuple(outer), name)
            text = (self.home / file).read_text(encoding="utf-8") if file else ""
            if name != "sys":
                text = _COMMENT.sub("", text)
                inner = re.findall(r"(?m)^pub mod \w+ \{", text)
                text = "\n".join([*inner, *_PUBLIC.findall(text), *_MACRO.findall(text)])
            self._known[module] = text
        return self._known[module]


def _has_word(text: str, name: str) -> bool:
    """Whether a text has a word, and not in a comment alone."""
    at = text.find(name)
    while at >= 0:
        end, line = at + len(name), text[text.rfind("\n", 0, at) + 1 : at]
        if not (_is_word(text[at - 1 : at]) or _is_word(text[end : end + 1]) or "//" in line):
            return True
        at = text.find(name, at + 1)
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


class MissingName(Value, frozen=True):
    """What the bindings do not have."""

    name: str  # as a copy says it
    reason: str  # why a copy cannot have it


def explain_missing_name(site: Site, edits: Iterable[Edit]) -> str:
    """Return why what is written from a site asks the bindings for what they lack, or nothing."""
    job = site.job
    if not site.source.path.endswith(".rs") or not _uses_cuda_bindings(job, site.source):
        return ""

    def imported() -> Mapping[str, tuple[str, ...]]:
        return _find_binding_imports(
            job, _find_named_paths(job, site.source.text(0, site.source.size))
        )

    found = _find_missing_names(job, site.code, site.memoize("of the bindings", make=imported))
    written = strip_comments_and_strings("\n".join(edit.text for edit in edits)) if found else ""
    return next((each.reason for each in found if _is_named_in(each, written)), "")


def explain_missing_in_file(job: PortJob, source: SourceFile, written: Callable[[], str]) -> str:
    """Return what the copy of a file asks the bindings for in vain, or an empty string."""
    if not _uses_cuda_bindings(job, source):
        return ""
    text = source.text(0, source.size)
    found = _find_missing_names(job, text, _find_binding_imports(job, _find_named_paths(job, text)))
    copy = strip_comments_and_strings(written()) if found else ""
    said = [*dict.fromkeys(each.reason for each in found if _is_named_in(each, copy))]
    more = f", and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    return "; ".join(said[:_SHOWN]) + more


def _is_named_in(lacking: MissingName, copy: str) -> bool:
    return re.search(rf"\b{lacking.name}\b", copy) is not None


def _uses_cuda_bindings(job: PortJob, source: SourceFile) -> bool:
    return job.vendor.bindings.encode() in source.data


def _find_missing_names(
    job: PortJob, text: str, imported: Mapping[str, tuple[str, ...]]
) -> list[MissingName]:
    """Return what a text asks the bindings for and they lack.

    Few texts ask for any such thing, and to leave out comments and strings takes most of the time.
    """
    if next(_find_lacking_names(job, text, imported), None) is None:
        return []
    return [*_find_lacking_names(job, strip_comments_and_strings(text), imported)]


def _find_binding_imports(job: PortJob, asked: Iterable[_Asked]) -> Mapping[str, tuple[str, ...]]:
    """Return what a file brings in from the source's bindings, by the names that it has there.

    A name of an item that they have says nothing more, and is left out.
    """
    return {
        name: path
        for name, path in asked
        if name
        and (
            _recall_missing_name(job, path) is not None
            or _load_bindings_api(job).is_module(_rename_path(job, path))
        )
    }


def _find_named_paths(job: PortJob, code: str) -> Iterator[_Asked]:
    """Yield each path of the source's bindings that code names, and the name that it brings in.

    What is brought in by ``*``, or named where it stands, has no name.
    """
    crate, at = job.vendor.bindings, -1
    while (at := code.find(crate, at + 1)) >= 0:
        if "//" in code[code.rfind("\n", 0, at) + 1 : at]:
            continue
        start = max(code.rfind(";", 0, at), code.rfind("}", 0, at)) + 1
        use = _OF_A_USE.search(code[start:at])
        if use is not None:
            end = code.find(";", at)
            yield from _find_imported_names(crate, use[1] + code[at:end])
            at = max(end, at)
        elif (below := _BELOW.match(code, at + len(crate))) and not _is_word(code[at - 1 : at]):
            yield "", tuple(re.findall(r"\w+", below[1]))


def _find_imported_names(crate: str, tree: str) -> Iterator[_Asked]:
    for use in SourceFile("use.rs", f"use {tree};".encode()).tree.root_node.children:
        for (leaf, _), path in zip(find_import_leaves(use), find_import_paths(use), strict=True):
            parts = re.findall(r"\w+", path.partition(" as ")[0])
            if crate not in parts:
                continue
            below = tuple(parts[parts.index(crate) + 1 :])
            below = below[:-1] if below[-1:] == ("self",) else below
            named = leaf.type != "use_wildcard" and below
            yield field_text(leaf, "alias") or (below[-1] if named else ""), below


def _find_lacking_names(
    job: PortJob, code: str, imported: Mapping[str, tuple[str, ...]]
) -> Iterator[MissingName]:
    """Yield what code asks the bindings for and they lack."""
    asked = [path for _, path in _find_named_paths(job, code)]
    for name, path in imported.items():
        for found in re.finditer(rf"\b{name}\b", code) if name in code else ():
            if not code[max(found.start() - 2, 0) : found.start()].endswith((".", "::")):
                below = _BELOW.match(code, found.end())
                asked.append((*path, *(re.findall(r"\w+", below[1]) if below else ())))
    for path in dict.fromkeys(asked):
        if (known := _recall_missing_name(job, path)) is not None:
            yield known
    for method, reason in job.vendor.methods.items():
        if f".{method}(" in code:
            yield MissingName(method, f"it calls {method}: {reason}")


def _load_bindings_api(job: PortJob) -> BindingsApi:
    return job.memoize("offered", make=lambda: BindingsApi(shipped(HOME) / "src"))


def _recall_missing_name(job: PortJob, path: tuple[str, ...]) -> MissingName | None:
    return job.memoize("lacked", path, make=lambda: _find_missing_name(job, path))


def _rename_path(job: PortJob, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a path of the source's bindings becomes in the written ones, if it does."""
    renamed = re.findall(r"\w+", job.rename("::".join((job.vendor.bindings, *path))))
    own = renamed[:1] == [job.vendor.facade.module]  # else the profile has another crate for it
    return tuple(renamed[1:]) if own and _NO_NAMES.isdisjoint(path) else ()


def _find_missing_name(job: PortJob, path: tuple[str, ...]) -> MissingName | None:
    """Return what the bindings lack of what a path of the source's bindings becomes."""
    below = _rename_path(job, path)
    number = _load_bindings_api(job).lacks(below)
    if number is None:
        return None
    own, name = path[number - len(below)], below[number]
    if reason := job.vendor.unported.get(own):
        return MissingName(name, reason)
    table = find_mapping(own)
    hip = table.hip if table is not None and table.hip != name else ""
    where = "::".join(below[:number])
    return MissingName(
        name,
        f"it asks {job.vendor.bindings} for {own}"
        + (f", which is {hip} on AMD's platform," if hip else "")
        + f" and the bindings have no {name}"
        + (f" in {where}" if where else ""),
    )


_ASKED: Final = re.compile(r"\bsys\s*::\s*(?:\w+\s*::\s*)*((?:cu|CU)[A-Z_]\w*)")


def find_missing_symbol(site: Site, text: str) -> str:
    """Return a name of the driver's in a text that the bindings have no counterpart of, if any."""
    if "sys" not in text or not site.source.path.endswith(".rs"):
        return ""
    job = site.job
    words = job.vendor.names.words
    asked = [name for name in _ASKED.findall(strip_comments_and_strings(text)) if name not in words]
    if not asked:  # what the name table has was written with the bindings
        return ""

    def known() -> frozenset[str]:
        texts = (
            make()
            for name, make in list_binding_files(job.vendor.facade).items()
            if name.endswith(".rs")
        )
        return frozenset(word for each in texts for word in re.findall(r"\w+", each))

    names = job.memoize("bindings", make=known)
    return next((name for name in asked if job.rename(name) not in names), "")
