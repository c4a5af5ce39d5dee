"""An entry of a profile, a decision, or a line about a place looked at, that does nothing.

It names a file, an item or a text that the tree does not have, so that it would decide about what
comes there later. Take it away, or say with ``since`` and ``until`` in which versions it has
something to do. An entry that finds something in a version in which it says that it has nothing
to do is reported as well. Nothing is said of what a crate has that was not published in the tree's
version (``fetch.toml``). Where more than half of one of portkit's own profiles finds nothing, the
tree is a part of the codebase, and nothing is said either.

A line of ``portkit.review.toml`` does nothing where no place has its identity or its content;
``portkit review`` leaves it away when it writes the file next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

from portkit.codebases.registry import MAIN, find_shipped
from portkit.context.port_job import PortJob
from portkit.port.item_patches import IDLE
from portkit.port.new_files import WORKFLOWS
from portkit.profiles.accepted_findings import NAME as LOOKED
from portkit.profiles.entries import Entry, ExtraArms, Guard, Patch, ProsePatch, Section, TextPatch
from portkit.profiles.settings import NAME, Settings
from portkit.rules import DirectRule
from portkit.syntax.items import find_items
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.syntax.typed_toml import Key, KeyLines
from portkit.workspace.finding import Applicability, Finding, Status

_Idle = tuple[Key, str, str]
"""Where an entry stands in the profile, what it names, and what is wrong."""


def has_target(job: PortJob, patch: Patch) -> bool:
    """Whether the tree has what a patch is about that says that there is nothing.

    It may where another patch stands for it in the tree's version.
    """
    version = job.workspace.version
    if any(
        other.applies_to_version(version) and other.replaces(patch)
        for other in job.codebase.patches
    ):
        return False
    return any(
        _stands_in(source, patch)
        for source in find_files(job, patch.path)
        if not job.codebase.kept(source.path)
    )


def _stands_in(source: SourceFile, patch: Patch) -> bool:
    if isinstance(patch, TextPatch | ProsePatch):
        return patch.find.encode() in source.data
    if isinstance(patch, Section):
        return (
            re.search(rb"^%s\r?$" % re.escape(patch.before.encode()), source.data, re.M) is not None
        )
    if not isinstance(patch, Guard | ExtraArms):  # the others are looked for where the files are
        return False
    return has_item(source, patch.symbol, patch.symbol.__eq__)


def find_files(job: PortJob, pattern: str) -> list[SourceFile]:
    """Return the files whose path fits a pattern."""
    sources = job.workspace.sources
    if not set("*?[") & set(pattern):
        return [sources[pattern]] if pattern in sources else []
    return [source for path, source in sources.items() if fnmatchcase(path, pattern)]


def has_item(source: SourceFile, symbol: str, fits: Callable[[str], bool]) -> bool:
    """Whether a file has an item whose name fits."""
    return any(fits(item.symbol) for item in find_items(source, [symbol]))


def is_renamed(job: PortJob, word: str) -> bool:
    """Whether an identifier stands in a file that mentions a backend; others are not renamed."""
    # What is copied whole is likely to hold it.
    for path in (*job.tree_facts.copied_files, *job.tree_facts.mentions):
        if is_word_in_texts([job.workspace.sources[path].data], word):
            return True
    return False


def is_feature(job: PortJob, manifests: list[bytes], feature: str) -> bool:
    """Whether a crate of the workspace has a feature, or a manifest names it."""
    return any(feature in crate.features for crate in job.workspace.crates) or is_word_in_texts(
        manifests, feature
    )


def is_word_in_texts(texts: Iterable[bytes], word: str) -> bool:
    """Whether a word stands in one of some texts, by itself."""
    wanted = word.encode()
    found = rb"(?<![\w-])" + re.escape(wanted) + rb"(?![\w-])"
    return any(wanted in text and re.search(found, text) for text in texts)


def is_crate_missing(job: PortJob, path: str) -> bool:
    """Whether a path is of a crate that the codebase has and the tree has not."""
    folder = path.partition("/")[0]
    if job.codebase.directory is None or f"{folder}/Cargo.toml" in job.workspace.sources:
        return False
    from portkit.fetch.workspace import list_published_crates  # few trees lack a crate

    return folder in list_published_crates(job.codebase.directory)


_UNDECIDED: Final = (
    "no condition or choice in the tree matches this entry: correct it, or delete it"
)
_SHADOWED: Final = "an earlier entry decides all that this one matches: correct it, or delete it"
_NOTHING: Final = "nothing in the tree matches this entry: delete it, or add `since` or `until`"
_NO_FEATURE: Final = (
    "nothing in the tree matches this entry: set it to the feature that turns CUDA on"
)
_NOWHERE: Final = "the accepted finding is not in the tree any more: delete the line"
_SOMETHING: Final = "it has nothing to do in {version}, it says, but there is something: {what}"


def check(job: PortJob, findings: Sequence[Finding], settings: Settings) -> tuple[Finding, ...]:
    """Return a finding for each entry of the codebase's profile that does nothing in the tree."""
    used = {finding.entry for finding in findings}
    shadowed = {entry for finding in findings for entry in finding.shadowed}
    own = tuple(_find_idle_decisions(job, used, shadowed, settings))
    # What would decide if the user's decision did not is not idle.
    decided = {*map(job.codebase.key, job.codebase.conditions[: len(settings.decisions)])}
    shadows = (f.shadowed for f in findings if f.entry in decided)
    used |= {next((entry for entry in each if entry not in decided), "") for each in shadows}
    codebase, directory = job.codebase, job.codebase.directory
    idle = tuple(_find_idle_entries(job, findings, used, len(settings.decisions)))
    entries = len(codebase.keep) + len(codebase.conditions) + len(codebase.patches)
    if not idle or (directory in find_shipped().values() and 2 * len(idle) > entries):
        return own  # of many, the tree is a part of the codebase, and the profile is not the tree's
    idle = tuple(each for each in idle if not _names_absent_crate(job, each))
    if directory is None:
        return *own, *(
            _build_finding(MAIN, 0, f"{key[0]} {name!r}", why) for key, name, why in idle
        )
    path, lines = f"{directory.root.name}/{MAIN}", KeyLines(directory.text(MAIN))
    return *own, *(
        _build_finding(path, lines.of(key), f"{key[0]} {n!r}", why) for key, n, why in idle
    )


