"""The kernels stage over files: read CUDA sources, translate them, write HIP sources.

Nothing is written but below the output folder, and there only over files that an earlier run wrote
and nobody changed since.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.hipify.errors import KernelInputError, KernelOutputError
from portkit.hipify.external_engines import Engine, find_engine, translate_with
from portkit.hipify.kernel_profile import NO_PROFILE, KernelProfile
from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.paths import derive_hip_path, is_cuda
from portkit.hipify.prelude import load_prelude_headers
from portkit.hipify.preprocessor_conditions import find_amd_excluded, is_within
from portkit.hipify.rules import CODES
from portkit.hipify.rules.includes import find_hip_header, read_header
from portkit.hipify.rules.rule import report_site
from portkit.hipify.translated_sources import find_needed_headers, find_profile_headers
from portkit.hipify.translator import collect_own_names, translate
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.workspace import exclusion_comments
from portkit.workspace.finding import Applicability
from portkit.workspace.path_checks import find_link
from portkit.workspace.regular_files import read_regular, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from portkit.hipify.translator import Translation
    from portkit.workspace.exclusion_comments import ExclusionComment
    from portkit.workspace.finding import Finding

_CUDA_INCLUDE: Final = re.compile(rb'#[ \t]*include[ \t]*"[^"\n]*\.cuh?"')

LARGEST_SOURCE = 16 * 1024 * 1024
"""Bytes; a larger file is no source that a person or a generator wrote to be compiled."""

RECORD = ".portkit-hipify.json"
"""In the output folder: what was written there, path to SHA-256."""

_PLAIN_HEADERS = frozenset({".h", ".hpp", ".inl", ".inc"})

_NO_SOURCES: Final[Mapping[str, str]] = {
    ".py": "Python beside Rust",
    ".rs": "Rust",
    ".toml": "manifests",
}
"""Files of other languages, which would come out as they went in, and who ports them."""


class RefusedFile(Value, frozen=True):
    """A file that could not be translated or written, and why, in one sentence."""

    path: str
    reason: str


class HipifyReport(Value, frozen=True):
    """What one run did."""

    engine: Engine  # what renamed CUDA's names
    profile: str  # the name of the kernel profile; empty without one
    sources: Mapping[str, bytes]  # the files that were read, by path
    translations: tuple[Translation, ...]  # every translated file, by path
    refusals: tuple[RefusedFile, ...] = ()  # every file that could not be translated, by path
    findings: tuple[Finding, ...] = ()  # of all translations
    # files that were not written, because a person has to finish them first
    left_out: tuple[str, ...] = ()
    # the headers that the translations include and that come with them
    headers: tuple[str, ...] = ()
    written: tuple[str, ...] = ()  # files written below the output folder, relative to it
    unchanged: tuple[str, ...] = ()  # files there that already held what would be written

    @property
    def remaining(self) -> tuple[Finding, ...]:
        """The findings that a person has to deal with."""
        return tuple(f for f in self.findings if f.applicability is Applicability.MANUAL)

    @property
    def exit_code(self) -> int:
        """0, or 1 when findings remain, or the code of the first refusal's kind."""
        if self.refusals:
            return KernelInputError.exit_code
        return 1 if self.remaining else 0


def hipify(
    paths: Sequence[Path],
    out: Path | None = None,
    *,
    engine: Engine = Engine.PORTKIT,
    profile: KernelProfile = NO_PROFILE,
    define: Iterable[str] = (),
    undefine: Iterable[str] = (),
    skip_unfinished: bool = False,
    overwrite: bool = False,
) -> HipifyReport:
    """Translate CUDA sources to HIP.

    ``out``: where to write the translations and the prelude headers; nothing without it.
    ``define``: macros that the build for AMD defines: nothing is refused in code that they hide.
    ``skip_unfinished``: leave out files of which findings remain to be done by hand.
    ``overwrite``: write over files that this stage did not write, or that were changed since.

    Raises:
        KernelInputError: a path does not exist, or there is no source below them.
        KernelOutputError: the output folder cannot be written, or two sources have one target.
        KernelPatchError: two edits overlap.
        HipToolError: the engine is not installed.
    """
    if out is not None and (link := find_link(out, paths)) is not None:
        raise KernelOutputError(
            f"{link} is a link to {link.readlink()}, and nothing is written through a link of a"
            " tree: name the folder itself"
        )
    external = None if engine is Engine.PORTKIT else find_engine(engine)
    known = replace(
        profile,
        defined=profile.defined | frozenset(define),
        undefined=profile.undefined | frozenset(undefine),
    )
    contents: dict[str, bytes] = {}
    refusals = []
    for relative, path in _find_sources(paths, out):
        try:
            contents[relative] = _read_source(path)
        except KernelInputError as error:
            refusals.append(RefusedFile(relative, str(error)))
    _check_known(known, contents)
    own = collect_own_names(contents)
    translations = [_translate(path, content, known, own) for path, content in contents.items()]
    if external is not None:
        around = [path.resolve().parent for path in paths if not path.is_dir()]
        done = translate_with(external, contents, known, own, around)
        theirs = {each.path: each for each in done}
        translations = [theirs.get(each.path, each) for each in translations]
    translations = [_add_missing_headers(each, contents[each.path], own) for each in translations]
    report = HipifyReport(
        engine=engine,
        profile=profile.name,
        sources=contents,
        translations=tuple(translations),
        refusals=tuple(refusals),
        findings=tuple(
            _drop_suppressed(contents, (f for each in translations for f in each.findings))
        ),
    )
    if skip_unfinished and out is not None:
        unfinished = {finding.path for finding in report.remaining}
        report = replace(report, left_out=tuple(sorted(unfinished)))
        translations = [each for each in translations if each.path not in unfinished]
    headers = _collect_headers(translations, known)
    report = replace(report, headers=tuple(sorted(headers)))
    if out is None:
        return report
    return _write_files(report, _render_files(translations) | headers, out, overwrite=overwrite)


