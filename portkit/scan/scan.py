"""From a tree to its findings.

Only what holds a backend mention is looked at: a walk descends from the root of a file's syntax
tree into the nodes that hold a mention which no finding has claimed yet. What is left when the walk
ends is *unaccounted*, so that nothing can be passed over in silence.
"""

from __future__ import annotations

import os
import re
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.checks.ported import Ported
from portkit.copying import whole_files as files
from portkit.copying.additions import additions
from portkit.lang.packed import in_turn
from portkit.lang.source import (
    Source,
    language,
)
from portkit.lang.value import Value
from portkit.lang.words import finder, occurrences
from portkit.rules import added_file, rules
from portkit.rules.unread_file import failed
from portkit.scan.asked import Asked
from portkit.scan.gaps import fill_gaps
from portkit.scan.look import looked_at
from portkit.scan.parallel import together
from portkit.site.context import Gating, Job, Learnt
from portkit.site.macros import described
from portkit.tree.workspace import CUDA_CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set

    from portkit.copying.additions import Addition
    from portkit.hipify.engine import Translation
    from portkit.lang.span import Span
    from portkit.profile.profile import CodebaseProfile, VendorProfile
    from portkit.profile.settings import Skip
    from portkit.rules import Rule
    from portkit.scan.parallel import Team
    from portkit.scan.walk import Unaccounted
    from portkit.site.context import DeviceMacro
    from portkit.tree.finding import Finding
    from portkit.tree.workspace import Workspace


class Scan(Value, frozen=True):
    """What a scan says about a tree.

    Attributes:
        job: the job, with all that was learnt about the tree.
        findings: sorted by path and position.
        unaccounted: mentions that no finding accounts for, sorted.
        ported: the tree after the port, as far as it was read to fill the gaps of a ``match``.
    """

    job: Job
    findings: tuple[Finding, ...]
    unaccounted: tuple[Unaccounted, ...]
    ported: Ported


def scan(
    workspace: Workspace,
    vendor: VendorProfile,
    codebase: CodebaseProfile,
    *,
    gating: str = "dummy",
    chosen: Iterable[Rule] | None = None,
    regenerate: bool = False,
    kernels: bool = False,
    skips: tuple[Skip, ...] = (),
) -> Scan:
    """Find every place in a workspace where a backend decision stands.

    Args:
        workspace: the tree.
        vendor: the vendor to port to.
        codebase: what is particular to the codebase.
        gating: ``dummy`` or ``cfg``.
        chosen: the rules to ask; all of them by default.
        regenerate: whether files that were written before are replaced where they differ.
        kernels: whether the sources of kernels are looked into, place by place.
        skips: what ``portkit.toml`` leaves out.
    """
    asked = Asked.of(rules() if chosen is None else chosen)
    if codebase.plain:
        from portkit.scan.plain import with_plain  # few trees have such files

        codebase, vendor = with_plain(codebase, vendor, workspace)
    job = Job(workspace, vendor, codebase, Gating(gating), regenerate, kernels, skips=skips)
    # What both processes need is loaded before they part.
    language("lib.rs")
    language("Cargo.toml")
    _finder(job)
    if kernels:
        _translations(job)
    return together(
        lambda team: _scanned(team, job, asked),
        sum(source.size for source in workspace.sources.values()),
    )


def again(found: Scan, path: str, data: bytes) -> Scan:
    """Return a scan in which one file is looked at as it stands in an editor.

    What the tree as a whole says, such as its macros and which files are copied, is not learnt
    anew.

    Args:
        found: a scan by all rules, from which nothing was taken.
        path: a file that was looked at.
        data: what it holds now.
    """
    asked = Asked.of(rules())
    job = found.job
    workspace = replace(job.workspace, sources={**job.workspace.sources, path: Source(path, data)})
    translated = {each: made for each, made in job.translated.items() if each != path}
    job = replace(job, workspace=workspace, translated=translated)
    source = workspace.sources[path]
    mentions = {**job.learnt.mentions, path: job.mentions(source, _finder(job)(data))}
    job = replace(
        job, learnt=replace(job.learnt, mentions={p: m for p, m in mentions.items() if m})
    )
    added = (*additions(job),)
    is_written = partial(_is_written, frozenset(job.learnt.analogs.values()), added)
    looked, left = looked_at(job, path, asked, is_written)
    of_kernel = job.kernels and path.endswith(CUDA_CODE)
    looked += (f for each in added if of_kernel for f in each.findings() if f.path == path)
    findings = [f for f in found.findings if f.path != path or f.code == added_file.CODE]
    ported = Ported(job, tuple(sorted((*findings, *looked), key=in_order)))
    findings = fill_gaps(ported, (path,))
    unaccounted = [each for each in found.unaccounted if each.path != path]
    return Scan(
        job,
        tuple(sorted(findings, key=in_order)),
        tuple(sorted((*unaccounted, *left))),
        ported,
    )


def in_order(finding: Finding) -> tuple[str, Span, str, str]:
    """Return what findings are sorted by."""
    return finding.path, finding.span, finding.code, finding.symbol


