"""Files as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath

from msgspec.structs import replace

from portkit.context.port_job import Gating, PortJob
from portkit.errors import format_error
from portkit.port import bindings_api, c_declarations, cuda_only_deps, cuda_tools
from portkit.port.c_declarations import has_linked_functions
from portkit.port.c_launchers import find_launchers
from portkit.port.copy_item import copy_file
from portkit.port.drift import find_drift
from portkit.port.manifest_targets import find_cuda_only_target
from portkit.port.new_files import explain_adjacent_file, list_added_files
from portkit.port.review_reasons import explain_review, join_messages
from portkit.port.template_values import render_template
from portkit.port.whole_files import find_unported_feature_of_file
from portkit.profiles.entries import Section
from portkit.rules import FileFilter, FileRule, TreeRule
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.workspace.cargo_workspace import CUDA_CODE, KERNELS
from portkit.workspace.finding import Applicability, Edit, Finding, NewFile, Status, no_files

COPIED_FILE_CODE = "PK101"


def check_copied_file(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find a file that is copied as a whole."""
    target = job.tree_facts.copied_files.get(source.path)
    if target is None:
        return
    standing = job.workspace.sources.get(target)
    concerned = cuda_tools.may_run_cuda_tools(job, source)
    reason = cuda_tools.explain_cuda_tool(job, copy_file(job, source)) if concerned else ""
    text = source.text(0, source.size)
    # In the counterpart of a crate the port has what is linked as well.
    if not reason and has_linked_functions(text) and has_linked_functions(copy_file(job, source)):
        reason = c_declarations.explain_missing_c_function(
            job, text
        ) or c_declarations.explain_c_review(job, text)
    reason = reason or explain_review(job, text)
    lacking = bindings_api.explain_missing_in_file(
        job,
        source,
        lambda: copy_file(job, source) if standing is None else standing.text(0, standing.size),
    )
    if lacking:
        reason = "; ".join(filter(None, (reason, f"{lacking}: write that by hand")))
    whole = Span(0, max(len(source.data), 1))
    yield Finding(
        code=COPIED_FILE_CODE,
        path=source.path,
        span=whole,
        construct="new file",
        symbol=target,
        applicability=Applicability.REVIEW if reason else Applicability.SAFE,
        status=Status.TODO if standing is None else Status.PORTED,
        message=join_messages(f"{target} is its copy", reason),
        files=lambda: (NewFile(target, copy_file(job, source).replace("\n", source.newline)),),
        claims=(whole,),
    )
    if standing is not None:
        yield from find_drift(job, COPIED_FILE_CODE, target, lambda: copy_file(job, source))


_COPIED_FILE_PAGE = """\
A file that is the CUDA backend's as a whole.

``cuda_backend/mod.rs``, ``quantized/cuda.rs``, ``dummy_cuda_backend.rs``: the path says so,
or the file is a module that is declared under the feature. Its counterpart is a copy beside
it under the name table, with the items replaced that the profile overrides, and with the headers
of AMD's platform in kernels that stand in it as strings. A crate that is CUDA's as a whole has a
counterpart beside it, which takes the copies of all its Rust files. Where the copy
stands already, it is left as it is. A copy that runs a program of CUDA's, such as nvcc, is for a
person to review, and so is one that declares functions which are linked by their names, or that
names what the bindings do not have.
"""
COPIED_FILE = FileRule(
    COPIED_FILE_CODE, FileFilter.MENTIONS, check_copied_file, "copied_file", _COPIED_FILE_PAGE
)


UNREAD_FILE_CODE = "PK902"


def check_unread_file(job: PortJob) -> Iterator[Finding]:
    """Find each file that could not be looked at."""
    for file in job.workspace.left_out:
        yield report_unread_file(file.path, file.reason)


def report_unread_file(path: str, reason: str, size: int = 0) -> Finding:
    """Return what is said of a file that could not be looked at."""
    return Finding(
        code=UNREAD_FILE_CODE,
        path=path,
        span=Span(0, 0),
        construct="file",
        symbol=PurePosixPath(path).name,
        applicability=Applicability.MANUAL,
        status=Status.NONE,
        message=f"{reason}: look at it by hand",
        claims=(Span(0, size),) if size else (),
    )


def report_failed_file(path: str, error: Exception, size: int) -> Finding:
    """Return what is said of a file that portkit fails on, while the others are looked at."""
    said = format_error(error)[:200]
    return report_unread_file(
        path, f"portkit fails on it ({said}), which is a defect to report", size
    )


_UNREAD_FILE_PAGE = """\
A file that could not be looked at, or a folder.

It cannot be read or listed, it is a link out of the tree or to nowhere, it is not UTF-8, it is too
much for portkit, or portkit fails on it: the message says which. Nothing is known about the backend
mentions in it, and nothing is written.
"""
UNREAD_FILE = TreeRule(UNREAD_FILE_CODE, check_unread_file, "unread_file", _UNREAD_FILE_PAGE)


