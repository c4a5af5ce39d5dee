"""What code runs to build kernels: programs and crates of the source vendor's, which do not port.

A build script that runs ``nvcc`` is not ROCm's under another name. What does the part of a program
is in the vendor's profile, in words; what is written instead is a person's, or a template's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.syntax.imports import find_import_paths, find_imported_names
from portkit.syntax.name_table import strip_comments, strip_comments_and_strings
from portkit.syntax.word_search import build_word_finder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile

_CC: Final = r"\.%s\s*\(\s*true\s*\)"
"""What has the crate ``cc`` run the compiler of a vendor (its documentation, ``Build::cuda``)."""
_READING: Final = "read_to_string"
"""What reads a file as text, by which `NameTable.text_of_bytes` begins."""


def find_cuda_programs(job: PortJob, text: str) -> list[str]:
    """Return the programs of the source vendor's that are strings in Rust source, sorted.

    A string that is a program, or the path of one, is what `std::process::Command::new` takes; in
    a longer one it is spoken of.
    """
    programs = job.vendor.programs
    if not any(program in text for program in programs):
        return []
    found = rf'"(?:[^"\s]*[/\\])?({"|".join(map(re.escape, programs))})(?:\.exe)?"'
    return sorted(set(re.findall(found, strip_comments(text))))


def may_run_cuda_tools(job: PortJob, source: SourceFile) -> bool:
    """Whether a Rust file may do what is the source vendor's alone; few files do."""
    names = (*job.vendor.programs, *_compilers(job), _READING)
    if re.search((_CC % job.vendor.source).encode(), source.data):
        return True
    held = build_word_finder(names)(source.data)
    if held != [_READING]:
        return bool(held)
    return job.vendor.names.text_of_bytes(job.rename(source.text(0, source.size)))


def explain_cuda_tool(job: PortJob, copy: str) -> str:
    """Return why a copy would do what is the source vendor's alone, or an empty string.

    It runs its programs, or reads as text the file that is bytes for the written vendor.
    """
    by_hand = f"write {job.vendor.title}'s by hand, or as a template of the profile"
    programs = find_cuda_programs(job, copy)
    if programs:
        parts = "; ".join(job.vendor.programs[program] for program in programs)
        return f"it runs {' and '.join(programs)}, of CUDA's: {parts}; {by_hand}"
    if runs_nvcc_through_cc(copy, job.vendor.names.word(job.vendor.source)):
        return f"it has cc run the compiler of CUDA; {by_hand}"
    if job.vendor.names.text_of_bytes(copy):
        return f"it reads as text what is bytes for {job.vendor.title}; {by_hand}"
    for crate in _compilers(job):
        renamed = job.vendor.names.word(crate)
        if renamed in copy and re.search(rf"\b{renamed}\b", strip_comments_and_strings(copy)):
            return f"it calls {crate}, which compiles CUDA alone; {by_hand}"
    return ""


def runs_nvcc_through_cc(text: str, source: str) -> bool:
    """Whether Rust source has the crate ``cc`` run the compiler of the source vendor."""
    return re.search(_CC % source, strip_comments_and_strings(text)) is not None


def find_compiler_imports(job: PortJob, source: SourceFile) -> Mapping[str, str]:
    """Return what a file brings in from crates that compile kernels, and from which of them."""
    crates = _compilers(job)
    if not any(crate.encode() in source.data for crate in crates):
        return {}
    return {
        name: crate
        for node in source.tree.root_node.children
        if node.type == "use_declaration"
        for crate in crates
        if any(path.startswith(f"{crate}::") for path in find_import_paths(node))
        for name in find_imported_names(node)
    }


def _compilers(job: PortJob) -> list[str]:
    """Return the crates without a counterpart that a renamed call could call, as code imports them.

    What compiles kernels has one, whose functions are others.
    """
    known = job.vendor.dependencies.items()
    return sorted(crate.replace("-", "_") for crate, kind in known if kind in ("", "driver"))
