"""A file that mentions a backend and is left alone as a whole.

It belongs to a peer of CUDA's, to a library without a counterpart, or to nothing that is
compiled, or the codebase's profile keeps it; the message says which. A header is a peer's by what
its code names. So it is with the manifest and the kernels of a crate that is CUDA's as a whole,
whose counterpart is another crate, and with all of one that gets none. Its build script is for a
person where none can be derived from it. A module under the feature is left alone as well where it
needs a crate that CUDA alone has, or where its copy has no name yet. So is the file of a target
that requires CUDA's feature, and whose name says nothing of CUDA.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from portkit.copying import bound
from portkit.copying.additions import beside
from portkit.copying.launchers import launchers
from portkit.copying.targets import cuda_only_target
from portkit.copying.whole_files import unported_file
from portkit.lang.renaming import code_only
from portkit.lang.span import Span
from portkit.rules import FileRule, When
from portkit.rules.page_section import section_of
from portkit.site.context import Gating
from portkit.tree.finding import Applicability, Finding, Status
from portkit.tree.workspace import CUDA_CODE, KERNELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.source import Source
    from portkit.site.context import Job


def check(job: Job, source: Source) -> Iterator[Finding]:
    """Find a file that mentions a backend and is no matter of a copy."""
    path, trust = source.path, Applicability.KEEP
    if path in job.learnt.analogs or section_of(job, source) is not None:
        return
    said = reason = _kept_reason(job, source)
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
    elif not reason and (alone := bound.of_file(job, path)) is not None:
        trust = Applicability.MANUAL
        said = reason = f"{alone.reason}: nothing of it is copied before that"
    if not reason:
        return
    whole = Span(0, max(len(source.data), 1))
    number = len(job.learnt.mentions.get(path, ()))
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


def _build_by_hand(job: Job, path: str) -> str:
    """Return why a person writes the build script of a counterpart, if one does."""
    whole = job.codebase.whole_at(path)
    if whole is None or whole.unported or not job.workspace.is_build_script(path):
        return ""
    found = launchers(job, whole)
    if not isinstance(found, str):
        return ""
    return f"{found}: write {whole.place}/build.rs, and have hipcc compile what this has nvcc do"


def _kept_reason(job: Job, source: Source) -> str:
    kept = job.codebase.kept(source.path)
    if kept is not None:
        return kept.reason
    if source.path.endswith(CUDA_CODE) and (said := beside(job, source.path)):
        return said
    whole = job.codebase.whole_at(source.path)
    if whole is not None:
        return whole.unported or f"{whole.place} takes the place of the whole crate"
    if not source.path.endswith(".rs"):
        return _of_peer(job) if _names_peer_alone(job, source) else ""
    if job.gating is Gating.CFG and f"dummy_{job.vendor.source}" in source.path:
        return "there is no dummy backend with --gating cfg"
    if any(
        part.startswith(peer) or f"_{peer}" in part
        for peer in job.vendor.peers
        for part in source.path.split("/")[1:]
    ):
        return _of_peer(job)
    feature = unported_file(job, source.path)
    if feature:
        return job.why_unported(feature, source.path)
    if (target := cuda_only_target(job, source.path)) is not None:
        return (
            f"the target {target.name} requires the feature {job.source_feature}, so CUDA alone is"
            " built with it"
        )
    alone = bound.of_file(job, source.path)
    return alone.reason if alone is not None and alone.settled else ""


def _names_peer_alone(job: Job, source: Source) -> bool:
    """Whether a header or C++ is a peer's by what its code names: a peer, and nothing of CUDA's.

    Comments are no code, in C++ as in Rust.
    """
    if not source.path.endswith(CUDA_CODE) or source.path.endswith(KERNELS):
        return False
    code = code_only(source.text(0, source.size))
    return job.names_peer(code) and not job.names_source(code)


def _of_peer(job: Job) -> str:
    return f"it belongs to {job.vendor.peers[0].capitalize()}; {job.vendor.title} follows CUDA"


RULE = FileRule("PK102", When.MENTIONS, check)
