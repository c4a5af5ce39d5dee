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

from typing import TYPE_CHECKING

from portkit.copying import foreign, offered, programs
from portkit.copying.analog import copy_file
from portkit.copying.differences import differences
from portkit.copying.doubts import declares_linked, doubt_in, joined
from portkit.lang.span import Span
from portkit.rules import FileRule, When
from portkit.tree.finding import Applicability, Finding, NewFile, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.source import Source
    from portkit.site.context import Job


CODE = "PK101"


def check(job: Job, source: Source) -> Iterator[Finding]:
    """Find a file that is copied as a whole."""
    target = job.learnt.analogs.get(source.path)
    if target is None:
        return
    standing = job.workspace.sources.get(target)
    concerned = programs.concern(job, source)
    reason = programs.why_not_copied(job, copy_file(job, source)) if concerned else ""
    text = source.text(0, source.size)
    # In the counterpart of a crate the port has what is linked as well.
    if not reason and declares_linked(text) and declares_linked(copy_file(job, source)):
        reason = foreign.why_not_copied(job, text) or foreign.find_doubt(job, text)
    reason = reason or doubt_in(job, text)
    lacking = offered.missing_in_file(
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
        message=joined(f"{target} is its copy", reason),
        files=lambda: (NewFile(target, copy_file(job, source).replace("\n", source.newline)),),
        claims=(whole,),
    )
    if standing is not None:
        yield from differences(job, CODE, target, lambda: copy_file(job, source))


def _text(source: Source) -> str:
    return source.text(0, source.size)


RULE = FileRule(CODE, When.MENTIONS, check)
