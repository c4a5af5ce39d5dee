"""Run all rules over a workspace and collect findings.

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

from portkit.checks.ported_tree import PortedTree
from portkit.context.device_macros import describe_device_macro
from portkit.context.port_job import DeviceMacro, Gating, PortJob, TreeFacts
from portkit.engine.match_gaps import fill_gaps
from portkit.engine.parallel import Team, run_in_two_processes
from portkit.engine.rule_index import RuleIndex
from portkit.engine.walk import Unaccounted, scan_file
from portkit.port import whole_files as files
from portkit.port.new_files import AddedFiles, list_added_files
from portkit.rules import Rule, file_rules, list_rules
from portkit.rules.file_rules import report_failed_file
from portkit.syntax.compressed_source import release_in_turn
from portkit.syntax.source_file import (
    SourceFile,
    find_grammar,
)
from portkit.syntax.value import Value
from portkit.syntax.word_search import build_word_finder, find_occurrences
from portkit.workspace.cargo_workspace import CUDA_CODE, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set

    from portkit.hipify.translator import Translation
    from portkit.profiles.profile import CodebaseProfile, VendorProfile
    from portkit.profiles.settings import Exclusion
    from portkit.syntax.span import Span
    from portkit.workspace.finding import Finding


class Scan(Value, frozen=True):
    """The findings of a scan."""

    job: PortJob
    findings: tuple[Finding, ...]
    unaccounted: tuple[Unaccounted, ...]
    # The tree after the port, as far as it was read to fill the gaps of a ``match``.
    ported: PortedTree


def scan_workspace(
    workspace: Workspace,
    vendor: VendorProfile,
    codebase: CodebaseProfile,
    *,
    gating: str = "dummy",
    chosen: Iterable[Rule] | None = None,
    regenerate: bool = False,
    kernels: bool = False,
    skips: tuple[Exclusion, ...] = (),
) -> Scan:
    """Find every place in a workspace that decides for a backend.

    Args:
        regenerate: whether files that were written before are replaced where they differ.
        kernels: whether the sources of kernels are looked into, place by place.
    """
    asked = RuleIndex.of(list_rules() if chosen is None else chosen)
    if codebase.plain:
        # Few trees have such files.
        from portkit.engine.no_feature_names import keep_no_feature_names

        codebase, vendor = keep_no_feature_names(codebase, vendor, workspace)
    job = PortJob(workspace, vendor, codebase, Gating(gating), regenerate, kernels, skips=skips)
    # What both processes need is loaded before they part.
    find_grammar("lib.rs")
    find_grammar("Cargo.toml")
    _make_word_finder(job)
    if kernels:
        _collect_translations(job)
    return run_in_two_processes(
        lambda team: _scan_with_team(team, job, asked),
        sum(source.size for source in workspace.sources.values()),
    )


def rescan_file(found: Scan, path: str, data: bytes) -> Scan:
    """Scan one file again, with the content that an editor holds.

    What the tree as a whole says, such as its macros and which files are copied, is not learnt
    anew.
    """
    asked = RuleIndex.of(list_rules())
    job = found.job
    workspace = replace(
        job.workspace, sources={**job.workspace.sources, path: SourceFile(path, data)}
    )
    translated = {each: made for each, made in job.translated.items() if each != path}
    job = replace(job, workspace=workspace, translated=translated)
    source = workspace.sources[path]
    mentions = {**job.tree_facts.mentions, path: job.mentions(source, _make_word_finder(job)(data))}
    job = replace(
        job, tree_facts=replace(job.tree_facts, mentions={p: m for p, m in mentions.items() if m})
    )
    added = (*list_added_files(job),)
    is_written = partial(_is_written, frozenset(job.tree_facts.copied_files.values()), added)
    looked, left = scan_file(job, path, asked, is_written)
    of_kernel = job.kernels and path.endswith(CUDA_CODE)
    looked += (f for each in added if of_kernel for f in each.findings() if f.path == path)
    findings = [f for f in found.findings if f.path != path or f.code == file_rules.ADDED_FILE_CODE]
    ported = PortedTree(job, tuple(sorted((*findings, *looked), key=sort_key)))
    findings = fill_gaps(ported, (path,))
    unaccounted = [each for each in found.unaccounted if each.path != path]
    return Scan(
        job,
        tuple(sorted(findings, key=sort_key)),
        tuple(sorted((*unaccounted, *left))),
        ported,
    )


def sort_key(finding: Finding) -> tuple[str, Span, str, str]:
    """Return the sort key of a finding."""
    return finding.path, finding.span, finding.code, finding.symbol


def _scan_with_team(team: Team, job: PortJob, asked: RuleIndex) -> Scan:
    """Scan in one process of a team; the first process returns the whole scan."""
    job, teaching, mine, findings = _learn_tree_facts(team, job)
    # Neither a parsed tree nor what makes a file is sent between processes.
    mine = [path for path in mine if path not in job.tree_facts.copied_files]
    mine += job.tree_facts.copied_files if team.first else ()
    translations = _collect_translations(job) if job.kernels else {}
    others = sorted(job.workspace.sources.keys() - {*teaching, *job.tree_facts.copied_files})
    others.sort(key=partial(_estimate_time, job), reverse=True)
    others.sort(key=translations.__contains__, reverse=True)
    is_written = partial(
        _is_written, frozenset(job.tree_facts.copied_files.values()), (*list_added_files(job),)
    )
    looked, translated = [], {}
    for path in chain(mine, team.draw(others)):
        looked.append(scan_file(job, path, asked, is_written))
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
        findings += (f for rule in asked.tree_rules for f in rule.check(job))
    findings.sort(key=sort_key)  # edits at one place are written in this order
    ported = PortedTree(job, tuple(findings))
    if team.first and asked.finds_gaps:
        findings = fill_gaps(ported)
    findings.sort(key=sort_key)
    return Scan(job, tuple(findings), tuple(sorted(unaccounted)), ported)


def _learn_tree_facts(
    team: Team, job: PortJob
) -> tuple[PortJob, list[str], list[str], list[Finding]]:
    """Return the job with the facts about the tree as a whole.

    With it come the files that said something, those of them that this process has read, and what
    is said of those that portkit fails on.
    """
    words_in = _make_word_finder(job)
    sources = team.share(job.workspace.sources.values(), lambda source: source.size)
    own: dict[str, list[int]] = {}
    mine: list[str] = []
    for source in release_in_turn(sources):
        if offsets := job.mentions(source, words_in(source.data)):
            own[source.path] = offsets
            mine += [source.path] if _must_read_first(job, source) else []
    shares = team.gather((own, [(path, *_read(job, path)) for path in mine]))
    mentions = dict(sorted((path, at) for said, _ in shares for path, at in said.items()))
    gathered = sorted((each for _, read in shares for each in read), key=lambda each: each[0])
    macros = {macro.name: macro for _, found, _, _ in gathered for macro in found}
    modules = [found for _, _, found, _ in gathered]
    analogs = files.find_copied_files(job, mentions, modules)
    unported = {p: m.unported for each in modules for p, m in each.items() if m.unported}
    unported |= {p: unported[outer] for p, outer in files.find_inner_files(job, unported).items()}
    analogs = files.add_inner_modules(
        job, {p: copy for p, copy in analogs.items() if p not in unported}, unported.keys()
    )
    if job.codebase.whole:
        from portkit.port.whole_crates import list_rust_copies  # few trees have such crates

        others = {
            p: copy for p, copy in analogs.items() if job.codebase.find_cuda_only_crate(p) is None
        }
        analogs = dict(sorted({**others, **list_rust_copies(job)}.items()))
    gated = frozenset(p for each in modules for p, m in each.items() if not m.unported)
    inside = files.find_inner_files(job, gated - analogs.keys())
    lost = [finding for _, _, _, found in gathered for finding in found]
    learnt = TreeFacts(mentions, dict(sorted(macros.items())), analogs, unported, gated, inside)
    return replace(job, tree_facts=learnt), [path for path, *_ in gathered], mine, lost


def _read(
    job: PortJob, path: str
) -> tuple[list[DeviceMacro], Mapping[str, files.ModuleFate], list[Finding]]:
    """Return the macros and the modules that a file declares, or that portkit fails on it."""
    try:
        return _find_device_macros(job, path), files.list_declared_files(job, path), []
    except Exception as error:
        if os.environ.get("PORTKIT_TRACEBACK"):
            raise
        return [], {}, [report_failed_file(path, error, 0)]


def _collect_translations(job: PortJob) -> Mapping[str, Callable[[], Translation]]:
    """Return what translates each CUDA source of the added files, by its path."""
    return {p: make for a in list_added_files(job) for p, make in a.translations().items()}


def _is_written(copies: Set[str], added: Sequence[AddedFiles], path: str) -> bool:
    """Whether the port writes a file as a whole."""
    return path in copies or any(a.holds(path) for a in added)


def _make_word_finder(job: PortJob) -> Callable[[bytes], list[str]]:
    return build_word_finder((*job.vendor.vocabulary, *job.vendor.peer_vocabulary))


def _estimate_time(job: PortJob, path: str) -> int:
    """Estimate the time to scan a file; one without a mention is not parsed."""
    return job.workspace.sources[path].size if path in job.tree_facts.mentions else 0


def _must_read_first(job: PortJob, source: SourceFile) -> bool:
    """Whether the content of a file must be known before other files are scanned."""
    if not source.path.endswith(".rs") or job.codebase.kept(source.path):
        return False
    return bool(_find_macro_parameter(job).search(source.data)) or files.may_declare(source.data)


def _find_macro_parameter(job: PortJob) -> re.Pattern[bytes]:
    return re.compile(rf"\$\w*(?:{job.vendor.source})\w*\s*:".encode(), re.IGNORECASE)


def _find_device_macros(job: PortJob, path: str) -> list[DeviceMacro]:
    """Return the macros that a file defines and that take an argument for the source vendor."""
    source = job.workspace.sources[path]
    if not _find_macro_parameter(job).search(source.data):
        return []
    definition = b"macro_rules!"
    found = []
    pending = [source.tree_around([*find_occurrences(source.data, definition)]).root_node]
    while pending:
        node = pending.pop()
        if node.type == "macro_definition":
            found.append(describe_device_macro(job, node))
        elif source.data.find(definition, node.start_byte, node.end_byte) >= 0:
            pending += node.named_children
    return [macro for macro in found if macro is not None]
