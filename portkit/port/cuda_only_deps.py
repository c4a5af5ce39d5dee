"""CUDA-only dependencies, features and modules: code that needs them is not ported.

An optional dependency that only features of the source vendor's turn on, and that leads to a crate
which binds or compiles CUDA, has nothing to offer without CUDA. A copy of code that names such a
crate would build nowhere. The same holds of a module under the feature that names one, whose copy
has no name yet, or that the profile keeps, and of what is brought in from there.

Modules are told by the last segment before what is taken from them, and items by their names: what
is left out by that is said, and nothing wrong is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import PortJob, Site
from portkit.port.whole_files import find_declared_file
from portkit.syntax.cfg import parse_conditions
from portkit.syntax.features import enables_any, enables_dependency
from portkit.syntax.imports import find_import_leaves, find_import_paths, find_imported_names
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import SourceFile, field_text
from portkit.syntax.value import Value
from portkit.workspace.cargo_resolution import find_declared_dependencies
from portkit.workspace.cargo_workspace import Crate
from portkit.workspace.lock_file import find_dependency_path

_USE: Final = re.compile(r"\b(pub\b(?:\([^)]*\))?\s+)?use\s+([^;{}]*(?:\{[^;]*\})?[^;{}]*);")


class CudaOnlyReason(Value, frozen=True):
    """Why something exists for the source vendor alone."""

    reason: str  # half a sentence
    # whether nothing of it can be ported; otherwise a person can give it a counterpart
    settled: bool


class _CudaOnlyNames(Value, frozen=True):
    """The names in a crate of what exists for the source vendor alone."""

    paths: Mapping[str, CudaOnlyReason]
    items: Mapping[str, CudaOnlyReason]

    def may_stand(self, data: bytes) -> bool:
        """Whether a source holds one of them, as few do."""
        return any(name.encode() in data for names in (self.paths, self.items) for name in names)

    def first(
        self, text: str, more: Mapping[str, CudaOnlyReason] = {}
    ) -> tuple[str, CudaOnlyReason] | None:
        """Return the first such name in a text, and why."""
        items = {**self.items, **more}
        found = _make_path_pattern((*self.paths,), (*items,)).search(text)
        if found is None:
            return None
        name = next(group for group in found.groups() if group)
        return name, self.paths[name] if found.lastindex != _ITEM else items[name]


_ITEM: Final = 3
"""The group of `_pattern` that holds an item."""


def _make_path_pattern(segments: Sequence[str], items: Sequence[str]) -> re.Pattern[str]:
    """Return what finds a path through a module or a crate, or an item."""
    through = "|".join(map(re.escape, segments)) or "(?!)"
    named = "|".join(map(re.escape, items)) or "(?!)"
    return re.compile(
        rf"(?<!\bstd::)(?<!\bcore::)\b({through})\s*::|\b(?:mod|use)\s+({through})\b|\b({named})\b"
    )


def find_cuda_only_dependencies(job: PortJob, crate: Crate) -> Mapping[str, CudaOnlyReason]:
    """Return the dependencies of a crate that exist for the source vendor alone, by name."""
    return job.memoize(
        "bound dependencies", crate.directory, make=lambda: _read_dependencies(job, crate)
    )


def _read_dependencies(job: PortJob, crate: Crate) -> Mapping[str, CudaOnlyReason]:
    found = {}
    for name in find_optional_cuda_dependencies(job, crate):
        said = job.workspace.dependency(crate, name)
        if reason := _find_evidence(job, name, str(said.get("package", name))):
            # A crate of the tree is the user's, who can write its counterpart.
            found[name] = CudaOnlyReason(reason, settled="path" not in said)
    return found


def find_optional_cuda_dependencies(job: PortJob, crate: Crate) -> Iterator[str]:
    """Yield the optional dependencies that only the source's features turn on.

    What the vendor or the profile has a counterpart for is none, nor is one that a crate of the
    tree takes whatever features are on. A crate of the tree is one if it is named after the source
    vendor, as ``toy-cuda-sys``, and has no feature for it.
    """
    features = crate.manifest.get("features", {})
    for name in sorted(crate.manifest.get("dependencies", {})):
        said = job.workspace.dependency(crate, name)
        known = job.vendor.dependencies.get(name)  # with those of the profile
        package = str(said.get("package", name))
        if not said.get("optional") or known or job.find_counterpart_crate(package):
            continue
        if "path" in said and not _is_named_after_source(job, crate, name, package):
            continue
        if package in job.codebase.ported or package in job.memoize(
            "always taken", make=lambda: frozenset(_taken(job))
        ):
            continue
        if known == "" and name not in job.codebase.dependencies:
            continue  # it compiles CUDA, and no code of the crate's names it
        asking = [
            f
            for f, members in features.items()
            if any(enables_dependency(m, name) for m in members)
        ]
        # Its implicit feature may be the source's own.
        if (asking or name in job.counterparts) and all(
            enables_any(features, f, (job.source_feature,)) for f in asking
        ):
            yield name


def _is_named_after_source(job: PortJob, crate: Crate, name: str, package: str) -> bool:
    """Whether a crate with a path is named after the source vendor, without a counterpart."""
    below = next((each for each in job.workspace.crates if each.name == package), None)
    if (
        below is None
        or not job.mentions_cuda(package)
        or not job.counterparts.keys().isdisjoint(below.features)
    ):
        return False
    return job.vendor.names.word(name.replace("-", "_")).replace("_", "-") not in {
        other.replace("_", "-") for _, other, _ in find_declared_dependencies(crate.manifest)
    }


def _taken(job: PortJob) -> Iterator[str]:
    known = job.vendor.dependencies
    for crate in job.workspace.crates:
        said = {
            name: job.workspace.dependency(crate, name)
            for name in crate.manifest.get("dependencies", {})
        }
        always = {
            name: str(each.get("package", name))
            for name, each in said.items()
            if not each.get("optional")
        }
        if not (job.mentions_cuda(crate.name) or known.keys() & {*always, *always.values()}):
            yield from always.values()


def _find_evidence(job: PortJob, name: str, package: str) -> str:
    """Return what tells that a dependency is the source vendor's own, or nothing."""
    if job.codebase.dependencies.get(name) == "":
        return f"the profile says that {name} has no counterpart"
    way = find_dependency_path(job.workspace.locked, package, job.vendor.dependencies)
    if len(way) > 1:
        shown = " needs ".join(way[:1] + way[-1:])
        return f"{shown} by Cargo.lock, and only features of CUDA's turn it on"
    if job.mentions_cuda(package):
        return f"{package} is CUDA's by its name, and only features of CUDA's turn it on"
    return ""


