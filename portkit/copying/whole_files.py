"""Findings about whole files: copied, kept, added."""

from __future__ import annotations

import re
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from portkit.copying.additions import additions
from portkit.copying.analog import copy_file
from portkit.copying.fingerprint import overrides, repairs
from portkit.lang.cfg import conditions_of, parse_cfg
from portkit.lang.source import field_text, grouped, node_text
from portkit.lang.span import Span
from portkit.site.context import Gating
from portkit.templates import render
from portkit.tree.finding import Applicability, Edit, Finding, NewFile, Status
from portkit.tree.workspace import CUDA_CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from portkit.copying.additions import Addition
    from portkit.lang.source import Source
    from portkit.site.context import Job

ANALOG, KEPT, ADDED, PAGE, UNREAD = "PK101", "PK102", "PK103", "PK105", "PK902"


_MODULE = re.compile(rb"mod \w+;")
# An attribute ends before the declaration of a module.
_CONDITIONAL_MODULE = re.compile(rb"\]\s*+(?://[^\n]*\s*+)*+(?:pub(?:\([^)]*\))?\s+)?mod \w+;")


def may_declare(data: bytes) -> bool:
    """Whether a file may declare modules under conditions."""
    # The first pattern is ten times as fast, and few files hold it.
    return bool(_MODULE.search(data) and _CONDITIONAL_MODULE.search(data))


def declared(job: Job, path: str) -> Mapping[str, str]:
    """Return the files whose modules a file declares under a condition that names a backend.

    Args:
        job: the job.
        path: the file with the declarations.

    Returns:
        The path of the module's file (``#[cfg(feature = "cuda")] mod fast_mmq;`` names
        ``fast_mmq.rs``) to the path of its copy; empty for a file that has no counterpart.
    """
    source = job.workspace.sources[path]
    found: dict[str, str] = {}
    if not may_declare(source.data):
        return found
    for node, attributes in grouped(source.tree.root_node):
        if node.type != "mod_item" or node.child_by_field_name("body") is not None:
            continue
        target = _module_file(job, path, field_text(node, "name"))
        if target is None:
            continue
        for _, cfg in conditions_of(attributes):
            if any(cfg.requires(f) for f in job.vendor.unported):
                found[target] = ""
            elif cfg.requires(job.vendor.source):
                found.setdefault(target, renamed_path(job, target, stem=True))
    return found