def _scanned(team: Team, job: Job, asked: Asked) -> Scan:
    """Scan with a team; what the first process returns is whole."""
    job, teaching, mine, findings = _learnt(team, job)
    # Neither a parsed tree nor what makes a file is sent between processes.
    mine = [path for path in mine if path not in job.learnt.analogs]
    mine += job.learnt.analogs if team.first else ()
    translations = _translations(job) if job.kernels else {}
    others = sorted(job.workspace.sources.keys() - {*teaching, *job.learnt.analogs})
    others.sort(key=partial(_weight, job), reverse=True)
    others.sort(key=translations.__contains__, reverse=True)
    is_written = partial(_is_written, frozenset(job.learnt.analogs.values()), (*additions(job),))
    looked, translated = [], {}
    for path in chain(mine, team.draw(others)):
        looked.append(looked_at(job, path, asked, is_written))
        if path in translations:
            translated[path] = translations[path]()
    unaccounted: list[Unaccounted] = []
    for share, made in team.collect((looked, translated)):
        for found, left in share:
            findings += found
            unaccounted += left
        translated.update(made)
    if team.first:
        job = replace(job, translated=translated) if translated else job
        findings += (f for rule in asked.of_tree for f in rule.check(job))
    findings.sort(key=in_order)  # edits at one place are written in this order
    ported = Ported(job, tuple(findings))
    if team.first and asked.of_gaps:
        findings = fill_gaps(ported)
    findings.sort(key=in_order)
    return Scan(job, tuple(findings), tuple(sorted(unaccounted)), ported)


def _learnt(team: Team, job: Job) -> tuple[Job, list[str], list[str], list[Finding]]:
    """Return the job with what the tree as a whole says.

    With it come the files that said something, those of them that this process has read, and what
    is said of those that portkit fails on.
    """
    words_in = _finder(job)
    sources = team.share(job.workspace.sources.values(), lambda source: source.size)
    own: dict[str, list[int]] = {}
    mine: list[str] = []
    for source in in_turn(sources):
        if offsets := job.mentions(source, words_in(source.data)):
            own[source.path] = offsets
            mine += [source.path] if _may_teach(job, source) else []
    shares = team.gather((own, [(path, *_read(job, path)) for path in mine]))
    mentions = dict(sorted((path, at) for said, _ in shares for path, at in said.items()))
    gathered = sorted((each for _, read in shares for each in read), key=lambda each: each[0])
    macros = {macro.name: macro for _, found, _, _ in gathered for macro in found}
    modules = [found for _, _, found, _ in gathered]
    analogs = files.analogs(job, mentions, modules)
    unported = {p: m.unported for each in modules for p, m in each.items() if m.unported}
    unported |= {p: unported[outer] for p, outer in files.inside(job, unported).items()}
    analogs = files.with_modules(
        job, {p: copy for p, copy in analogs.items() if p not in unported}, unported.keys()
    )
    if job.codebase.whole:
        from portkit.copying.whole_crates import rust_copies  # few trees have such crates

        others = {p: copy for p, copy in analogs.items() if job.codebase.whole_at(p) is None}
        analogs = dict(sorted({**others, **rust_copies(job)}.items()))
    gated = frozenset(p for each in modules for p, m in each.items() if not m.unported)
    inside = files.inside(job, gated - analogs.keys())
    lost = [finding for _, _, _, found in gathered for finding in found]
    learnt = Learnt(mentions, dict(sorted(macros.items())), analogs, unported, gated, inside)
    return replace(job, learnt=learnt), [path for path, *_ in gathered], mine, lost


def _read(
    job: Job, path: str
) -> tuple[list[DeviceMacro], Mapping[str, files.Module], list[Finding]]:
    """Return the macros and the modules that a file declares, or that portkit fails on it."""
    try:
        return _device_macros(job, path), files.declared(job, path), []
    except Exception as error:
        if os.environ.get("PORTKIT_TRACEBACK"):
            raise
        return [], {}, [failed(path, error, 0)]


def _translations(job: Job) -> Mapping[str, Callable[[], Translation]]:
    return {p: make for a in additions(job) for p, make in a.translations().items()}


def _is_written(copies: Set[str], added: Sequence[Addition], path: str) -> bool:
    """Whether a file is one that the port writes as a whole, so that it is ROCm's own."""
    return path in copies or any(a.holds(path) for a in added)


def _finder(job: Job) -> Callable[[bytes], list[str]]:
    return finder((*job.vendor.vocabulary, *job.vendor.peer_vocabulary))


def _weight(job: Job, path: str) -> int:
    """Return how long it takes to look at a file, roughly: one without a mention is not parsed."""
    return job.workspace.sources[path].size if path in job.learnt.mentions else 0


def _may_teach(job: Job, source: Source) -> bool:
    """Whether what a file says must be known before the others are looked at."""
    if not source.path.endswith(".rs") or job.codebase.kept(source.path):
        return False
    return bool(_macro_parameter(job).search(source.data)) or files.may_declare(source.data)


def _macro_parameter(job: Job) -> re.Pattern[bytes]:
    return re.compile(rf"\$\w*(?:{job.vendor.source})\w*\s*:".encode(), re.IGNORECASE)


def _device_macros(job: Job, path: str) -> list[DeviceMacro]:
    """Return the macros that a file defines and that take an argument for the source vendor."""
    source = job.workspace.sources[path]
    if not _macro_parameter(job).search(source.data):
        return []
    definition = b"macro_rules!"
    found = []
    pending = [source.tree_around([*occurrences(source.data, definition)]).root_node]
    while pending:
        node = pending.pop()
        if node.type == "macro_definition":
            found.append(described(job, node))
        elif source.data.find(definition, node.start_byte, node.end_byte) >= 0:
            pending += node.named_children
    return [macro for macro in found if macro is not None]