def _names_absent_crate(job: PortJob, idle: _Idle) -> bool:
    """Whether an entry is about a crate of the codebase that the tree lacks."""
    key, _, why = idle
    tables = {"keep": job.codebase.keep, "patch": job.codebase.patches}
    if why != _NOTHING or key[0] not in tables:
        return False
    return is_crate_missing(job, tables[str(key[0])][int(key[1])].path)


def report_lost_acceptance(path: str, line: int, place: str) -> Finding:
    """Return the finding about a place that was looked at and stands nowhere any more."""
    return _build_finding(path, line, f"place {place}", _NOWHERE)


def _find_idle_decisions(
    job: PortJob, used: AbstractSet[str], shadowed: AbstractSet[str], settings: Settings
) -> Iterator[Finding]:
    for entry, line in zip(job.codebase.conditions, settings.condition_lines, strict=False):
        key = job.codebase.key(entry)
        if key not in used:
            why = _SHADOWED if key in shadowed else _UNDECIDED
            yield _build_finding(NAME, line, f"decision {entry.when!r}", why)


def _find_idle_entries(
    job: PortJob, findings: Sequence[Finding], used: AbstractSet[str], own: int
) -> Iterator[_Idle]:
    """Yield what does nothing; the first conditions, ``own`` of them, are not the profile's."""
    codebase = job.codebase
    for number, condition in enumerate(codebase.conditions[own:]):
        met = codebase.key(condition) in used
        yield from _describe_entry(job, ("condition", number), condition, condition.when, met)
    keeping = {id(codebase.kept(path)) for path in job.tree_facts.mentions}
    for number, keep in enumerate(codebase.keep):
        met = id(keep) in keeping
        yield from _describe_entry(job, ("keep", number), keep, keep.path, met)
    taking = {id(codebase.find_no_feature_entry(path)) for path in job.tree_facts.mentions}
    for number, plain in enumerate(codebase.plain):
        yield from _describe_entry(job, ("plain", number), plain, plain.path, id(plain) in taking)
    for number, patch in enumerate(codebase.patches):
        met = codebase.key(patch) in used or (
            not patch.applies_to_version(job.workspace.version) and has_target(job, patch)
        )
        yield from _describe_entry(job, ("patch", number), patch, _name_entry(patch), met)
    for number, exclusive in enumerate(codebase.feature_conflicts):
        met = any(
            has_item(source, exclusive.symbol, partial(fnmatchcase, pat=exclusive.symbol))
            for source in find_files(job, exclusive.path)
            if source.path in job.tree_facts.mentions
        )
        yield from _describe_entry(job, ("exclusive", number), exclusive, exclusive.symbol, met)
    for number, folder in enumerate(codebase.hip_sources):
        met = bool(folder.found(job.workspace.sources))
        yield from _describe_entry(job, ("hip_sources", number), folder, folder.source, met)
    added = {finding.path for finding in findings if finding.code == "PK103"}
    # Whether a workflow is written is a decision, and depends on whether the tree has others.
    added |= {path for path in codebase.templates if path.startswith(f"{WORKFLOWS}/")}
    manifests = [s.data for path, s in job.workspace.sources.items() if path.endswith("Cargo.toml")]
    for name in codebase.declared_dependencies:
        if not is_word_in_texts(manifests, name):
            yield ("dependencies", name), name, _NOTHING
    for name in codebase.uses:
        crates = {crate for crate, ported in codebase.ported.items() if ported.codebase == name}
        if not job.workspace.depends_on_crate(crates):
            yield ("uses",), name, _NOTHING
    if codebase.source_feature and not is_feature(job, [], codebase.source_feature):
        yield ("source_feature",), codebase.source_feature, _NO_FEATURE
    for place, said in codebase.versions.items():
        word = str(place[-1])
        if place[0] == "templates":
            met = word in added
        elif place[0] == "names":
            met = is_renamed(job, word)
        else:
            met = is_feature(job, manifests, word)
        yield from _describe_entry(
            job, place, said if isinstance(said, Entry) else Entry(), word, met
        )
    host = codebase.host
    # Above another codebase it may be that one's.
    rust = (s.data for path, s in job.workspace.sources.items() if path.endswith(".rs"))
    if host is not None and not codebase.uses and not is_word_in_texts(rust, host.storage):
        yield ("host",), host.storage, _NOTHING
    kernels = codebase.kernels
    if kernels is not None and f"{kernels.source}/Cargo.toml" not in job.workspace.sources:
        yield ("kernels",), kernels.source, _NOTHING


def _describe_entry(job: PortJob, key: Key, entry: Entry, name: str, met: bool) -> Iterator[_Idle]:
    version = job.workspace.version
    if entry.applies_to_version(version) and not met and entry.published:
        yield key, name, _NOTHING
    elif met and not entry.applies_to_version(version):
        yield key, name, _SOMETHING.format(version=version, what="mend since or until")


def _build_finding(path: str, line: int, symbol: str, why: str) -> Finding:
    return Finding(
        code=IDLE,
        path=path,
        span=Span(0, 0),
        construct=f"entry of {path}" if path in (NAME, LOOKED) else "entry of a profile",
        symbol=symbol,
        applicability=Applicability.REVIEW,
        status=Status.NONE,
        message=why,
        line=line,
    )


def _name_entry(patch: Patch) -> str:
    if isinstance(patch, TextPatch | ProsePatch):
        return patch.find
    return patch.heading if isinstance(patch, Section) else patch.symbol


RULE = DirectRule(IDLE, check)
