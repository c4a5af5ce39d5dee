"""Which files are copied whole, and which have no counterpart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import PurePosixPath

from tree_sitter import Node

from portkit.context.port_job import Gating, PortJob
from portkit.port.manifest_targets import find_target
from portkit.syntax.cfg import parse_cfg, parse_conditions
from portkit.syntax.items import find_public_names
from portkit.syntax.module_files import find_declarations, find_module_files, read_path
from portkit.syntax.source_file import field_text, node_text
from portkit.syntax.value import Value

_DECLARATION = re.compile(rb"\bmod\b")
_MODULE = re.compile(rb"mod \w+;")
_BARE_MODULE = re.compile(rb"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?mod (\w+);", re.MULTILINE)
# An attribute ends before the declaration of a module.
_CONDITIONAL_MODULE = re.compile(rb"\]\s*+(?://[^\n]*\s*+)*+(?:pub(?:\([^)]*\))?\s+)?mod \w+;")


def may_declare(data: bytes) -> bool:
    """Whether a file may declare modules under conditions."""
    # The first pattern is ten times as fast, and few files hold it.
    return bool(_MODULE.search(data) and _CONDITIONAL_MODULE.search(data))


class ModuleFate(Value, frozen=True):
    """What the declaration of a module says of its file."""

    copy: str = ""  # the path of its copy; empty for a file that has none
    unported: str = ""  # the feature without a counterpart that it stands under, or empty


def list_declared_files(job: PortJob, path: str) -> Mapping[str, ModuleFate]:
    """Return the files whose modules a file declares under a condition that names a backend.

    Returns:
        The modules by the path of their file: ``#[cfg(feature = "cuda")] mod fast_mmq;`` names
        ``fast_mmq.rs``.
    """
    source = job.workspace.sources[path]
    found: dict[str, ModuleFate] = {}
    if not may_declare(source.data):
        return found
    declarations = [match.start() for match in _DECLARATION.finditer(source.data)]
    for node, attributes, _ in find_declarations(source.tree_around(declarations).root_node):
        target = find_declared_file(job, path, node)
        if target is None:
            continue
        for _, cfg in parse_conditions(attributes):
            if unported := job.find_unported_feature(cfg, path):
                found[target] = ModuleFate(unported=unported)
            elif job.cfg_requires_cuda(cfg):
                copy = "" if _lacks_name(job, node, target) else target
                found.setdefault(target, ModuleFate(copy and rename_path(job, copy, stem=True)))
    return found


def _lacks_name(job: PortJob, item: Node, path: str) -> bool:
    """Whether a module's copy would need a name: only the names in its file say that it is CUDA's.

    ``#[path]`` lets the files of both vendors be one module if they offer the same names.
    """
    name = field_text(item, "name")
    if not read_path(item) or job.rename(name) != name:
        return False
    offered = find_public_names(job.workspace.sources[path].tree.root_node)
    return any(job.rename(each) != each for each in offered)


def find_copied_files(
    job: PortJob, mentions: Iterable[str], modules: Iterable[Mapping[str, ModuleFate]]
) -> Mapping[str, str]:
    """Return the files that are copied whole, with the path of the copy.

    A file is the CUDA backend's if its path says so (``cuda_backend/mod.rs``, ``dummy_cuda.rs``),
    or if the module that it holds is declared under the feature. What stands under a feature
    without a counterpart is left out.
    """
    found = {
        path: rename_path(job, path)
        for path in mentions
        if path.endswith(".rs")
        and not job.codebase.kept(path)
        and job.codebase.find_no_feature_entry(path) is None
    }
    for names in modules:
        found.update(
            (path, each.copy)
            for path, each in names.items()
            if found.get(path) != "" and not job.codebase.kept(path)
        )
    return {
        path: copy
        for path, copy in sorted(found.items())
        if copy not in ("", path)
        and not find_unported_feature_of_file(job, path)
        and not (job.gating is Gating.CFG and f"dummy_{job.vendor.source}" in path)
    }


def find_inner_files(job: PortJob, files: Iterable[str]) -> Mapping[str, str]:
    """Map each file of a module inside some files, however deep, to the file that holds it."""
    found: dict[str, str] = {}
    pending = [(path, path) for path in sorted(files)]
    for path, outer in pending:
        for _, below in _find_declared_modules(job, path):
            if below not in found and below != outer:
                found[below] = outer
                pending.append((below, outer))
    return found


def add_inner_modules(
    job: PortJob, copied: Mapping[str, str], unported: Set[str]
) -> Mapping[str, str]:
    """Return the files that are copied whole, with those of the modules inside them.

    A copy declares the modules that its file does, and they are looked for beside the copy.
    """
    found = dict(copied)
    pending = [*found.items()]
    for path, copy in pending:
        for name, below in _find_declared_modules(job, path):
            where = _find_module_folder(copy) / below.removeprefix(f"{_find_module_folder(path)}/")
            own = where.with_name(where.name.replace(name, job.vendor.names.word(name), 1))
            if where.name == "mod.rs":
                own = where.parent.with_name(job.vendor.names.word(name)) / where.name
            known = below in found or below in unported or job.codebase.kept(below)
            if not known and str(own) != below:
                found[below] = str(own)
                pending.append((below, str(own)))
    return dict(sorted(found.items()))


def _find_declared_modules(job: PortJob, path: str) -> Iterator[tuple[str, str]]:
    """Yield the modules that a file declares without a body, and their files in the tree."""
    text = _BARE_MODULE.finditer(job.workspace.sources[path].data)
    for name in sorted({match[1].decode() for match in text}):
        if (below := find_module_file(job, path, name)) is not None:
            yield name, below


def find_unported_feature_of_file(job: PortJob, path: str) -> str:
    """Return the unported feature that a file as a whole depends on, or an empty string."""
    if path in job.tree_facts.unported:
        return job.tree_facts.unported[path]
    source = job.workspace.sources[path]
    stem = PurePosixPath(path).stem
    for feature in sorted(job.vendor.unported):
        if feature.replace("-", "_") == stem:
            return feature
    folders = PurePosixPath(path).parent.parts
    of_folder = next((word for word in job.unported_words if word in folders), "")
    if of_folder:
        return of_folder
    # They stand at the beginning, which is part of every tree.
    beginning = source.tree_around(()).root_node.children if b"#![cfg" in source.data else ()
    for node in beginning:
        if node.type == "inner_attribute_item":
            cfg = parse_cfg(node_text(node))
            if cfg is not None and (feature := job.find_unported_feature(cfg, path)):
                return feature
        elif node.type not in ("line_comment", "block_comment"):
            break
    target = find_target(job, path)
    features = target.features if target is not None else ()
    return next((feature for feature in features if feature in job.vendor.unported), "")


def rename_path(job: PortJob, path: str, *, stem: bool = False) -> str:
    """Return the path that a file has on the vendor's side; its own where no part names CUDA's."""
    crate = job.workspace.crate_of(path)
    prefix = "" if crate is None or crate.directory == "." else crate.directory + "/"
    inside = path.removeprefix(prefix)
    parts = inside.split("/")
    renamed = []
    for part in parts:
        name, dot, ending = part.partition(".")
        renamed.append(job.vendor.names.word(name) + dot + ending)
    if not stem and not job.mentions_cuda(inside):
        return path
    return prefix + "/".join(renamed)


def find_declared_file(job: PortJob, path: str, item: Node) -> str | None:
    """Return the file of a module that a file declares, if it is in the tree."""
    found = (*find_module_files(item, path), *find_module_files(item, path, is_owner=True))
    return next((each for each in found if each in job.workspace.sources), None)


def find_module_file(job: PortJob, path: str, module: str) -> str | None:
    """Return the file that ``mod module;`` in a file names, if it is in the tree.

    Source: the Rust reference, chapter "Modules", section "Module source filenames".
    """
    below = _find_module_folder(path)
    for candidate in (below / f"{module}.rs", below / module / "mod.rs"):
        if str(candidate) in job.workspace.sources:
            return str(candidate)
    return None


def _find_module_folder(path: str) -> PurePosixPath:
    """Return the folder in which the modules are looked for that a file declares."""
    pure = PurePosixPath(path)
    return pure.parent if pure.stem in ("mod", "lib", "main") else pure.parent / pure.stem


def is_own_module(job: PortJob, path: str, name: Node) -> bool:
    """Whether an identifier in a path is a module of the tree that gets no copy."""
    # Few codebases have such files, and to follow a path takes long.
    segments = _read_path(name) if job.codebase.plain else []
    file = _find_module_file(job, path, segments) if segments else None
    return (
        file is not None
        and file not in job.tree_facts.copied_files
        and job.codebase.find_no_feature_entry(file) is not None
    )


def _read_path(name: Node) -> list[str]:
    """Return the segments of a path up to an identifier in it; none where it is in no path."""
    parent = name.parent
    if parent is None or parent.type not in ("scoped_identifier", "scoped_use_list"):
        return []
    before, up = parent, name
    while up.parent is not None and up.parent.type in ("scoped_identifier", "scoped_use_list"):
        path = up.parent.child_by_field_name("path")
        if path is None or path.id != up.id:
            before = up.parent
            break
        before = up = up.parent
        if path.id == name.id:
            break
    text = node_text(before.child_by_field_name("path")) if _names(before, name) else ""
    return [*filter(None, text.split("::")), node_text(name)]


def _names(path: Node, name: Node) -> bool:
    own = path.child_by_field_name("name")
    return own is not None and own.id == name.id


def _find_module_file(job: PortJob, path: str, segments: list[str]) -> str | None:
    """Return the file of the module that a path names, if it is one of the tree."""
    first, *rest = segments
    crate = job.workspace.crate_of(path)
    libraries = {c.name.replace("-", "_"): c for c in job.workspace.crates}
    if first == "crate" and crate is not None:
        at: str | None = _find_root(job, crate.directory)
    elif first == "super":
        at = _find_declaring_file(job, path)
    elif first == "self":
        at = path
    elif first in libraries:
        at = _find_root(job, libraries[first].directory)
    else:
        at = find_module_file(job, path, first)
    for segment in rest:
        if at is None:
            return None
        at = (
            _find_declaring_file(job, at)
            if segment == "super"
            else find_module_file(job, at, segment)
        )
    return at


def _find_root(job: PortJob, directory: str) -> str | None:
    below = "" if directory == "." else f"{directory}/"
    roots = (f"{below}src/lib.rs", f"{below}src/main.rs")
    return next((root for root in roots if root in job.workspace.sources), None)


def _find_declaring_file(job: PortJob, path: str) -> str | None:
    """Return the file that declares the module of a file."""
    pure = PurePosixPath(path)
    folder = pure.parent.parent if pure.stem == "mod" else pure.parent
    below = (folder / "mod.rs", folder.with_suffix(".rs"), folder / "lib.rs", folder / "main.rs")
    return next((str(each) for each in below if str(each) in job.workspace.sources), None)