def is_in_lock_file(job: PortJob, crate: Crate, name: str) -> bool:
    """Whether the lock file tells what a dependency needs."""
    package = str(job.workspace.dependency(crate, name).get("package", name))
    return package in job.workspace.locked


def explain_cuda_dependency(site: Site, text: str) -> CudaOnlyReason | None:
    """Return why a text of a site names what exists for the source vendor alone, if it does."""
    if site.crate is None or not site.source.path.endswith(".rs"):
        return None
    job, crate = site.job, site.crate
    names = _find_cuda_only_names(job, crate)
    if names.paths:
        local = site.memoize("bound", make=lambda: _find_cuda_only_imports(site.source, names))
        found = names.first(strip_comments_and_strings(text), local)
        if found is not None:
            return _explain_need(*found)
    if (
        site.kind == "match_arm"
        and job.codebase.find_no_feature_entry(site.source.path) is not None
    ):
        return None  # what it calls there answers in builds without the feature too
    return _explain_cuda_library(job, text)


def _explain_cuda_library(job: PortJob, text: str) -> CudaOnlyReason | None:
    """Return why code names a library without a counterpart that no feature of the tree is about.

    What stands under such a feature is left out of copies; of other code nothing would be left.
    """
    words = job.memoize("libraries", make=lambda: _list_libraries(job))
    word = _find_word(words, text)
    word = word and _find_word(
        words, strip_comments_and_strings(text)
    )  # most texts hold none, comments included
    return CudaOnlyReason(job.vendor.unported[word], settled=True) if word else None


