"""The path by which a function names the error that says that a feature is off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.syntax.source_file import field_text, find_descendants, node_text
from portkit.syntax.value import Value
from portkit.syntax.word_search import find_occurrences

if TYPE_CHECKING:
    from portkit.context.port_job import PortJob, Site
    from portkit.syntax.source_file import SourceFile
    from portkit.workspace.cargo_workspace import Crate

_ROOTS: Final = ("src/lib.rs", "src/main.rs")
_FILE: Final = re.compile(r"src/(\w+)(?:/mod)?\.rs")


class _DeclaredEnum(Value, frozen=True):
    """An enum with the variant."""

    name: str  # its name
    path: str  # the path from the crate's root; empty if it is not certain


def find_error_path(site: Site) -> str:
    """Return the path of the error's enum at a function; empty if it is not certain."""
    crate, result = site.crate, site.node.child_by_field_name("return_type")
    if crate is None or result is None:
        return ""
    job = site.job
    declared = job.memoize("error", crate.directory, make=lambda: _find_enum(job, crate))
    if declared is None:
        return "crate::Error" if _names_at_root(job, crate, "Error") else ""
    arguments = result.child_by_field_name("type_arguments")
    given = arguments.named_children if arguments is not None else []
    if len(given) > 1:
        text = node_text(given[1])
        return text if text.rpartition("::")[2] == declared.name else ""
    return declared.path


def _find_enum(job: PortJob, crate: Crate) -> _DeclaredEnum | None:
    """Return the enum of a crate that has the source vendor's variant."""
    always = job.codebase.error_without_feature
    for path, source in job.workspace.sources.items():
        if not path.endswith(".rs") or b"enum " not in source.data:
            continue
        if job.workspace.crate_of(path) != crate:
            continue
        for name in _enums_with(job, source, always):
            return _DeclaredEnum(name, _path_of(job, crate, path, name))
    return None


def _enums_with(job: PortJob, source: SourceFile, variant: str) -> list[str]:
    at = [*find_occurrences(source.data, b"enum ")]
    found = []
    for node in find_descendants(source.tree_around(at).root_node, "enum_item"):
        body = node.child_by_field_name("body")
        names = [field_text(c, "name") for c in body.named_children] if body is not None else []
        if any(job.rename(name) == variant for name in names if name):
            found.append(field_text(node, "name"))
    return found


def _path_of(job: PortJob, crate: Crate, path: str, name: str) -> str:
    """Return the path of an enum from the root of its crate; empty if it is not certain."""
    inside = path.removeprefix(f"{crate.directory}/")
    if inside in _ROOTS or _names_at_root(job, crate, name):
        return f"crate::{name}"
    module = _FILE.fullmatch(inside)
    return f"crate::{module[1]}::{name}" if module is not None else ""


def _names_at_root(job: PortJob, crate: Crate, name: str) -> bool:
    """Whether the root of a crate imports or declares a name."""
    folder = "" if crate.directory == "." else f"{crate.directory}/"
    roots = (job.workspace.sources.get(folder + root) for root in _ROOTS)
    source = next((each for each in roots if each is not None), None)
    if source is None:
        return False
    named = rb"\b(?:use\s[^;]*|enum\s+|struct\s+|type\s+)\b%s\b" % re.escape(name).encode()
    return re.search(named, source.data) is not None
