"""What holds of every input, however broken."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import PortkitError
from portkit.hipify.engine import translate
from portkit.lang.source import Source
from portkit.rules import TreeRule, rules
from portkit.scan.plan import conflicts
from portkit.scan.scan import scan
from portkit.tree.finding import Status
from portkit.tree.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.profile.profile import CodebaseProfile, VendorProfile
    from portkit.scan.scan import Scan
    from portkit.tree.finding import Finding

SECONDS: Final = 2.0
"""Within this time a scan of a file as large as those of a codebase ends."""
_CHOSEN: Final = tuple(rule for rule in rules() if not isinstance(rule, TreeRule))


@dataclass(frozen=True)
class Fault:
    """What does not hold of an input.

    Attributes:
        property: which one, in a word or two.
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
        crate: the name of the crate that the input is a file of.
        version: its version.
    """

    vendor: VendorProfile
    codebase: CodebaseProfile
    gating: str
    version: str

    def scan(self, path: str, data: bytes) -> Scan:
        """Scan a tree of one file."""
        manifest = {"package": {"name": self.codebase.crate, "version": self.version}}
        workspace = Workspace(Path("/nowhere"), manifest, {path: Source(path, data)}, ())
        return scan(workspace, self.vendor, self.codebase, gating=self.gating, chosen=_CHOSEN)


def ported(scan: Scan, path: str) -> bytes:
    """Return a file with the edits of a scan."""
    data = scan.job.workspace.sources[path].data
    newline = scan.job.workspace.sources[path].newline
    edits = sorted(
        (e.start, e.end, e.text) for f in scan.findings if f.path == path for e in f.edits
    )
    out, at = [], 0
    for start, end, text in edits:
        out += [data[at:start], text.replace("\n", newline).encode()]
        at = end
    return b"".join([*out, data[at:]])


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
    began = time.process_time()
    try:
        found = port.scan(path, data)
    except PortkitError:
        return [], data
    except Exception as error:
        return [Fault("exception", _said(error))], data
    took = time.process_time() - began
    broken = [Fault("exception", f.message) for f in found.findings if f.code == "PK902"]
    if took > SECONDS:
        broken.append(Fault("time", f"{took:.1f} s for {len(data)} bytes"))
    broken += _of_findings(found, path)
    clash = conflicts(found.findings)
    if clash:
        one, other = clash[0]
        broken.append(Fault("overlap", f"{one.code} and {other.code}"))
        return broken, data
    after = ported(found, path)
    if after == data:
        return broken, data
    if not Source(path, data).tree.root_node.has_error:
        again = Source(path, after).tree.root_node
        if again.has_error:
            broken.append(Fault("syntax", ", ".join(sorted(_codes(found)))))
    try:
        second = port.scan(path, after)
    except Exception as error:
        return [*broken, Fault("exception in the second run", _said(error))], after
    if _codes(second):
        broken.append(Fault("second run", ", ".join(sorted(_codes(second)))))
    return broken, after


def faults_of_kernel(path: str, data: bytes) -> tuple[list[Fault], bytes]:
    """Return what does not hold of a source of kernels, and its translation."""
    began = time.process_time()
    try:
        done = translate(path, data)
    except PortkitError:
        return [], data
    except Exception as error:
        return [Fault("exception", _said(error))], data
    took = time.process_time() - began
    broken = [Fault("time", f"{took:.1f} s for {len(data)} bytes")] if took > SECONDS else []
    try:
        again = translate(done.target, done.content)
    except Exception as error:
        return [*broken, Fault("exception in the second run", _said(error))], done.content
    if again.content != done.content:
        codes = {f.code for f in again.findings if f.edits}
        broken.append(Fault("second run", ", ".join(sorted(codes))))
    return broken, done.content


def _codes(scan: Scan) -> set[str]:
    return {f.code for f in scan.findings if f.status is Status.TODO and f.edits}


def _said(error: Exception) -> str:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {last.filename.rpartition('portkit/')[2]}:{last.name} {last.line} {error}"[
        :300
    ]


def _of_findings(scan: Scan, path: str) -> Iterator[Fault]:
    data = scan.job.workspace.sources[path].data
    words = (*scan.job.vendor.vocabulary, *scan.job.vendor.peer_vocabulary)
    spans = sorted((c.start, c.end) for f in scan.findings for c in f.claims)
    left = {u.offset for u in scan.unaccounted}
    whole = any(not f.claims for f in scan.findings if f.path == path)
    lowered = data.lower()
    reach, at, covered = 0, 0, []
    for start, end in spans:
        covered.append((start, end))
    import re

    if not whole:
        for m in re.finditer(
            b"|".join(w.encode() for w in sorted(words, key=len, reverse=True)), lowered
        ):
            o = m.start()
            if o not in left and not any(a <= o < b for a, b in covered):
                yield Fault("mention", f"nothing accounts for the mention at {o}")
                break
    for finding in scan.findings:
        for span in (finding.span, *finding.claims):
            if not 0 <= span.start <= span.end <= max(len(data), 1):
                yield Fault("span", f"{finding.code} {span}")
        for edit in finding.edits:
            if not 0 <= edit.start <= edit.end <= len(data):
                yield Fault("span of an edit", f"{finding.code} {edit}")
            elif edit.start < edit.end and not _inside(finding, edit.start, edit.end):
                yield Fault("outside", f"{finding.code} replaces what it does not claim")


def _inside(finding: Finding, start: int, end: int) -> bool:
    return any(s.start <= start and end <= s.end for s in (finding.span, *finding.claims))
