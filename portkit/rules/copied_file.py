"""A file that is the CUDA backend's as a whole.

``cuda_backend/mod.rs``, ``quantized/cuda.rs``, ``dummy_cuda_backend.rs``: the path says so,
or the file is a module that is declared under the feature. Its counterpart is a copy beside
it under the name table, with the items replaced that the profile overrides, and with the headers
of AMD's platform in kernels that stand in it as strings. A crate that is CUDA's as a whole has a
counterpart beside it, which takes the copies of all its Rust files. Where the copy
stands already, it is left as it is. A copy that runs a program of CUDA's, such as nvcc, is for a
person to review, and so is one that declares functions which are linked by their names, or that
names what the bindings do not have.
"""

from __future__ import annotations

from collections.abc import Iterator

from portkit.context.port_job import PortJob
from portkit.port import bindings_api, c_declarations, cuda_tools
from portkit.port.c_declarations import has_linked_functions
from portkit.port.copy_item import copy_file
from portkit.port.drift import find_drift
from portkit.port.review_checks import explain_review, join_messages
from portkit.rules import FileFilter, FileRule
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Finding, NewFile, Status

CODE = "PK101"


def check(job: PortJob, source: SourceFile) -> Iterator[Finding]:
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
        job, source, lambda: copy_file(job, source) if standing is None else _text(standing)
    )
    if lacking:
        reason = "; ".join(filter(None, (reason, f"{lacking}: write that by hand")))
    whole = Span(0, max(len(source.data), 1))
    yield Finding(
        code=CODE,
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
        yield from find_drift(job, CODE, target, lambda: copy_file(job, source))


def _text(source: SourceFile) -> str:
    return source.text(0, source.size)


RULE = FileRule(CODE, FileFilter.MENTIONS, check)