def _find_word(words: Sequence[str], text: str) -> str:
    plain = text.lower().replace("_", "")
    return next((word for word in words if word in plain), "")


def _list_libraries(job: PortJob) -> tuple[str, ...]:
    features = {feature for crate in job.workspace.crates for feature in crate.features}
    return tuple(word for word in job.unported_words if word not in features)


def explain_uncopied_file(job: PortJob, path: str) -> CudaOnlyReason | None:
    """Return why the file of a module under the feature gets no copy, if it gets none."""
    path = job.tree_facts.inside.get(path, path)
    if path not in job.tree_facts.gated or path in job.tree_facts.copied_files:
        return None
    crate = job.workspace.crate_of(path)
    return (
        _find_cuda_only_names(job, crate).paths.get(_name_module(path))
        if crate is not None
        else None
    )


def _find_cuda_only_names(job: PortJob, crate: Crate) -> _CudaOnlyNames:
    return job.memoize("bound names", crate.directory, make=lambda: _names(job, crate))


def _explain_need(name: str, bound: CudaOnlyReason) -> CudaOnlyReason:
    own = bound.reason.startswith(name.replace("_", "-"))
    return CudaOnlyReason(
        bound.reason if own else f"it needs {name}: {bound.reason}", bound.settled
    )


def _names(job: PortJob, crate: Crate) -> _CudaOnlyNames:
    """Return the names of what is bound in a crate: its dependencies, and what they lead to."""
    segments = {
        name.replace("-", "_"): b for name, b in find_cuda_only_dependencies(job, crate).items()
    }
    held = [
        path
        for path in sorted(job.tree_facts.gated)
        if job.workspace.crate_of(path) == crate and path not in job.tree_facts.copied_files
    ]
    files = {path: job.workspace.sources[path] for path in held}
    texts = {p: strip_comments_and_strings(s.text(0, s.size)) for p, s in files.items()}
    for path, text in texts.items():
        kept = job.codebase.kept(path)
        if kept is not None and job.rename(_name_module(path)) == _name_module(path):
            segments[_name_module(path)] = CudaOnlyReason(kept.reason, settled=True)
        elif job.renames_or_says_cuda(text):
            why = f"{path} names CUDA and its copy has no name yet (PK501)"
            segments[_name_module(path)] = CudaOnlyReason(why, settled=False)
    if not segments:
        return _CudaOnlyNames({}, {})
    items: dict[str, CudaOnlyReason] = {}
    sources = [
        source
        for path, source in sorted(job.workspace.sources.items())
        if path.endswith(".rs") and job.workspace.crate_of(path) == crate
    ]
    while True:
        names = _CudaOnlyNames(segments, items)
        more_segments, more_items = dict(segments), dict(items)
        for path, text in texts.items():
            found = names.first(text)
            if found is not None and found[0] != _name_module(path):
                _add_name(more_segments, _name_module(path), found[1])
        for source in sources:
            for name, bound, public in _uses(source, names) if b"use " in source.data else ():
                if public:
                    _add_name(more_items, name, bound)
        if (more_segments, more_items) == (segments, items):
            return names
        segments, items = more_segments, more_items


def _add_name(known: dict[str, CudaOnlyReason], name: str, bound: CudaOnlyReason) -> None:
    """Add why a name is bound, unless as much is known."""
    if name not in known or (bound.settled and not known[name].settled):
        known[name] = bound


def _name_module(path: str) -> str:
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "mod" else pure.stem


def _find_cuda_only_imports(
    source: SourceFile, names: _CudaOnlyNames
) -> Mapping[str, CudaOnlyReason]:
    """Return what a file brings in for itself from what is bound."""
    return {name: bound for name, bound, _ in _uses(source, names)}