def _drop_suppressed(
    contents: Mapping[str, bytes], findings: Iterable[Finding]
) -> Iterator[Finding]:
    """Yield the findings; what a comment keeps is for nobody to deal with any more."""
    comments: dict[str, tuple[ExclusionComment, ...]] = {}
    for finding in findings:
        path = finding.path
        if finding.applicability is not Applicability.MANUAL or finding.edits:
            yield finding
            continue
        source = SourceFile(path, contents[path])
        if path not in comments:
            comments[path] = tuple(exclusion_comments.find_exclusion_comments(source))
        line, _ = source.position(finding.span.start)
        keeping = next((c for c in comments[path] if c.excludes(finding.code, line)), None)
        if keeping is not None:
            finding = replace(
                finding,
                applicability=Applicability.KEEP,
                message=keeping.reason,
                detail="excluded by a comment",
                excluded=True,
            )
        yield finding


def _check_known(profile: KernelProfile, contents: Iterable[str]) -> None:
    """Refuse a profile that knows none of the files: its changes would be missing silently."""
    if profile.patches and not any(p.concerns(path) for p in profile.patches for path in contents):
        raise KernelInputError(
            f"the kernel profile {profile.name} patches none of these files: pass the folder that"
            " the profile's paths are relative to, or omit --profile"
        )


def _translate(
    path: str, content: bytes, profile: KernelProfile, own: frozenset[str]
) -> Translation:
    translation = translate(path, content, profile, own)
    if is_cuda(path) or translation.has_cuda_code:
        return translation
    return replace(translation, target=path, content=content, findings=())


def _add_missing_headers(
    translation: Translation, content: bytes, own: frozenset[str]
) -> Translation:
    """Add a finding for each include whose header gets another name and is not in this run."""
    if not _CUDA_INCLUDE.search(content):
        return translation
    source = KernelSource(translation.path, content.decode("latin-1"))
    hidden = find_amd_excluded(source)
    missing = []
    for index in source.includes:
        token = source.tokens[index]
        quote, header = read_header(token.text)
        new = derive_hip_path(header)
        if (
            token.text[quote] != '"'
            or PurePosixPath(header).name in own
            or find_hip_header(header, (), "", quoted=True) != f'"{new}"'
            or is_within(hidden, token.start)
        ):
            continue
        message = (
            f"{header} becomes {new}, which this run does not write: pass the folder that has both"
        )
        span = Span(token.start, token.end)
        code, manual = CODES["unknown_header"], Applicability.MANUAL
        missing.append(
            report_site(code, translation.path, "include", header, message, manual, span)
        )
    if not missing:
        return translation
    found = sorted((*translation.findings, *missing), key=lambda each: (each.span, each.code))
    return replace(translation, findings=tuple(found))


