"""The kernels stage over files: read CUDA sources, translate them, write HIP sources.

Nothing is written but below the output folder, and there only over files that an earlier run wrote
and nobody changed since.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from portkit.finding import Applicability
from portkit.hipify.engine import Translation, own_names, translate
from portkit.hipify.engines import Engine, find_engine, translate_with
from portkit.hipify.errors import KernelInputError, KernelOutputError
from portkit.hipify.paths import is_cuda
from portkit.hipify.prelude import prelude_headers
from portkit.hipify.profile import NO_PROFILE, load_profile
from portkit.hipify.rules import prelude_include

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from portkit.finding import Finding
    from portkit.hipify.profile import KernelProfile

LARGEST_SOURCE = 16 * 1024 * 1024
"""Bytes; a larger file is no source that a person or a generator wrote to be compiled."""

RECORD = ".portkit-hipify.json"
"""In the output folder: what was written there, path to SHA-256."""

_PLAIN_HEADERS = frozenset({".h", ".hpp", ".inl", ".inc"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that could not be translated or written, and why, in one sentence."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class HipifyReport:
    """What one run did.

    Attributes:
        translations: every translated file, by path.
        refusals: every file that was left out, by path.
        written: files written below the output folder, relative to it.
        unchanged: files there that already held what would be written.
    """

    translations: tuple[Translation, ...]
    refusals: tuple[Refusal, ...] = ()
    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = field(default=(), repr=False)

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
    profile: str = "",
    skip_unfinished: bool = False,
    overwrite: bool = False,
) -> HipifyReport:
    """Translate CUDA sources to HIP.

    Args:
        paths: files, or folders of which every CUDA source and header is taken.
        out: where to write the translations and the prelude headers; nothing without it.
        engine: what renames CUDA's names; the rules run in any case.
        profile: the codebase's kernel profile; rules only without it.
        skip_unfinished: leave out files of which findings remain to be done by hand.
        overwrite: write over files that this stage did not write, or that were changed since.

    Returns:
        The report; files that could not be read are in it, and the others are done.

    Raises:
        KernelInputError: a path does not exist, or there is no source below them.
        KernelOutputError: the output folder cannot be written, or two sources have one target.
        KernelProfileError: there is no such profile.
        KernelPatchError: two edits overlap.
        HipToolError: the engine is not installed.
    """
    external = None if engine is Engine.PORTKIT else find_engine(engine)
    known = load_profile(profile) if profile else NO_PROFILE
    sources = list(_sources(paths))
    if not sources:
        places = ", ".join(str(path) for path in paths)
        raise KernelInputError(f"{places}: there is no CUDA source (.cu, .cuh) below")
    contents = {}
    refusals = []
    for relative, path in sources:
        try:
            contents[relative] = _read(path)
        except KernelInputError as error:
            refusals.append(Refusal(relative, str(error)))
    own = own_names(contents.values())
    translations = [_translate(path, content, known, own) for path, content in contents.items()]
    if external is not None:
        theirs = {each.path: each for each in translate_with(external, contents, known)}
        translations = [theirs.get(each.path, each) for each in translations]
    findings = tuple(finding for each in translations for finding in each.findings)
    report = HipifyReport(tuple(translations), tuple(refusals), findings=findings)
    if out is None:
        return report
    if skip_unfinished:
        unfinished = {finding.path for finding in report.remaining}
        translations = [each for each in translations if each.path not in unfinished]
    return _write(report, _files(translations, known), out, overwrite=overwrite)


def _translate(
    path: str, content: bytes, profile: KernelProfile, own: frozenset[str]
) -> Translation:
    translation = translate(path, content, profile, own)
    if is_cuda(path) or _has_cuda(translation):
        return translation
    return Translation(path, path, content, ())


def _has_cuda(translation: Translation) -> bool:
    return any(finding.code != prelude_include.CODE for finding in translation.findings)


def _sources(paths: Sequence[Path]) -> Iterable[tuple[str, Path]]:
    """Return each source once: its path below the argument it came from, and where it is."""
    seen = set()
    for path in paths:
        if not path.exists():
            raise KernelInputError(f"{path} does not exist")
        if path.is_file():
            found = [(path.name, path)]
        else:
            found = [
                (each.relative_to(path).as_posix(), each)
                for each in sorted(path.rglob("*"))
                if (is_cuda(each.name) or each.suffix in _PLAIN_HEADERS) and each.is_file()
            ]
            if not any(is_cuda(relative) for relative, _ in found):
                found = []
        for relative, each in found:
            if each.resolve() not in seen:
                seen.add(each.resolve())
                yield relative, each


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_SOURCE:
            raise KernelInputError(f"{path} is larger than {LARGEST_SOURCE >> 20} MiB: no source")
        content = path.read_bytes()
    except OSError as error:
        raise KernelInputError(f"{path} cannot be read: {error.strerror}") from error
    if b"\0" in content:
        raise KernelInputError(f"{path} is a binary file: give CUDA sources")
    return content


def _files(translations: Iterable[Translation], profile: KernelProfile) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for translation in translations:
        if translation.target in files:
            raise KernelOutputError(
                f"{translation.target}: two sources would become this file; rename one of them"
            )
        files[translation.target] = translation.content
    for target, text in (*profile.headers, *prelude_headers().items()):
        files[target] = text.encode()
    return files


def _write(
    report: HipifyReport, files: Mapping[str, bytes], out: Path, *, overwrite: bool
) -> HipifyReport:
    record = _read_record(out)
    foreign = [
        target
        for target, content in sorted(files.items())
        if (present := _present(out / target)) is not None
        and present != content
        and record.get(target) != _digest(present)
    ]
    if foreign and not overwrite:
        raise KernelOutputError(
            f"{out / foreign[0]} was not written by portkit or was changed since "
            f"({len(foreign)} such files): choose another folder or allow overwriting"
        )
    written = []
    unchanged = []
    try:
        for target, content in sorted(files.items()):
            record[target] = _digest(content)
            if _present(out / target) == content:
                unchanged.append(target)
                continue
            (out / target).parent.mkdir(parents=True, exist_ok=True)
            (out / target).write_bytes(content)
            written.append(target)
        text = json.dumps(record, indent=1, sort_keys=True) + "\n"
        (out / RECORD).write_text(text, encoding="utf-8")
    except OSError as error:
        raise KernelOutputError(f"{out} cannot be written: {error.strerror}") from error
    return HipifyReport(
        report.translations, report.refusals, tuple(written), tuple(unchanged), report.findings
    )


def _present(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_record(out: Path) -> dict[str, str]:
    try:
        record = json.loads((out / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
