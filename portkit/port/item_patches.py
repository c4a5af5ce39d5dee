"""Patches of a profile: items from templates, changes inside items, texts, and guards.

An `ItemOverride` comes from a template, since the two platforms' libraries differ there. It was
written against a certain text of the CUDA item; the profile holds a hash of that text for each
upstream version that was looked at, and no upstream text is stored. A `TokenPatch` looks in an item
for tokens, as often as the profile says.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase

from tree_sitter import Node

from portkit.context.port_job import PortJob
from portkit.port.template_values import render_template
from portkit.profiles.entries import (
    CopyPatch,
    CopyRepair,
    Guard,
    ItemOverride,
    TextPatch,
    TokenPatch,
)
from portkit.syntax.items import find_items
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import SourceFile, node_text
from portkit.syntax.span import Span
from portkit.syntax.token_patterns import Token, tokenize_rust
from portkit.syntax.value import Value
from portkit.workspace import exclusion_comments
from portkit.workspace.finding import Applicability, Edit, Finding, Status

OVERRIDE, REPAIR, ADJUST = "PK104", "PK107", "PK108"
IDLE = "PK904"
"""The code of an entry that does nothing, or says so wrongly."""
_CODES = {CopyRepair: REPAIR, CopyPatch: ADJUST}
_FILE = "*"
"""The symbol of a patch that is about a file as a whole."""
_RIGHT = "the copy is right, the original is untouched"
_NOT_FOUND = (
    "nothing of that is found here: see whether upstream has mended it or says it in other words"
)


class PatchMatch(Value, frozen=True):
    """A place of the CUDA side for which the copy has something else."""

    patch: TokenPatch  # what says so
    span: Span  # the place
    captured: Mapping[str, Span]  # what the patch has captured there


class PatchedItem(Value, frozen=True):
    """An item that a patch is about."""

    patch: TokenPatch  # the patch
    symbol: str  # the item, or the name of the file
    span: Span  # the item, with its attributes
    hits: tuple[PatchMatch, ...]  # the places in it

    @property
    def fits(self) -> bool:
        """Whether there are as many places as the patch says."""
        return len(self.hits) == self.patch.count


def hash_item(text: str) -> str:
    """Return the hash of an item: of its code, without layout and comments."""
    return hashlib.sha256(normalize_rust(text).encode()).hexdigest()[:16]


def find_patched_items(job: PortJob, source: SourceFile) -> tuple[PatchedItem, ...]:
    """Return the items of a file that patches are about, with the places in them.

    Of those that a patch is about the ones with places count; without any, the first.
    """

    def look() -> tuple[PatchedItem, ...]:
        return tuple(find_items_of_patches(job, source, job.patches(TokenPatch, source.path)))

    return job.memoize("looked into", source, make=look)


def find_patch_matches(
    job: PortJob, source: SourceFile, start: int, end: int
) -> tuple[PatchMatch, ...]:
    """Return the places in a part of a file for which its copy has something else.

    What a person has decided to leave alone, its copy has as the CUDA side does.
    """
    return tuple(
        hit
        for looked in find_patched_items(job, source)
        if looked.fits
        and not is_patch_excluded(
            job, source, _CODES[type(looked.patch)], looked.symbol, looked.span
        )
        for hit in looked.hits
        if start <= hit.span.start and hit.span.end <= end
    )


def is_patch_excluded(
    job: PortJob, source: SourceFile, code: str, symbol: str, place: Span
) -> bool:
    """Whether a comment or ``portkit.toml`` keeps the place that a finding about a patch has."""
    if any(skip.applies(code, source.path, symbol) for skip in job.skips):
        return True
    kept = job.memoize(
        "kept", source, make=lambda: tuple(exclusion_comments.find_exclusion_comments(source))
    )
    line, _ = source.position(place.start) if kept else (0, 0)
    return any(comment.excludes(code, line) for comment in kept)


def find_patch_findings(
    job: PortJob, source: SourceFile, kind: type[TokenPatch]
) -> Iterator[Finding]:
    """Yield a finding for each item of a file that the profile holds a patch of a kind for."""
    wanted = job.patches(kind, source.path)
    idle = job.patches(kind, source.path, idle=True)
    # Most files are in no patch's path.
    if not (wanted or idle) or job.codebase.kept(source.path):
        return
    for looked in find_patched_items(job, source) if wanted else ():
        if isinstance(looked.patch, kind):
            yield _within(job, source, looked)
    whole = Span(0, len(source.data))
    # Of one that says that there is nothing only places count, and most files lack its words.
    stands = tuple(patch for patch in idle if patch.pattern.may_stand(source.data, whole))
    for looked in find_items_of_patches(job, source, stands):
        if looked.hits:
            yield _report_missing_patch(job, source, looked.symbol, looked.span)


def find_override_findings(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Yield a finding for each item of a file whose copy is a template."""
    idle = {patch.symbol for patch in job.patches(ItemOverride, source.path, idle=True)}
    wanted = {patch.symbol: patch for patch in job.patches(ItemOverride, source.path)}
    if not (wanted or idle) or job.codebase.kept(source.path):
        return
    for symbol, span in _find_patched_items(job, source):
        if symbol in idle:
            yield _report_missing_patch(job, source, symbol, span)
        patch = wanted.pop(symbol, None)
        if patch is None:
            continue
        current = hash_item(source.slice(span))
        known = current in patch.fingerprints.values()
        versions = ", ".join(sorted(patch.fingerprints)) or "none"
        yield Finding(
            code=OVERRIDE,
            path=source.path,
            span=span,
            construct="override",
            symbol=symbol,
            applicability=Applicability.SAFE if known else Applicability.REVIEW,
            status=_choose_status(job, source),
            message=patch.reason
            if known
            else f"{patch.reason}; the CUDA item has changed since the template was written "
            f"(against {versions}; now {current}): see whether the template must follow",
            entry=job.codebase.key(patch),
            reason=patch.reason,
        )