def _find_sources(paths: Sequence[Path], out: Path | None) -> Iterable[tuple[str, Path]]:
    """Return each source once: its path below the argument it came from, and where it is.

    What lies in the output folder is none: it is what an earlier run has made.
    """
    found: dict[str, Path] = {}
    seen = set()
    is_inside = False
    made = None if out is None else out.resolve()
    for path in paths:
        if not path.exists():
            raise KernelInputError(f"{path} does not exist: name a CUDA source or a folder")
        for relative, each in _find_below(path):
            place = each.resolve()
            if made is not None and place.is_relative_to(made):
                is_inside = True
                continue
            if place in seen:
                continue
            seen.add(place)
            if relative in found:
                raise KernelInputError(
                    f"{found[relative]} and {each} would have one name, {relative}: give the "
                    "folder that holds both"
                )
            found[relative] = each
    if not found:
        places = ", ".join(map(str, paths))
        if is_inside:
            raise KernelInputError(
                f"{places}: every source lies in the output folder, {out}, where translations are"
                " no sources of a later run: name another folder by -o"
            )
        raise KernelInputError(
            f"{places}: there is no CUDA source (.cu, .cuh) below; a file of another suffix is "
            "translated where it is named"
        )
    return found.items()


def _find_below(path: Path) -> list[tuple[str, Path]]:
    if not path.is_dir():
        if path.suffix in _NO_SOURCES:
            raise KernelInputError(
                f"{path} is no CUDA source: `portkit apply` ports {_NO_SOURCES[path.suffix]}"
            )
        return [(path.name, path)]
    found = [
        (each.relative_to(path).as_posix(), each)
        for each in sorted(path.rglob("*"))
        if (is_cuda(each.name) or each.suffix in _PLAIN_HEADERS)
        and each.name not in load_prelude_headers()
        and each.is_file()
    ]
    top = path.resolve()
    for _, each in found:
        if not each.resolve().is_relative_to(top):
            raise KernelInputError(
                f"{each} is a link that leads out of {path}: put the file itself there, or name it"
            )
    return found if any(is_cuda(relative) for relative, _ in found) else []


def _read_source(path: Path) -> bytes:
    try:
        content = read_regular(path, LARGEST_SOURCE)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise KernelInputError(
                f"{path} is larger than {LARGEST_SOURCE >> 20} MiB: no source"
            ) from None
        raise KernelInputError(f"{path} cannot be read: {error.strerror}") from error
    if b"\0" in content:
        raise KernelInputError(f"{path} is a binary file: give CUDA sources")
    return content


def _render_files(translations: Sequence[Translation]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    made_of: dict[str, str] = {}
    for translation in translations:
        if translation.target in files:
            raise KernelOutputError(
                f"{made_of[translation.target]} and {translation.path} would both become"
                f" {translation.target}: rename one of them"
            )
        files[translation.target] = translation.content
        made_of[translation.target] = translation.path
    return files


def _collect_headers(
    translations: Sequence[Translation], profile: KernelProfile
) -> dict[str, bytes]:
    """Return the headers that translations include, the profile's and the prelude's."""
    made = [translation.content for translation in translations]
    own = find_profile_headers(profile, [translation.target for translation in translations])
    headers = {**own, **find_needed_headers(made)} if made else own
    return {target: text.encode() for target, text in headers.items()}


def _write_files(
    report: HipifyReport, files: Mapping[str, bytes], out: Path, *, overwrite: bool
) -> HipifyReport:
    record = _read_record(out)
    written = []
    unchanged = []
    foreign = []
    try:
        for target, content in sorted(files.items()):
            place = out / target
            if not place.parent.resolve().is_relative_to(out.resolve()):
                raise KernelOutputError(f"{place.parent} leads out of {out}: take the link away")
            present = _read_existing(place)
            if present == content:
                unchanged.append(target)
                continue
            written.append(target)
            if present is not None and record.get(target) != _compute_digest(present):
                foreign.append(target)
        if foreign and not overwrite:
            more = len(foreign) - 1
            others = f", as {more} more file{'s' * (more > 1)}" if more else ""
            raise KernelOutputError(
                f"{out / foreign[0]} was not written by portkit or was changed since{others}:"
                " choose another folder, or pass --overwrite"
            )
        for target in written:
            _write_whole(out / target, files[target])
        record |= {target: _compute_digest(content) for target, content in files.items()}
        _write_whole(out / RECORD, f"{json.dumps(record, indent=1, sort_keys=True)}\n".encode())
    except OSError as error:
        raise KernelOutputError(
            f"{error.filename or out} cannot be written ({error.strerror}): choose another folder"
        ) from error
    return replace(report, written=tuple(written), unchanged=tuple(unchanged))


def _read_existing(path: Path) -> bytes | None:
    """Return what a file holds, None where there is none; a link's own bytes are its target."""
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return read_regular(path, LARGEST_SOURCE, follow=False) if path.exists() else None


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file as a whole: a killed run leaves the old one, and a link is not followed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def _compute_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_record(out: Path) -> dict[str, str]:
    try:
        record = json.loads(read_regular(out / RECORD, LARGEST_SOURCE, follow=False))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
