"""The engine: one CUDA source in, one HIP source and its findings out.

A profile's patches go first, over the source as its authors wrote it; the rules then see the
patched text. Spans of findings are those of the original file in both cases.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.hipify.errors import KernelPatchError
from portkit.hipify.kernel_profile import NO_PROFILE, KernelProfile
from portkit.hipify.kernel_source import NO_NAMES, KernelSource
from portkit.hipify.paths import derive_hip_path
from portkit.hipify.preprocessor_conditions import find_amd_excluded, is_within
from portkit.hipify.rules import CODES, RULES
from portkit.hipify.rules.includes import find_shims, is_shim
from portkit.hipify.rules.rule import report_site
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.workspace.finding import Applicability, Edit, Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_MARK: Final = b"\xef\xbb\xbf".decode("latin-1")
"""The byte order mark of UTF-8, which some editors begin a file with."""

_OWN_DEFINITION = re.compile(
    rb"#[ \t]*define[ \t]+(cu\w+|CU\w+|NV\w+|__[a-z]\w*|atomic[A-Z]\w*)"
    rb"|\b(cu(?:da|blas|rand|dnn)\w+|__[a-z]\w*|atomic[A-Z]\w*)[ \t]*\([^;{}()]*\)\s*\{"
)


class Translation(Value, frozen=True):
    """One translated source."""

    path: str  # the CUDA source, relative to the folder that is translated
    target: str  # the HIP source, relative likewise
    content: bytes  # its bytes
    findings: tuple[Finding, ...]  # what the patches and rules say, in order of place
    patched: bytes  # the CUDA source with the profile's patches, which the rules have seen
    names: Mapping[str, int]  # how often each identifier stands in that

    @property
    def has_cuda_code(self) -> bool:
        """Whether the source has something of CUDA's; every translation includes the prelude."""
        return any(finding.code != CODES["prelude_include"] for finding in self.findings)


def translate(
    path: str,
    content: bytes,
    profile: KernelProfile = NO_PROFILE,
    own: frozenset[str] = frozenset(),
    renamed: Mapping[str, str] = NO_NAMES,
) -> Translation:
    """Translate one CUDA source.

    ``own``: what ``collect_own_names`` finds in all files of the tree.
    ``renamed``: includes in quotes whose header has another name than its suffix says.

    Raises:
        KernelPatchError: two rules edit the same bytes.
    """
    text = content.decode("latin-1")
    original = KernelSource(path, text, profile.undefined, own, profile.defined, renamed)
    patches = list(_apply_patches(original, profile))
    patched, back = apply_edits(
        text, [*_remove_byte_order_mark(text), *_collect_edits(patches)], path
    )
    source = original if patched == text else replace(original, text=patched)
    found = _apply_all_rules(source)
    written, _ = apply_edits(patched, _collect_edits(found), path)
    findings = [*patches, *(_map_to_original(finding, back) for finding in found)]
    findings.sort(key=lambda finding: (finding.span, finding.code))
    return Translation(
        path,
        derive_hip_path(path),
        written.encode("latin-1"),
        tuple(findings),
        patched.encode("latin-1"),
        {name: len(places) for name, places in source.names.items()},
    )


def patch_source(path: str, content: bytes, profile: KernelProfile) -> bytes:
    """Return a source with the profile's patches and nothing else."""
    source = KernelSource(path, content.decode("latin-1"))
    edits = [
        *_remove_byte_order_mark(source.text),
        *_collect_edits(_apply_patches(source, profile)),
    ]
    return apply_edits(source.text, edits, path)[0].encode("latin-1")


def apply_rules(path: str, text: str, profile: KernelProfile = NO_PROFILE) -> str:
    """Apply the rules, and no patches, to a text; the arguments are those of ``translate``."""
    source = KernelSource(path, text, profile.undefined, frozenset(), profile.defined)
    return apply_edits(text, _collect_edits(_apply_all_rules(source)), path)[0]