def _uses(source: SourceFile, names: _CudaOnlyNames) -> Iterator[tuple[str, CudaOnlyReason, bool]]:
    """Yield each name that a file brings in from what is bound, and whether others can have it."""
    if not names.may_stand(source.data):
        return
    for match in _USE.finditer(strip_comments_and_strings(source.text(0, source.size))):
        if names.first(match[0]) is None:
            continue
        for use in SourceFile("use.rs", f"use {match[2]};".encode()).tree.root_node.children:
            for (leaf, _), path in zip(
                find_import_leaves(use), find_import_paths(use), strict=True
            ):
                found = names.first(path)
                if found is None or leaf.type in ("self", "use_wildcard"):
                    continue
                own = [*find_imported_names(use)] if leaf.type == "use_as_clause" else []
                name = own[0] if len(own) == 1 else path.rpartition("::")[2]
                yield name, found[1], bool(match[1])


def explain_cuda_only_feature(job: PortJob, crate: Crate, feature: str) -> str:
    """Return why a feature turns on what CUDA alone has, and nothing else, if it does.

    ``fast = ["cuda", "dep:swift-norm"]`` does, and so does a feature of another
    crate of the tree that turns on CUDA and that one.
    """
    return _explain_feature(job, crate, feature, frozenset())


def _explain_feature(
    job: PortJob, crate: Crate, feature: str, seen: frozenset[tuple[str, str]]
) -> str:
    key = (crate.directory, feature)
    members = crate.manifest.get("features", {}).get(feature, ())
    rest = [m for m in members if m not in job.counterparts]
    if key in seen or not rest or not any(m == job.source_feature for m in members):
        return ""
    reasons = [_explain_member(job, crate, member, seen | {key}) for member in rest]
    return reasons[0] if all(reasons) else ""


def _explain_member(
    job: PortJob, crate: Crate, member: str, seen: frozenset[tuple[str, str]]
) -> str:
    name, _, feature = member.removeprefix("dep:").partition("/")
    name = name.rstrip("?")
    if (found := find_cuda_only_dependencies(job, crate).get(name)) is not None:
        return found.reason
    package = str(job.workspace.dependency(crate, name).get("package", name))
    below = next((c for c in job.workspace.crates if c.name == package), None)
    if not feature or below is None:
        return ""
    return _explain_feature(job, below, feature, seen)


def find_cuda_file(job: PortJob, path: str, item: Node) -> str:
    """Return the file of a module if it names the source vendor and gets no copy, or nothing."""
    file = find_uncopied_file(job, path, item)
    if not file:
        return ""
    source = job.workspace.sources[file]
    return (
        file
        if job.renames_or_says_cuda(strip_comments_and_strings(source.text(0, source.size)))
        else ""
    )


def find_uncopied_file(job: PortJob, path: str, item: Node) -> str:
    """Return the file of a module if it gets no copy, or nothing; see `find_cuda_file`."""
    if item.type != "mod_item" or item.child_by_field_name("body") is not None:
        return ""
    file = find_declared_file(job, path, item)
    return "" if file is None or file in job.tree_facts.copied_files else file


def explain_cuda_only_module(job: PortJob, path: str, item: Node) -> str:
    """Return why the file of a module needs what exists for the source vendor alone, or nothing."""
    file = find_uncopied_file(job, path, item)
    found = explain_uncopied_file(job, file) if file else None
    return found.reason if found is not None and found.settled else ""


def is_lone_twin(site: Site) -> bool:
    """Whether a module is there without CUDA, and CUDA's module of the same name gets no copy."""
    if site.kind != "mod_item":
        return False
    job, path = site.job, site.source.path
    return any(
        node.type == "mod_item"
        and field_text(node, "name") == site.name
        and any(job.cfg_requires_cuda(cfg) for _, cfg in parse_conditions(attributes))
        and (find_cuda_file(job, path, node) or explain_cuda_only_module(job, path, node))
        for node, attributes in site.siblings
    )