def _within(job: PortJob, source: SourceFile, looked: PatchedItem) -> Finding:
    patch, found = looked.patch, len(looked.hits)
    repair = isinstance(patch, CopyRepair)
    message = f"{patch.reason}; {_RIGHT}" if repair else patch.reason
    if not found:
        message = f"{patch.reason}; {_NOT_FOUND}"
    elif not looked.fits:
        message = (
            f"{patch.reason}; it stands here {found} times, the profile says {patch.count}, and the"
            " copy is left as it is: see which are meant"
        )
    return Finding(
        code=_CODES[type(patch)],
        path=source.path,
        span=looked.span,
        construct="upstream defect" if repair else "what the copy has",
        symbol=looked.symbol,
        applicability=Applicability.REVIEW if repair or not looked.fits else Applicability.SAFE,
        status=_choose_status(job, source),
        message=message,
        entry=job.codebase.key(patch),
        reason=patch.reason,
    )


def _report_missing_patch(job: PortJob, source: SourceFile, symbol: str, span: Span) -> Finding:
    """Return the finding about a patch that says that there is nothing, and there is something."""
    return Finding(
        code=IDLE,
        path=source.path,
        span=span,
        construct="entry of a profile",
        symbol=symbol,
        applicability=Applicability.REVIEW,
        status=Status.NONE,
        message=f"a patch has nothing to do in {job.workspace.version}, it says, but it finds"
        " something here: mend its since or until",
    )


def _choose_status(job: PortJob, source: SourceFile) -> Status:
    standing = job.tree_facts.copied_files.get(source.path) in job.workspace.sources
    return Status.PORTED if standing else Status.NONE


