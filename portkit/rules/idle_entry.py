"""An entry of a codebase's profile, or a decision in ``portkit.toml``, that does nothing.

It names a file, an item or a text that the tree does not have, so that it would decide about what
comes there later. Take it away, or say with ``since`` and ``until`` in which versions it has
something to do. An entry that finds something in a version in which it says that it has nothing
to do is reported as well. Where more than half of one of portkit's own profiles finds nothing,
the tree is a part of the codebase, and nothing is said.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Final

from portkit.codebases.known import MAIN, brought
from portkit.copying.patches import IDLE
from portkit.lang.span import Span
from portkit.lang.typed import line_of
from portkit.profile.entries import Entry, Prose, Section
from portkit.profile.settings import NAME
from portkit.rules import ProfileRule
from portkit.site.presence import files, has_item, has_target, is_feature, is_renamed, named_in
from portkit.tree.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.lang.typed import Key
    from portkit.profile.entries import Patch
    from portkit.profile.settings import Settings
    from portkit.site.context import Job

_NOTHING: Final = "nothing of the tree is what it names: take it away, or say since or until when"
_NO_FEATURE: Final = "nothing of the tree is what it names: name the feature that CUDA is behind"
_SOMETHING: Final = "it has nothing to do in {version}, it says, but there is something: {what}"


def check(job: Job, findings: Sequence[Finding], settings: Settings) -> tuple[Finding, ...]:
    """Return a finding for each entry of the codebase's profile that does nothing in the tree.

    Args:
        job: the job.
        findings: all, before what people except is taken out.
        settings: what ``portkit.toml`` says; its decisions come before the profile's.
    """
    found = tuple(_idle_entries(job, findings, settings))
    codebase, own = job.codebase, [f for f in found if f.path == NAME]
    entries = len(codebase.keep) + len(codebase.conditions) + len(codebase.patches)
    if codebase.directory in brought().values() and 2 * (len(found) - len(own)) > entries:
        return tuple(own)  # the tree is a part of the codebase, and the profile is not the tree's
    return found


def _idle_entries(job: Job, findings: Sequence[Finding], settings: Settings) -> Iterator[Finding]:
    codebase = job.codebase
    used = {finding.entry for finding in findings}
    own = len(settings.decisions)
    for number, entry in enumerate(codebase.conditions):
        if number < own:
            if codebase.key(entry) not in used:
                line = settings.decision_lines[number]
                yield _finding(NAME, line, f"decision {entry.when!r}", _NOTHING)
        else:
            met = codebase.key(entry) in used
            yield from _said(job, ("condition", number - own), entry, entry.when, met)
    keeping = {id(codebase.kept(path)) for path in job.learnt.mentions}
    for number, keep in enumerate(codebase.keep):
        met = id(keep) in keeping
        yield from _said(job, ("keep", number), keep, keep.path, met)
    for number, patch in enumerate(codebase.patches):
        met = codebase.key(patch) in used or (
            not patch.is_for(job.workspace.version) and has_target(job, patch)
        )
        yield from _said(job, ("patch", number), patch, _named(patch), met)
    for number, exclusive in enumerate(codebase.exclusives):
        met = any(
            has_item(source, exclusive.symbol, partial(fnmatchcase, pat=exclusive.symbol))
            for source in files(job, exclusive.path)
            if source.path in job.learnt.mentions
        )
        yield from _said(job, ("exclusive", number), exclusive, exclusive.symbol, met)
    for number, folder in enumerate(codebase.hip_sources):
        met = folder.source in job.workspace.sources
        yield from _said(job, ("hip_sources", number), folder, folder.source, met)
    added = {finding.path for finding in findings if finding.code == "PK103"}
    manifests = [s.data for path, s in job.workspace.sources.items() if path.endswith("Cargo.toml")]
    for key, names in (
        (("dependencies",), [d for d in codebase.said_dependencies if not named_in(manifests, d)]),
        (("templates",), [path for path in codebase.templates if path not in added]),
    ):
        for name in names:
            yield _idle(job, (*key, name), name, _NOTHING)
    if codebase.source_feature and not is_feature(job, [], codebase.source_feature):
        yield _idle(job, ("source_feature",), codebase.source_feature, _NO_FEATURE)
    for place, said in codebase.versions.items():
        word = str(place[-1])
        met = is_renamed(job, word) if place[0] == "names" else is_feature(job, manifests, word)
        yield from _said(job, place, said if isinstance(said, Entry) else Entry(), word, met)
    kernels = codebase.kernels
    if kernels is not None and f"{kernels.source}/Cargo.toml" not in job.workspace.sources:
        yield _idle(job, ("kernels",), kernels.source, _NOTHING)


def _said(job: Job, key: Key, entry: Entry, name: str, met: bool) -> Iterator[Finding]:
    version = job.workspace.version
    if entry.is_for(version) and not met and entry.published:
        yield _idle(job, key, name, _NOTHING)
    elif met and not entry.is_for(version):
        yield _idle(job, key, name, _SOMETHING.format(version=version, what="mend since or until"))


def _idle(job: Job, key: Key, name: str, why: str) -> Finding:
    directory = job.codebase.directory
    if directory is None:
        return _finding(MAIN, 0, f"{key[0]} {name!r}", why)
    line = line_of(directory.text(MAIN), key)
    return _finding(f"{directory.root.name}/{MAIN}", line, f"{key[0]} {name!r}", why)


def _finding(path: str, line: int, symbol: str, why: str) -> Finding:
    where = f"line {line}: " if line else ""
    return Finding(
        code=IDLE,
        path=path,
        span=Span(0, 0),
        construct="entry of a profile",
        symbol=symbol,
        applicability=Applicability.REVIEW,
        status=Status.NONE,
        message=f"{where}{why}",
    )


def _named(patch: Patch) -> str:
    if isinstance(patch, Prose):
        return patch.find
    return patch.heading if isinstance(patch, Section) else patch.symbol


RULE = ProfileRule(IDLE, check)
