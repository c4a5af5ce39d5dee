"""What is left as it is in a file whose CUDA side has no counterpart (``[[plain]]``).

A path through a module that gets no copy, such as ``crate::cuda::ssm``, is the same in every build.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from portkit.port.whole_files import find_module_file
from portkit.syntax.source_file import node_text

if TYPE_CHECKING:
    from tree_sitter import Node

    from portkit.context.port_job import PortJob


def is_own_module(job: PortJob, path: str, name: Node) -> bool:
    """Whether an identifier in a path is a module of the tree that gets no copy."""
    # Few codebases have such files, and to follow a path takes long.
    segments = _path_of(name) if job.codebase.plain else []
    file = _file(job, path, segments) if segments else None
    return (
        file is not None
        and file not in job.tree_facts.copied_files
        and job.codebase.find_no_feature_entry(file) is not None
    )


def _path_of(name: Node) -> list[str]:
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


def _file(job: PortJob, path: str, segments: list[str]) -> str | None:
    """Return the file of the module that a path names, if it is one of the tree."""
    first, *rest = segments
    crate = job.workspace.crate_of(path)
    libraries = {c.name.replace("-", "_"): c for c in job.workspace.crates}
    if first == "crate" and crate is not None:
        at: str | None = _root(job, crate.directory)
    elif first == "super":
        at = _outer(job, path)
    elif first == "self":
        at = path
    elif first in libraries:
        at = _root(job, libraries[first].directory)
    else:
        at = find_module_file(job, path, first)
    for segment in rest:
        if at is None:
            return None
        at = _outer(job, at) if segment == "super" else find_module_file(job, at, segment)
    return at


def _root(job: PortJob, directory: str) -> str | None:
    below = "" if directory == "." else f"{directory}/"
    roots = (f"{below}src/lib.rs", f"{below}src/main.rs")
    return next((root for root in roots if root in job.workspace.sources), None)


def _outer(job: PortJob, path: str) -> str | None:
    """Return the file that declares the module of a file."""
    pure = PurePosixPath(path)
    folder = pure.parent.parent if pure.stem == "mod" else pure.parent
    below = (folder / "mod.rs", folder.with_suffix(".rs"), folder / "lib.rs", folder / "main.rs")
    return next((str(each) for each in below if str(each) in job.workspace.sources), None)