def _find_patched_items(
    job: PortJob, source: SourceFile, patches: tuple[TokenPatch, ...] = ()
) -> list[tuple[str, Span]]:
    """Return the items of a file that patches are about, among others: once for all patches."""
    kinds: tuple[type[ItemOverride | TokenPatch], ...] = (ItemOverride, TokenPatch)
    every = (job.patches(k, source.path, idle=i) for k in kinds for i in (False, True))
    known = {patch.symbol for some in every for patch in some}
    more = frozenset(patch.symbol for patch in patches) - known - {_FILE}

    def find() -> list[tuple[str, Span]]:
        found = find_items(source, (known - {_FILE}) | more)
        return [(item.symbol, item.span) for item in found]

    return job.memoize("patched items", source, more, make=find)


def find_items_of_patches(
    job: PortJob, source: SourceFile, patches: tuple[TokenPatch, ...]
) -> Iterator[PatchedItem]:
    """Yield the items of a file that some patches are about, with the places in them."""
    read: dict[Span, list[Token]] = {}
    for patch in patches:
        if patch.symbol == _FILE:
            concerned = [(source.path.rpartition("/")[2], Span(0, len(source.data)))]
        else:
            every = _find_patched_items(job, source, patches)
            concerned = [each for each in every if fnmatchcase(each[0], patch.symbol)]
        found = [
            PatchedItem(patch, *each, tuple(_find_hits(source, patch, each[1], read)))
            for each in concerned
        ]
        # An item may stand twice, under conditions that exclude each other.
        yield from [looked for looked in found if looked.hits] or found[:1]


def _find_hits(
    source: SourceFile, patch: TokenPatch, span: Span, read: dict[Span, list[Token]]
) -> Iterator[PatchMatch]:
    """Yield where a patch stands in a part of a file; ``read`` is what was read before."""
    if not patch.pattern.may_stand(source.data, span):
        return
    if span not in read:
        read[span] = tokenize_rust(source.data, span.start, span.end)
    for match, tokens in patch.pattern.places(read[span]):
        place = Span(tokens[match.first].start, tokens[match.end - 1].end)
        captured = {"$all": place}
        for name, (first, end) in match.captured.items():
            start = tokens[first].start
            captured[name] = Span(start, tokens[end - 1].end if end > first else start)
        yield PatchMatch(patch, place, captured)


IN_PLACE = "PK109"


class TextPlace(Value, frozen=True):
    """A place of a file that has, or will have, what the profile says."""

    patch: TextPatch  # what says so
    span: Span  # the place
    new: str  # what stands there afterwards
    standing: bool  # whether it does already

    @property
    def symbol(self) -> str:
        """What the place is called in reports."""
        return self.patch.find.split("\n")[0]

    @property
    def is_exception(self) -> bool:
        """Whether it is to stay as it is, where another patch would write."""
        return self.new == self.patch.find


def find_text_places(job: PortJob, source: SourceFile) -> tuple[TextPlace, ...]:
    """Return the places of a file, those of each patch in the order of the file."""
    patches = job.patches(TextPatch, source.path)
    if not patches:
        return ()
    return job.memoize(
        "texts", source, make=lambda: locate_text_patches(source, patches, job.workspace.version)
    )


def is_text_replaced(job: PortJob, source: SourceFile, span: Span) -> bool:
    """Whether a place lies in what the profile has written in place of a text."""
    return any(
        text.standing and not text.is_exception and text.span.encloses(span)
        for text in find_text_places(job, source)
    )


def locate_text_patches(
    source: SourceFile, patches: Sequence[TextPatch], version: str = ""
) -> tuple[TextPlace, ...]:
    """Return the places of all patches, of which more than one may write the same.

    What one writes stands for none of them where another has yet to write there, and for the first
    of them afterwards. A place within a larger one is the larger one's: so a patch of many files
    has an exception by one whose text says more, which may write ``$all`` alone.
    """
    places = [place for patch in patches for place in _find_texts(source, patch, version)]
    spans = [place.span for place in places]
    missing = [place.span for place in places if not place.standing]
    taken: set[tuple[Span, str]] = set()
    kept = []
    for place in places:
        key = place.span, place.new
        if place.standing and (_lies_in(place.span, missing) or key in taken):
            continue
        if _lies_in(place.span, [span for span in spans if span != place.span]):
            continue
        taken.add(key)
        kept.append(place)
    return tuple(kept)