def collect_own_names(files: Mapping[str, bytes]) -> frozenset[str]:
    """Return what looks like CUDA's and is the tree's own."""
    return frozenset(PurePosixPath(path).name for path in files) | frozenset(
        (match.group(1) or match.group(2)).decode()
        for content in files.values()
        for match in _OWN_DEFINITION.finditer(content)
    )


def _remove_byte_order_mark(text: str) -> list[Edit]:
    """Return the edit that takes a byte order mark away, which may stand before a first line only.

    Lines are put before the first, and what begins a line is no directive behind the mark.
    """
    return [Edit(0, len(_MARK), "")] if text.startswith(_MARK) else []


def _apply_all_rules(source: KernelSource) -> list[Finding]:
    if is_shim(source):
        return list(find_shims(source))
    found = _drop_inner_findings([finding for rule in RULES for finding in rule.apply(source)])
    if not any(finding.applicability is Applicability.MANUAL for finding in found):
        return found
    # AMD's compiler never sees what its own macros keep from it, so a person need not either.
    hidden = find_amd_excluded(source)
    return [
        finding
        for finding in found
        if finding.applicability is not Applicability.MANUAL
        or not is_within(hidden, finding.span.start)
    ]


def _drop_inner_findings(found: list[Finding]) -> list[Finding]:
    """Leave out what is rewritten within inline PTX, whose rule does that as well."""
    ptx = CODES["ptx_instruction"]
    whole = [finding.span for finding in found if finding.code == ptx]
    if not whole:
        return found
    return [
        finding
        for finding in found
        if finding.code == ptx
        or not finding.edits
        or not (finding.span.start < finding.span.end)  # an include before the first byte
        or not any(s.start <= finding.span.start and finding.span.end <= s.end for s in whole)
    ]


def apply_edits(text: str, edits: Iterable[Edit], path: str) -> tuple[str, Callable[[int], int]]:
    """Apply edits that do not overlap."""
    parts: list[str] = []
    new_starts, old_starts = [0], [0]
    position = 0
    length = 0
    for edit in sorted(edits):
        if edit.start < position:
            line = text.count("\n", 0, edit.start) + 1
            raise KernelPatchError(
                f"{path}:{line}: two rules edit the same text: report this as a defect of portkit"
            )
        parts += (text[position : edit.start], edit.text)
        length += edit.start - position + len(edit.text)
        new_starts.append(length)
        old_starts.append(edit.end)
        position = edit.end
    parts.append(text[position:])

    def back(offset: int) -> int:
        index = bisect_right(new_starts, offset) - 1
        moved = old_starts[index] + offset - new_starts[index]
        # Inside a replacement there is no offset of its own: take the end of what it replaced.
        following = old_starts[index + 1] if index + 1 < len(old_starts) else len(text)
        return min(moved, following)

    return "".join(parts), back


def _apply_patches(source: KernelSource, profile: KernelProfile) -> Iterator[Finding]:
    """Return the findings of the profile's patches; a patch with other hits says so."""
    for patch in profile.patches:
        if not patch.is_likely_in(source):
            continue
        found = list(patch.find(source))
        yield from found
        if not found:
            # Upstream may have mended what the patch is for: the other patches still apply.
            message = (
                f"the patch finds nothing to change, where the profile {profile.name} "
                f"knows {patch.expected}: compare the source with its pattern ({patch.reason})"
            )
            applicability, span, symbol = Applicability.MANUAL, Span(0, 0), source.path
        elif len(found) not in patch.hits:
            message = f"the patch applies {len(found)} times, the profile expects {patch.expected}"
            applicability, span, symbol = Applicability.REVIEW, found[0].span, found[0].symbol
        else:
            continue
        construct = "number of hits"
        yield report_site(patch.code, source.path, construct, symbol, message, applicability, span)


def _collect_edits(findings: Iterable[Finding]) -> Iterator[Edit]:
    return (edit for finding in findings for edit in finding.edits)


def _map_to_original(finding: Finding, back: Callable[[int], int]) -> Finding:
    """Return a finding over the patched text with the spans of the original."""
    return replace(
        finding,
        span=Span(back(finding.span.start), back(finding.span.end)),
        claims=tuple(Span(back(claim.start), back(claim.end)) for claim in finding.claims),
    )
