"""What holds of every input, however broken."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.codebases.registry import find_shipped
from portkit.engine.refused_findings import apply_checks
from portkit.engine.scan import scan_workspace
from portkit.errors import PortkitError
from portkit.hipify.translator import translate
from portkit.profiles.profile import load_codebase, load_vendor
from portkit.rules import TreeRule, list_rules
from portkit.rules.file_rules import UNREAD_FILE_CODE as UNREAD
from portkit.syntax.source_file import SourceFile
from portkit.workspace.cargo_workspace import Workspace
from portkit.workspace.edits import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.engine.scan import Scan
    from portkit.profiles.profile import CodebaseProfile, VendorProfile
    from portkit.workspace.finding import Finding

SECONDS: Final = 10.0
"""Within this processor time a scan of a file as large as those of a codebase ends."""
_OF_FILES: Final = tuple(rule for rule in list_rules() if not isinstance(rule, TreeRule))

_PYTHON_MODULE: Final = b"""\
[package]
name = "module"
version = "0.1.0"

[dependencies]
pyo3 = "0.23"
"""
"""The manifest beside Python, which is ported only if a crate makes a module of it."""


@dataclass(frozen=True)
class Fault:
    """What does not hold of an input.

    Attributes:
        property: which property, in a few words.
        said: what is wrong.
    """

    property: str
    said: str


@dataclass(frozen=True)
class Port:
    """How inputs are ported.

    Attributes:
        vendor: the vendor that is written.
        codebase: what is particular to the codebase.
        gating: ``dummy`` or ``cfg``.
    """

    vendor: VendorProfile
    codebase: CodebaseProfile
    gating: str

    @classmethod
    def of_candle(cls, gating: str) -> Port:
        """Return a port with candle's profile."""
        codebase = load_codebase(find_shipped()["candle"])
        return cls(load_vendor("rocm", codebase), codebase, gating)

    def scan(self, path: str, data: bytes) -> Scan:
        """Scan a tree of one file; what a port adds to every tree is left out."""
        manifest = {"package": {"name": self.codebase.crate, "version": "0.11.1"}}
        sources = {path: SourceFile(path, data)}
        if path.endswith((".py", ".pyi")):
            sources["Cargo.toml"] = SourceFile("Cargo.toml", _PYTHON_MODULE)
        workspace = Workspace(Path("/nowhere"), manifest, sources, ())
        found = scan_workspace(
            workspace, self.vendor, self.codebase, gating=self.gating, chosen=_OF_FILES
        )
        return apply_checks(found)


def faults(port: Port, path: str, data: bytes) -> tuple[list[Fault], bytes]:
    """Return what does not hold of a file, and the file as it is ported.

    Args:
        port: how it is ported.
        path: the file; its ending says the language.
        data: its bytes.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return [], data  # such a file is not looked at (PK902)
    began = os.times().user
    try:
        found = port.scan(path, data)
        after = apply_edits(found.job.workspace.sources[path], _of(found, path))
    except Exception as error:
        return [Fault("an exception", said(error))], data
    broken = [*_too_long(began, data), *_of_findings(found, path)]
    if after == data:
        return broken, data
    if _parses(path, data) and not _parses(path, after):
        broken.append(Fault("what parsed does not", _codes(found, path)))
    try:
        second = port.scan(path, after)
    except Exception as error:
        return [*broken, Fault("an exception in the second run", said(error))], after
    if _codes(second, path):
        broken.append(Fault("the second run changes something", _codes(second, path)))
    return broken, after


def faults_of_kernel(path: str, data: bytes) -> tuple[list[Fault], bytes]:
    """Return what does not hold of a source of kernels, and its translation."""
    began = os.times().user
    try:
        done = translate(path, data)
        broken = list(_too_long(began, data))
        again = translate(done.target, done.content)
    except Exception as error:
        return [Fault("an exception", said(error))], data
    if again.content != done.content:
        codes = ", ".join(sorted({f.code for f in again.findings if f.edits}))
        broken.append(Fault("the second run changes something", codes))
    for finding in done.findings:
        if not 0 <= finding.span.start <= finding.span.end <= len(data):
            broken.append(Fault("a place outside the file", finding.code))
    return broken, done.content


def no_rust(texts: Sequence[bytes]) -> frozenset[int]:
    """Return the indices of the texts that rustc's parser refuses, as rustfmt runs it."""
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / f"{i}.rs" for i in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_bytes(text)
        refused: set[int] = set()
        begin = 0
        while begin < len(paths):
            found = _refused(paths[begin:])
            refused |= found
            # rustfmt ends at a text without an end; the files behind it are asked for again.
            begin = max(found) + 1 if found else len(paths)
    return frozenset(refused)


def _refused(paths: Sequence[Path]) -> set[int]:
    options = ("--edition", "2021", "--check", "--config", "skip_children=true")
    # What differs in layout is printed as well, and is of no concern.
    done = subprocess.run(
        ["rustfmt", *options, *paths], capture_output=True, timeout=300, check=False
    )
    return {int(number) for number in re.findall(rb"--> [^\n]*?/(\d+)\.rs:", done.stderr)}


def said(error: Exception) -> str:
    """Return an exception with the place that it comes from."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    kind = "an error of portkit's, " if isinstance(error, PortkitError) else ""
    return f"{kind}{type(error).__name__} in {Path(place.filename).name}:{place.name}: {error}"


def _too_long(began: float, data: bytes) -> Iterator[Fault]:
    took = os.times().user - began
    if took > SECONDS:
        yield Fault("it takes too long", f"{took:.1f} s for {len(data)} bytes")


def _of(scan: Scan, path: str) -> list[Finding]:
    return [finding for finding in scan.findings if finding.path == path]


def _codes(scan: Scan, path: str) -> str:
    return ", ".join(sorted({f.code for f in _of(scan, path) if f.edits}))


def _parses(path: str, data: bytes) -> bool:
    return not SourceFile(path, data).tree.root_node.has_error


def _of_findings(scan: Scan, path: str) -> Iterator[Fault]:
    """Yield what does not hold of the findings: their places, and what they account for."""
    data = scan.job.workspace.sources[path].data
    claimed = [claim for finding in _of(scan, path) for claim in finding.claims]
    listed = {each.offset for each in scan.unaccounted}
    words = (*scan.job.vendor.vocabulary, *scan.job.vendor.peer_vocabulary)
    lowered = data.lower()
    for match in re.finditer("|".join(sorted(words)).encode(), lowered):
        at = match.start()
        if at not in listed and not any(each.start <= at < each.end for each in claimed):
            yield Fault("a mention is passed over", f"{match.group().decode()} at {at}")
            break
    for finding in _of(scan, path):
        if finding.code == UNREAD:
            yield Fault("an exception", finding.message)
        places = (finding.span, *finding.claims)
        if any(not 0 <= p.start <= p.end <= max(len(data), 1) for p in places):
            yield Fault("a place outside the file", finding.code)
        for edit in finding.edits:
            inside = any(p.start <= edit.start and edit.end <= p.end for p in places)
            if edit.start < edit.end and not inside:
                yield Fault("something unclaimed is replaced", finding.code)


def repeats_without_end(text: bytes) -> bool:
    """Whether a macro repeats something and does not say how often, which rustfmt passes over.

    The parser takes all up to the next star for what stands between two repetitions.
    """
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.rs"
        path.write_bytes(text)
        command = ["rustc", "--crate-type=lib", "--emit=metadata", f"--out-dir={name}", str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
    return b"expected one of: `*`, `+`, or `?`" in done.stderr