def check_syntax_error(_job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find the first place of a file that the parser does not understand."""
    node = source.tree.root_node
    while True:
        inner = next((c for c in node.children if c.has_error or c.is_missing), None)
        if inner is None or inner.type == "ERROR":
            node = inner or node
            break
        node = inner
    # What is missing at the end of the file has no bytes of its own.
    start = min(node.start_byte, len(source.data) - 1)
    yield Finding(
        code="PK901",
        path=source.path,
        span=Span(start, max(node.end_byte, start + 1)),
        construct="syntax error",
        symbol=PurePosixPath(source.path).name,
        applicability=Applicability.MANUAL,
        status=Status.NONE,
        message="portkit cannot parse this place. Port it by hand; the rest of the file was read",
    )


_SYNTAX_ERROR_PAGE = """\
A place that the parser does not understand.

The rest of the file was still looked at, and is written into where the items are parsed whole. Into
an item that is not, nothing is written: what is wanted there is for a person. Newer syntax than the
parser knows is the usual cause; look at the place by hand.
"""
SYNTAX_ERROR = FileRule(
    "PK901", FileFilter.BROKEN, check_syntax_error, "syntax_error", _SYNTAX_ERROR_PAGE
)


def check_page_section(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find a page that the profile holds a section for."""
    section = find_section(job, source)
    if section is None:
        return
    whole = Span(0, max(len(source.data), 1))
    at = _find_heading(source, section.before)
    standing = _find_heading(source, section.heading) >= 0
    title = section.heading.lstrip("# ")
    yield Finding(
        code="PK105",
        path=source.path,
        span=whole,
        construct="documentation",
        symbol=title,
        applicability=Applicability.SAFE,
        status=Status.PORTED if standing else Status.TODO,
        message=section.reason,
        entry=job.codebase.key(section),
        edits=() if standing else (Edit(at, at, render_template(job, section.template)),),
        claims=(whole,),
    )


def find_section(job: PortJob, source: SourceFile) -> Section | None:
    """Return the section that a page gains or has gained, if it has a place for one."""
    return next(
        (
            section
            for section in job.patches(Section, source.path)
            if max(_find_heading(source, h) for h in (section.before, section.heading)) >= 0
        ),
        None,
    )


def _find_heading(source: SourceFile, heading: str) -> int:
    """Return where the line of a heading begins, or -1."""
    match = re.search(rb"^%s\r?$" % re.escape(heading.encode()), source.data, re.MULTILINE)
    return match.start() if match else -1


_PAGE_SECTION_PAGE = """\
A page of documentation that gains a section.

The codebase's profile holds the section and the heading that it stands before. Other
mentions in documentation are left alone and counted (PK102).
"""
PAGE_SECTION = FileRule(
    "PK105", FileFilter.MENTIONS, check_page_section, "page_section", _PAGE_SECTION_PAGE
)


def check_kept_file(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find a file that mentions a backend and is no matter of a copy."""
    path, trust = source.path, Applicability.KEEP
    if path in job.tree_facts.copied_files or find_section(job, source) is not None:
        return
    said = reason = _explain_kept(job, source)
    if path.endswith(".md"):
        said = reason = "documentation: nothing depends on it"
    elif by_hand := _build_by_hand(job, path):
        trust, said, reason = Applicability.MANUAL, by_hand, by_hand
    elif not reason and path.endswith(CUDA_CODE):
        trust = Applicability.MANUAL
        said = "CUDA code"
        reason = (
            "CUDA code: `portkit hipify` makes a HIP source of it; have the build compile that "
            "under the feature"
        )
    elif not reason and (alone := cuda_only_deps.explain_uncopied_file(job, path)) is not None:
        trust = Applicability.MANUAL
        said = reason = f"{alone.reason}: nothing of it is copied before that"
    if not reason:
        return
    whole = Span(0, max(len(source.data), 1))
    number = len(job.tree_facts.mentions.get(path, ()))
    count = f" ({number} mention{'' if number == 1 else 's'})" if number else ""
    yield Finding(
        code="PK102",
        path=path,
        span=whole,
        construct="file",
        symbol=PurePosixPath(path).name,
        applicability=trust,
        status=Status.NONE,
        message=said + count + reason.removeprefix(said),
        reason=reason,
        claims=(whole,),
    )


def _build_by_hand(job: PortJob, path: str) -> str:
    """Return why a person writes the build script of a counterpart, if one does."""
    whole = job.codebase.find_cuda_only_crate(path)
    if whole is None or whole.unported or not job.workspace.is_build_script(path):
        return ""
    found = find_launchers(job, whole)
    if not isinstance(found, str):
        return ""
    return f"{found}: write {whole.place}/build.rs, and have hipcc compile what this has nvcc do"


def _explain_kept(job: PortJob, source: SourceFile) -> str:
    kept = job.codebase.kept(source.path)
    if kept is not None:
        return kept.reason
    if source.path.endswith(CUDA_CODE) and (said := explain_adjacent_file(job, source.path)):
        return said
    whole = job.codebase.find_cuda_only_crate(source.path)
    if whole is not None:
        return whole.unported or f"{whole.place} takes the place of the whole crate"
    if not source.path.endswith(".rs"):
        return _describe_peer_file(job) if _names_peer_alone(job, source) else ""
    if job.gating is Gating.CFG and f"dummy_{job.vendor.source}" in source.path:
        return "there is no dummy backend with --gating cfg"
    if any(
        part.startswith(peer) or f"_{peer}" in part
        for peer in job.vendor.peers
        for part in source.path.split("/")[1:]
    ):
        return _describe_peer_file(job)
    feature = find_unported_feature_of_file(job, source.path)
    if feature:
        return job.explain_unported(feature, source.path)
    if (target := find_cuda_only_target(job, source.path)) is not None:
        return (
            f"the target {target.name} requires the feature {job.source_feature}, so CUDA alone is"
            " built with it"
        )
    alone = cuda_only_deps.explain_uncopied_file(job, source.path)
    return alone.reason if alone is not None and alone.settled else ""


def _names_peer_alone(job: PortJob, source: SourceFile) -> bool:
    """Whether a header or C++ is a peer's by what its code names: a peer, and nothing of CUDA's.

    Comments are no code, in C++ as in Rust.
    """
    if not source.path.endswith(CUDA_CODE) or source.path.endswith(KERNELS):
        return False
    code = strip_comments_and_strings(source.text(0, source.size))
    return job.mentions_peer(code) and not job.mentions_cuda(code)


def _describe_peer_file(job: PortJob) -> str:
    return f"it belongs to {job.vendor.peers[0].capitalize()}; {job.vendor.title} follows CUDA"


_KEPT_FILE_PAGE = """\
A file that mentions a backend and is left alone as a whole.

It belongs to a peer of CUDA's, to a library without a counterpart, or to nothing that is
compiled, or the codebase's profile keeps it; the message says which. A header is a peer's by what
its code names. So it is with the manifest and the kernels of a crate that is CUDA's as a whole,
whose counterpart is another crate, and with all of one that gets none. Its build script is for a
person where none can be derived from it. A module under the feature is left alone as well where it
needs a crate that CUDA alone has, or where its copy has no name yet. So is the file of a target
that requires CUDA's feature, and whose name says nothing of CUDA.
"""
KEPT_FILE = FileRule("PK102", FileFilter.MENTIONS, check_kept_file, "kept_file", _KEPT_FILE_PAGE)


ADDED_FILE_CODE = "PK103"
NEW_CRATE = "new crate"
"""The construct of a finding that adds a crate."""


def check_added_file(job: PortJob) -> Iterator[Finding]:
    """Find what the port adds and no file of the tree stands for."""
    for addition in list_added_files(job):
        standing = job.stands(addition.name) or any(map(addition.holds, job.workspace.sources))
        found = Finding(
            code=ADDED_FILE_CODE,
            path=addition.name,
            span=Span(0, 0),
            construct="new file" if "." in addition.name else NEW_CRATE,
            symbol=addition.name,
            applicability=Applicability.SAFE,
            status=Status.PORTED if standing else Status.TODO,
            message=addition.message,
            files=partial(_list_new_files, addition.files),
        )
        if not standing and (why := addition.find_obstacle()):
            said = f"{addition.message}: {why}; nothing of them is written before that"
            yield replace(
                found,
                applicability=Applicability.MANUAL,
                status=Status.NONE,
                message=said,
                files=no_files,
            )
            continue
        yield found
        if standing:
            for path, make in sorted(addition.files().items()):
                yield from find_drift(job, ADDED_FILE_CODE, path, make)
        if job.kernels:
            yield from addition.findings()


def _list_new_files(files: Callable[[], Mapping[str, Callable[[], str]]]) -> tuple[NewFile, ...]:
    return tuple(NewFile(path, make()) for path, make in sorted(files().items()))


_ADDED_FILE_PAGE = """\
A file that the port adds and that no file of the tree stands for.

The HIP bindings, the crate of kernels, tests and pages of documentation come from
templates. The counterpart of a crate that is CUDA's as a whole has its manifest, the translations
of its kernels, and a build script that has hipcc compile them. A file that stands already is left
as it is. Translations beside their sources are a person's where another file has the name of one.
"""
ADDED_FILE = TreeRule(ADDED_FILE_CODE, check_added_file, "added_file", _ADDED_FILE_PAGE)