def _find_texts(source: SourceFile, patch: TextPatch, version: str) -> list[TextPlace]:
    new = patch.write.replace("$all", patch.find).replace("$version", version)
    written, found = _find_text(source, new), _find_text(source, patch.find)
    if patch.find in new:
        found = [place for place in found if not _lies_in(place, written)]
    else:
        written = [place for place in written if not _lies_in(place, found)]
    return [
        TextPlace(patch, place, new, standing=place in written)
        for place in sorted((*written, *found))
    ]


def _lies_in(place: Span, outer: list[Span]) -> bool:
    return any(each.encloses(place) for each in outer)


def _find_text(source: SourceFile, text: str) -> list[Span]:
    """Return where a text stands, with either end of a line."""
    lines = text.encode().split(b"\n")
    if max(lines, key=len) not in source.data:  # as is so of most, and to compile takes far longer
        return []
    wanted = re.compile(rb"\r?\n".join(map(re.escape, lines)))
    return [Span(match.start(), match.end()) for match in wanted.finditer(source.data)]


GUARD = "PK106"


def find_guarded_functions(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Yield a finding for each function of a file that the profile has a guard for."""
    for guard in job.patches(Guard, source.path):
        name = guard.symbol.rsplit("::", 1)[-1].encode()
        if b"fn " + name + b"(" in source.data:
            yield from _find_guarded(job, source, guard)


def _find_guarded(job: PortJob, source: SourceFile, guard: Guard) -> Iterator[Finding]:
    for item in find_items(source, [guard.symbol]):
        node, body = item.node, item.node.child_by_field_name("body")
        if item.symbol != guard.symbol or node.type != "function_item" or body is None:
            continue
        outer = source.indent(node.start_byte)
        indent = outer + "    "
        text = _bind_missing_parameters(
            render_template(job, guard.template).strip(), guard, _read_parameters(node)
        )
        calls = render_template(job, guard.calls).strip() if guard.calls else ""
        at = body.start_byte + 1
        standing = normalize_rust(text) in normalize_rust(node_text(body))
        called = (
            (Edit(node.end_byte, node.end_byte, f"\n\n{_indent(calls, outer)}"),)
            if calls and normalize_rust(calls) not in normalize_rust(source.data.decode())
            else ()
        )
        yield Finding(
            code=GUARD,
            path=source.path,
            span=Span(node.start_byte, node.end_byte),
            construct="cfg block",
            symbol=guard.symbol,
            applicability=Applicability.REVIEW,
            status=Status.PORTED if standing and not called else Status.TODO,
            message=guard.reason,
            entry=job.codebase.key(guard),
            edits=(*(() if standing else (Edit(at, at, "\n" + _indent(text, indent)),)), *called),
        )


def _indent(text: str, indent: str) -> str:
    """Return a text whose lines begin with an indentation, but for those that are empty."""
    return "\n".join(line and indent + line for line in text.split("\n"))


def _bind_missing_parameters(text: str, guard: Guard, parameters: AbstractSet[str]) -> str:
    """Return the statement of a guard with what stands for the parameters that there are not."""
    lacking = [name for name in guard.lacking if name not in parameters]
    if not lacking:
        return text
    names = "|".join(map(re.escape, lacking))
    return re.sub(rf"\b(?:{names})\b", lambda name: guard.lacking[name[0]], text)


def _read_parameters(function: Node) -> frozenset[str]:
    """Return the names of a function's parameters: what a guard may read differs by version."""
    listed = function.child_by_field_name("parameters")
    patterns = (c.child_by_field_name("pattern") for c in (listed.named_children if listed else ()))
    return frozenset(node_text(pattern) for pattern in patterns if pattern is not None)
