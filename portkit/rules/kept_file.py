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

from collections.abc import Iterator
from pathlib import PurePosixPath

from portkit.context.port_job import Gating, PortJob
from portkit.port import cuda_only_deps
from portkit.port.c_launchers import find_launchers
from portkit.port.manifest_targets import find_cuda_only_target
from portkit.port.new_files import explain_adjacent_file
from portkit.port.whole_files import find_unported_feature_of_file
from portkit.rules import FileFilter, FileRule
from portkit.rules.page_section import find_section
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.workspace.cargo_workspace import CUDA_CODE, KERNELS
from portkit.workspace.finding import Applicability, Finding, Status


def check(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find a file that mentions a backend and is no matter of a copy."""
    path, trust = source.path, Applicability.KEEP
    if path in job.tree_facts.copied_files or find_section(job, source) is not None:
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


def _kept_reason(job: PortJob, source: SourceFile) -> str:
    kept = job.codebase.kept(source.path)
    if kept is not None:
        return kept.reason
    if source.path.endswith(CUDA_CODE) and (said := explain_adjacent_file(job, source.path)):
        return said
    whole = job.codebase.find_cuda_only_crate(source.path)
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


def _of_peer(job: PortJob) -> str:
    return f"it belongs to {job.vendor.peers[0].capitalize()}; {job.vendor.title} follows CUDA"


RULE = FileRule("PK102", FileFilter.MENTIONS, check)
