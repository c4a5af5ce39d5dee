"""CUDA programs and crates that build kernels, and the code that calls or names them.

A build script that runs ``nvcc`` is not ROCm's under another name. What does the part of a program
is in the vendor's profile, in words; what is written instead is a person's, or a template's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from portkit.context.device_queries import name_feature_variable
from portkit.context.port_job import PortJob, Site
from portkit.port import c_declarations
from portkit.port.copy_item import copy_range, find_override
from portkit.syntax.imports import find_import_paths, find_imported_names
from portkit.syntax.items import find_items
from portkit.syntax.name_table import (
    NO_CODE,
    find_feature_conditions,
    strip_comments,
    strip_comments_and_strings,
)
from portkit.syntax.source_file import SourceFile
from portkit.syntax.word_search import build_word_finder

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
    names = (*job.vendor.programs, *_list_compiler_crates(job), _READING)
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
    for crate in _list_compiler_crates(job):
        renamed = job.vendor.names.word(crate)
        if renamed in copy and re.search(rf"\b{renamed}\b", strip_comments_and_strings(copy)):
            return f"it calls {crate}, which compiles CUDA alone; {by_hand}"
    return ""


def runs_nvcc_through_cc(text: str, source: str) -> bool:
    """Whether Rust source has the crate ``cc`` run the compiler of the source vendor."""
    return re.search(_CC % source, strip_comments_and_strings(text)) is not None


def find_compiler_imports(job: PortJob, source: SourceFile) -> Mapping[str, str]:
    """Return what a file brings in from crates that compile kernels, and from which of them."""
    crates = _list_compiler_crates(job)
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


def _list_compiler_crates(job: PortJob) -> list[str]:
    """Return the crates without a counterpart that a renamed call could call, as code imports them.

    What compiles kernels has one, whose functions are others.
    """
    known = job.vendor.dependencies.items()
    return sorted(crate.replace("-", "_") for crate, kind in known if kind in ("", "driver"))


def explain_cuda_run(site: Site, copy: str) -> str:
    """Return why a copy of Rust source would build for the source vendor, or an empty string."""
    return explain_cuda_tool(site.job, copy) or explain_uncopied_call(site, copy)


def explain_uncopied_call(site: Site, copy: str) -> str:
    """Return why a person must write what a copy calls, or an empty string."""
    left = site.memoize("uncopied", make=lambda: _find_uncopied_functions(site))
    if tool := _find_compiler_crate(site, copy):
        return (
            f"it calls {tool}, which compiles CUDA alone; write {site.job.vendor.title}'s by hand"
        )
    if not left:  # as in nearly every file
        return ""
    called = sorted(_find_called_names(copy) & left.keys())
    if not called:
        return ""
    vendor, own = site.job.vendor.title, left[called[0]]
    return (
        f"it calls {own}, which builds for CUDA alone: write {vendor}'s and this by hand, under the"
        f" feature {site.job.feature}"
    )


def _find_uncopied_functions(site: Site) -> dict[str, str]:
    """Return the functions left to a person: the name that a copy calls, and their own."""
    job, source = site.job, site.source
    if not may_run_cuda_tools(job, source):
        return {}
    copies: dict[str, tuple[str, str]] = {}
    names = set()
    for item in find_items(source):
        if item.node.type == "function_item":
            outer, _, own = item.symbol.rpartition("::")
            if _is_overridden(site, item.symbol):
                continue  # a template of the profile has it
            copy = copy_range(job, source, item.span.start, item.span.end, item.node, outer)
            copies[job.rename(own)] = own, copy
            names.add(own)
    # What a person wrote already is there to be called.
    wanted = {name: said for name, said in copies.items() if name == said[0] or name not in names}
    left = {
        name: own
        for name, (own, copy) in wanted.items()
        if explain_cuda_tool(job, copy) or _find_compiler_crate(site, copy)
    }
    while more := {
        name: own
        for name, (own, copy) in wanted.items()
        if name not in left and _find_called_names(copy) & left.keys()
    }:
        left |= more
    return left


def _find_compiler_crate(site: Site, copy: str) -> str:
    """Return the crate that compiles kernels from which a file imports what a copy names."""
    job = site.job
    tools = site.memoize("compilers", make=lambda: find_compiler_imports(job, site.source))
    words = set(re.findall(r"\w+", strip_comments_and_strings(copy))) if tools else set()
    return next((crate for name, crate in tools.items() if job.rename(name) in words), "")


def _is_overridden(site: Site, symbol: str) -> bool:
    parts = symbol.split("::")
    outer = ("::".join(parts[:length]) for length in range(1, len(parts) + 1))
    return any(find_override(site.job, site.source, each) is not None for each in outer)


def _find_called_names(text: str) -> set[str]:
    return set(re.findall(r"(?<!\bfn )\b(\w+)\s*\(", strip_comments_and_strings(text)))


def explain_manual_widening(site: Site, text: str) -> str:
    """Return why a person must write what a text does, or an empty string.

    It acts in a build script, or declares functions of C that ROCm does not have.
    """
    job = site.job
    if "extern" in text and (reason := c_declarations.explain_missing_c_function(job, text)):
        return reason
    named = (
        _find_platform_string(job, text) if job.workspace.is_build_script(site.source.path) else ""
    )
    return (
        f"A build script acts by `{named}` here, which names CUDA. Write what {job.vendor.title}"
        f" needs, under the feature {job.feature}"
        if named
        else ""
    )


def explain_widening(site: Site, text: str) -> str:
    """Return what a finding says about a condition that is widened."""
    title, named = site.job.vendor.title, _find_platform_string(site.job, text)
    if named:
        return (
            f"Its condition is widened to {title}, and the string `{named}` in it names CUDA."
            f" Check what it says on {title}"
        )
    return f"It names nothing of CUDA, so its condition is widened to {title}. Check that it should"


def _find_platform_string(job: PortJob, text: str) -> str:
    """Return the first string that names the source's platform, those of conditions aside."""
    if not job.mentions_cuda(text):
        return ""
    asked = {match.start() for match in find_feature_conditions(text)}
    for match in NO_CODE.finditer(text):
        literal = match[0]
        if literal.startswith(("/", "'")) or match.start() in asked:
            continue
        if name_feature_variable(job) not in literal and job.mentions_cuda(literal):
            return literal.strip('"')
    return ""