def analogs(job: Job, modules: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the files that are copied whole, with the path of the copy.

    A file is the CUDA backend's if its path says so (``cuda_backend/mod.rs``, ``dummy_cuda.rs``),
    or if the module that it holds is declared under the feature. What stands under a feature
    without a counterpart is left out.

    Args:
        job: the job.
        modules: what ``declared`` has found.
    """
    found = {
        path: renamed_path(job, path)
        for path in job.mentions
        if path.endswith(".rs") and not job.codebase.kept(path)
    }
    for names in modules:
        found.update((path, copy) for path, copy in names.items() if found.get(path) != "")
    return {
        path: copy
        for path, copy in sorted(found.items())
        if copy not in ("", path)
        and not _unported(job, path)
        and not (job.gating is Gating.CFG and f"dummy_{job.vendor.source}" in path)
    }


def whole_file(job: Job, source: Source, mentions: int) -> tuple[Finding, ...]:
    """Return the findings about a file that is copied or kept as a whole, if it is one."""
    path = source.path
    whole = Span(0, max(len(source.data), 1))
    if path in job.analogs:
        return tuple(_analog(job, source, whole))
    if path.endswith(".md"):
        return (_page(job, source, whole, mentions),)
    reason = _kept_reason(job, source)
    if not reason and path.endswith(CUDA_CODE):
        return (_kernels(job, source, whole, mentions),)
    if not reason:
        return ()
    kept = Finding(
        code=KEPT,
        path=path,
        span=whole,
        construct="file",
        symbol=PurePosixPath(path).name,
        applicability=Applicability.KEEP,
        status=Status.NONE,
        message=f"{reason} ({mentions} mentions)",
        claims=(whole,),
    )
    return (kept,)


def added(job: Job) -> Iterator[Finding]:
    """Yield the findings about what the port adds and no file of the tree stands for."""
    for addition in additions(job):
        standing = _standing(job, addition)
        yield Finding(
            code=ADDED,
            path=addition.name,
            span=Span(0, 0),
            construct="new file" if "." in addition.name else "new crate",
            symbol=addition.name,
            applicability=Applicability.SAFE,
            status=Status.PORTED if standing else Status.TODO,
            message=addition.message,
            files=partial(_new_files, addition.files),
        )
        if standing:
            for path, make in sorted(addition.files().items()):
                yield from _differences(job, ADDED, path, make)
        if job.kernels:
            yield from addition.findings()


def _standing(job: Job, addition: Addition) -> bool:
    # A HIP source is not among the files that are looked at.
    return job.stands(addition.name) or any(map(addition.holds, job.workspace.sources))


def _new_files(files: Callable[[], Mapping[str, Callable[[], str]]]) -> tuple[NewFile, ...]:
    return tuple(NewFile(path, make()) for path, make in sorted(files().items()))


def _differences(job: Job, code: str, path: str, make: Callable[[], str]) -> Iterator[Finding]:
    """Yield what a file that was written before lacks, and what differs in it.

    Args:
        job: the job.
        code: the code of the findings.
        path: the file.
        make: makes the text that would be written now.
    """
    from portkit.copying import merge

    source = job.workspace.sources.get(path)
    found = partial(Finding, code=code, path=path, applicability=Applicability.SAFE)
    if source is None or path.endswith(CUDA_CODE):
        if not job.stands(path):
            yield found(
                span=Span(0, 0),
                construct="new file",
                symbol=path,
                status=Status.TODO,
                message="the file is missing from what was written before",
                files=lambda: (NewFile(path, make()),),
            )
        elif job.kernels:
            yield from _other_content(job, code, path, make)
        return
    if not job.regenerate and not path.endswith(".rs"):
        return
    text = make()
    if job.regenerate:
        if merge.essence(text) != merge.essence(source.text(0, len(source.data))):
            yield found(
                span=Span(0, len(source.data)),
                construct="new file",
                symbol=path,
                status=Status.TODO,
                message="it is replaced by what would be written now",
                edits=(Edit(0, len(source.data), text),),
            )
        return
    missing, differing = merge.compare(text, source)
    for item in missing:
        yield found(
            span=Span(item.edit.start, item.edit.end),
            construct="item of a copy",
            symbol=item.symbol,
            status=Status.TODO,
            message=f"{item.symbol} is missing from what was written before",
            edits=(item.edit,),
        )
    for other in differing:
        yield Finding(
            code=code,
            path=path,
            span=other.span,
            construct="item of a copy",
            symbol=other.symbol,
            applicability=Applicability.REVIEW,
            status=Status.PORTED,
            message=f"{other.symbol} is not what would be written now; it is left alone "
            "(--regenerate replaces the file)",
        )


def _other_content(job: Job, code: str, path: str, make: Callable[[], str]) -> Iterator[Finding]:
    """Yield the finding about a file of kernels that is not what would be written now."""
    before, text = (job.workspace.root / path).read_bytes(), make()
    if before == text.encode():
        return
    replaced = job.regenerate
    yield Finding(
        code=code,
        path=path,
        span=Span(0, 0),
        construct="new file",
        symbol=path,
        applicability=Applicability.SAFE if replaced else Applicability.REVIEW,
        status=Status.TODO if replaced else Status.PORTED,
        message="it is replaced by what would be written now"
        if replaced
        else "it is not what would be written now; it is left alone (--regenerate replaces it)",
        files=lambda: (NewFile(path, text, before),) if replaced else (),
    )


def outdated(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the files that were written as a whole and are not what would be written now, sorted.

    Upstream's code or portkit has changed since, or a person has changed the file: nothing in a
    tree says which. So they are left alone unless a person asks for ``--regenerate``.
    """
    found = {
        f.path
        for f in findings
        if f.code in (ANALOG, ADDED)
        and f.status is Status.PORTED
        and f.applicability is Applicability.REVIEW
    }
    return tuple(sorted(found))


def regenerating(outdated: Sequence[str], where: str) -> str:
    """Return what to do about files that are not what would be written now, as half a sentence.

    Args:
        outdated: the files, at least one.
        where: the tree as the user named it.
    """
    first, *more = outdated
    others = f" and {len(more)} other file{'s' * (len(more) > 1)}" if more else ""
    tree = "" if where == "." else f" {where}"
    return (
        f"{first}{others} {'are' if more else 'is'} not what portkit would write now, as after a"
        f" merge of upstream: `portkit apply{tree} --regenerate` writes {'them' if more else 'it'}"
        " anew, and `git diff` shows then whether a person's change is lost with it"
    )


def unread(job: Job) -> Iterator[Finding]:
    """Yield a finding for each file that could not be looked at."""
    for file in job.workspace.left_out:
        yield Finding(
            code=UNREAD,
            path=file.path,
            span=Span(0, 0),
            construct="file",
            symbol=PurePosixPath(file.path).name,
            applicability=Applicability.MANUAL,
            status=Status.NONE,
            message=f"{file.reason}: look at it by hand",
        )


def _analog(job: Job, source: Source, whole: Span) -> Iterator[Finding]:
    target = job.analogs[source.path]
    standing = job.workspace.sources.get(target)
    yield Finding(
        code=ANALOG,
        path=source.path,
        span=whole,
        construct="new file",
        symbol=target,
        applicability=Applicability.SAFE,
        status=Status.TODO if standing is None else Status.PORTED,
        message=f"{target} is its copy",
        files=lambda: (NewFile(target, copy_file(job, source).replace("\n", source.newline)),),
        claims=(whole,),
    )
    if standing is not None:
        yield from _differences(job, ANALOG, target, lambda: copy_file(job, source))
    yield from overrides(job, source)
    yield from repairs(job, source)


def _kernels(job: Job, source: Source, whole: Span, mentions: int) -> Finding:
    """Return the finding about a CUDA source that is not kept by the profile."""
    folder = source.path.rpartition("/")[0]
    translated = any(site.folder == folder for site in job.codebase.hip_sources)
    return Finding(
        code=KEPT,
        path=source.path,
        span=whole,
        construct="file",
        symbol=PurePosixPath(source.path).name,
        applicability=Applicability.KEEP if translated else Applicability.MANUAL,
        status=Status.NONE,
        message=f"CUDA code ({mentions} mentions), whose translation lies beside it"
        if translated
        else f"CUDA code ({mentions} mentions): `portkit hipify` makes a HIP source of it; "
        "have the build compile that under the feature",
        claims=(whole,),
    )


def _page(job: Job, source: Source, whole: Span, mentions: int) -> Finding:
    """Return the finding about a page of documentation: it gains a section, or it is kept."""
    own = job.codebase.directory
    for section in job.codebase.sections:
        if section.path != source.path:
            continue
        at = _heading(source, section.before)
        standing = _heading(source, section.heading) >= 0
        if at >= 0 or standing:
            return Finding(
                code=PAGE,
                path=source.path,
                span=whole,
                construct="documentation",
                symbol=section.heading.lstrip("# "),
                applicability=Applicability.SAFE,
                status=Status.PORTED if standing else Status.TODO,
                message=f"the page gains a section {section.heading.lstrip('# ')!r}",
                edits=() if standing else (Edit(at, at, render(section.template, own)),),
                claims=(whole,),
            )
    return Finding(
        code=KEPT,
        path=source.path,
        span=whole,
        construct="file",
        symbol=PurePosixPath(source.path).name,
        applicability=Applicability.KEEP,
        status=Status.NONE,
        message=f"documentation: nothing depends on it ({mentions} mentions)",
        claims=(whole,),
    )


def _heading(source: Source, heading: str) -> int:
    """Return where the line of a heading begins, or -1."""
    match = re.search(rb"^%s\r?$" % re.escape(heading.encode()), source.data, re.MULTILINE)
    return match.start() if match else -1


def _kept_reason(job: Job, source: Source) -> str:
    kept = job.codebase.kept(source.path)
    if kept is not None:
        return kept.reason
    if not source.path.endswith(".rs"):
        return ""
    if job.gating is Gating.CFG and f"dummy_{job.vendor.source}" in source.path:
        return "there is no dummy backend with --gating cfg"
    if any(
        part.startswith(peer) or f"_{peer}" in part
        for peer in job.vendor.peers
        for part in source.path.split("/")[1:]
    ):
        return f"it belongs to {job.vendor.peers[0].capitalize()}; ROCm follows CUDA"
    feature = _unported(job, source.path)
    return job.vendor.unported[feature] if feature else ""


def _unported(job: Job, path: str) -> str:
    """Return the unported feature that a file as a whole depends on, or an empty string."""
    source = job.workspace.sources[path]
    stem = PurePosixPath(path).stem
    for feature in sorted(job.vendor.unported):
        if feature.replace("-", "_") == stem:
            return feature
    attributes = source.tree.root_node.children if b"#![cfg" in source.data else ()
    for node in attributes:
        if node.type == "inner_attribute_item":
            cfg = parse_cfg(node_text(node))
            for feature in sorted(job.vendor.unported):
                if cfg is not None and cfg.requires(feature):
                    return feature
        elif node.type not in ("line_comment", "block_comment"):
            break
    return _target_feature(job, path)


def _target_feature(job: Job, path: str) -> str:
    """Return the unported feature that the manifest asks for to build a target, if any."""
    crate = job.workspace.crate_of(path)
    if crate is None:
        return ""
    for kind, folder in (("example", "examples"), ("test", "tests"), ("bench", "benches")):
        for target in crate.manifest.get(kind, ()):
            name = target.get("name", "")
            below = path.removeprefix(crate.directory + "/")
            if below == f"{folder}/{name}.rs" or below.startswith(f"{folder}/{name}/"):
                for feature in target.get("required-features", ()):
                    if feature in job.vendor.unported:
                        return str(feature)
    return ""


def renamed_path(job: Job, path: str, *, stem: bool = False) -> str:
    """Return the path that a file has on the vendor's side; its own where no part names CUDA's.

    Args:
        job: the job.
        path: the file.
        stem: rename the file even though its path names no backend.
    """
    crate = job.workspace.crate_of(path)
    prefix = "" if crate is None or crate.directory == "." else crate.directory + "/"
    inside = path.removeprefix(prefix)
    parts = inside.split("/")
    renamed = []
    for part in parts:
        name, dot, ending = part.partition(".")
        renamed.append(job.vendor.names.word(name) + dot + ending)
    if not stem and not job.names_source(inside):
        return path
    return prefix + "/".join(renamed)


def _module_file(job: Job, path: str, module: str) -> str | None:
    """Return the file that ``mod module;`` in ``path`` names, if it is in the tree.

    Source: the Rust reference, chapter "Modules", section "Module source filenames".
    """
    pure = PurePosixPath(path)
    below = pure.parent if pure.stem in ("mod", "lib", "main") else pure.parent / pure.stem
    for candidate in (below / f"{module}.rs", below / module / "mod.rs"):
        if str(candidate) in job.workspace.sources:
            return str(candidate)
    return None
