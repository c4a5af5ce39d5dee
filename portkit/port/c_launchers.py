"""Functions of C that launch kernels, in a crate that is the source vendor's as a whole.

Its build script has nvcc, or a crate that runs it, make a static library of CUDA sources, and a
Rust file declares what is in it. The counterpart has what ``hiprc-build`` makes of the translations
(`portkit.port.crate_copies` writes the build script), and declares it by the bindings' macro
``launchers!``: names with a prefix, so that both vendors' libraries are in one program, and what a
launch met is an error of the next call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import PortJob
from portkit.hipify.paths import derive_hip_path
from portkit.port import cuda_tools
from portkit.port.hip_bindings import requires_bindings
from portkit.profiles.profile import CudaOnlyCrate
from portkit.syntax.name_table import strip_comments, strip_comments_and_strings
from portkit.syntax.source_file import SourceFile
from portkit.syntax.value import Value
from portkit.workspace.cargo_workspace import CUDA_CODE

_FOREIGN: Final = re.compile(r"\bextern\b")
_UNIT: Final = re.compile(r'"([^"\s]*\.cu)"')
_BUILT: Final = """\
/// What the build script has compiled.
#[allow(dead_code)]
mod built {
    include!(concat!(env!("OUT_DIR"), "/built.rs"));
}

"""


class CrateLaunchers(Value, frozen=True):
    """The launchers of a crate."""

    folder: str  # where the CUDA sources lie, below the crate
    units: tuple[str, ...]  # those that are compiled, without folder and suffix
    file: str  # the Rust file that declares them
    macro: str  # the path of the macro by which the copy declares them
    alone: bool  # whether the crate takes no bindings for CUDA, so that the counterpart takes HIP's
    variables: str  # how the names of the counterpart's environment variables begin
    cpp: bool  # whether the build script links C++'s library


def find_launchers(job: PortJob, whole: CudaOnlyCrate) -> CrateLaunchers | str | None:
    """Return the launchers of a crate, or why they are for a person; None where it has none."""
    return job.memoize("launchers", whole.directory, make=lambda: _find_launchers(job, whole))


def _find_launchers(job: PortJob, whole: CudaOnlyCrate) -> CrateLaunchers | str | None:
    script = _read_script(job, whole)
    sources = _list_cuda_files(job, whole)
    if script is None or not cuda_tools.may_run_cuda_tools(job, script):
        return None
    text = strip_comments(script.text(0, script.size))
    named = [name.removeprefix("./") for name in _UNIT.findall(text)]
    units = [
        path
        for path in sources
        if path.endswith(".cu")
        and (not named or any(path == name or path.endswith(f"/{name}") for name in named))
    ]
    folders = {str(PurePosixPath(path).parent) for path in units}
    if len(folders) != 1 or "." in folders:
        return "its CUDA sources do not lie in one folder"
    [folder] = folders
    below = [path for path in sources if path.startswith(f"{folder}/")]
    made = [derive_hip_path(path) for path in below]
    if len({*made}) != len(made):
        return "two of its CUDA sources would have one name"
    if any(path.endswith(".cpp") for path in below):
        return "it has C++ compiled for CUDA, which is no kernel"
    declaring = [
        path for path in _list_rust_files(job, whole) if _find_blocks(job.workspace.sources[path])
    ]
    if len(declaring) != 1:
        return "not one of its files alone declares what is linked"
    [file] = declaring
    declared = _find_blocks(job.workspace.sources[file])
    if len(declared) != 1 or any(
        node.type != "function_signature_item" for node in _find_functions(declared[0])
    ):
        return "what it declares is linked in a way of its own"
    macro, facade = _find_bindings_path(job, whole), job.vendor.facade
    alone = not macro
    if alone and not (facade.source or requires_bindings(job.workspace, job.vendor, job.codebase)):
        return (
            "it names the bindings nowhere, whose macro declares launchers: portkit.toml may say"
            " where they are"
        )
    macro = macro or f"{facade.module}::launchers"
    names = tuple(PurePosixPath(path).stem for path in units)
    variables = whole.copy.upper().replace("-", "_")
    return CrateLaunchers(folder, names, file, macro, alone, variables, "stdc++" in text)


def declare_with_macro(job: PortJob, source: SourceFile, copy: str) -> str:
    """Return the copy of a Rust file with what it declares of a static library by the macro."""
    whole = job.codebase.find_cuda_only_crate(source.path)
    found = find_launchers(job, whole) if whole is not None else None
    if not isinstance(found, CrateLaunchers) or found.file != source.path:
        return copy
    made = SourceFile(source.path, copy.encode())
    [block] = _find_blocks(made)
    lines = []
    for function in _find_functions(block):
        text = made.text(function.start_byte, function.end_byte)
        lines.append(f"    pub {text[text.index('fn ') :]}")
    prefix = f"{found.variables.lower()}_"
    head = f'{found.macro}! {{\n    "{prefix}", built::ARCHS, built::ADVICE;\n\n'
    body = "\n\n".join(lines)
    start, end = block.start_byte, block.end_byte
    return f"{made.text(0, start)}{_BUILT}{head}{body}\n}}{made.text(end, made.size)}"


def _read_script(job: PortJob, whole: CudaOnlyCrate) -> SourceFile | None:
    found = (p for p in _list_rust_files(job, whole) if job.workspace.is_build_script(p))
    return next((job.workspace.sources[path] for path in found), None)


def _list_rust_files(job: PortJob, whole: CudaOnlyCrate) -> Iterator[str]:
    for path in job.workspace.sources:
        if path.startswith(f"{whole.directory}/") and path.endswith(".rs"):
            yield path


def _list_cuda_files(job: PortJob, whole: CudaOnlyCrate) -> list[str]:
    """Return the crate's files that the CUDA compiler may be given, by their path below it."""
    start = f"{whole.directory}/"
    return [
        path.removeprefix(start)
        for path in job.workspace.sources
        if path.startswith(start) and path.endswith(CUDA_CODE)
    ]


def _find_blocks(source: SourceFile) -> list[Node]:
    """Return the blocks of a file that declare what is linked by name."""
    text = source.text(0, source.size)
    if not _FOREIGN.search(text) or not _FOREIGN.search(strip_comments_and_strings(text)):
        return []
    return [node for node in source.tree.root_node.children if node.type == "foreign_mod_item"]


def _find_functions(block: Node) -> list[Node]:
    body = block.child_by_field_name("body")
    return [] if body is None else [n for n in body.named_children if "comment" not in n.type]


def _find_bindings_path(job: PortJob, whole: CudaOnlyCrate) -> str:
    """Return the path by which the crate has the bindings, as its code has CUDA's, else nothing."""
    facade, bindings = job.vendor.facade.module, job.vendor.bindings
    through = re.compile(rf"\b((?:\w+::)*){bindings}\b")
    for path in _list_rust_files(job, whole):
        source = job.workspace.sources[path]
        found = through.search(strip_comments_and_strings(source.text(0, source.size)))
        if found is not None:
            return f"{job.rename(found[1])}{facade}::launchers"
    return ""
