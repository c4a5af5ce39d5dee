"""A file that the port adds and that no file of the tree stands for.

The HIP bindings, the crate of kernels, tests and pages of documentation come from
templates. The counterpart of a crate that is CUDA's as a whole has its manifest, the translations
of its kernels, and a build script that has hipcc compile them. A file that stands already is left
as it is. Translations beside their sources are a person's where another file has the name of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from msgspec.structs import replace

from portkit.context.port_job import PortJob
from portkit.port.drift import find_drift
from portkit.port.new_files import list_added_files
from portkit.rules import TreeRule
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Finding, NewFile, Status, no_files

CODE = "PK103"
NEW_CRATE = "new crate"
"""The construct of a finding that adds a crate."""


def check(job: PortJob) -> Iterator[Finding]:
    """Find what the port adds and no file of the tree stands for."""
    for addition in list_added_files(job):
        standing = job.stands(addition.name) or any(map(addition.holds, job.workspace.sources))
        found = Finding(
            code=CODE,
            path=addition.name,
            span=Span(0, 0),
            construct="new file" if "." in addition.name else NEW_CRATE,
            symbol=addition.name,
            applicability=Applicability.SAFE,
            status=Status.PORTED if standing else Status.TODO,
            message=addition.message,
            files=partial(_new_files, addition.files),
        )
        if not standing and (why := addition.find_obstacle()):
            said = f"{addition.message}: {why}; nothing of them is written before that"
            yield replace(
                found,
                applicability=Applicability.MANUAL,
                status=Status.NONE,
                message=said,
                files=no_files,
            )
            continue
        yield found
        if standing:
            for path, make in sorted(addition.files().items()):
                yield from find_drift(job, CODE, path, make)
        if job.kernels:
            yield from addition.findings()


def _new_files(files: Callable[[], Mapping[str, Callable[[], str]]]) -> tuple[NewFile, ...]:
    return tuple(NewFile(path, make()) for path, make in sorted(files().items()))


RULE = TreeRule(CODE, check)
