"""A file that the port adds and that no file of the tree stands for.

The HIP bindings, the crate of kernels, tests and pages of documentation come from
templates. The counterpart of a crate that is CUDA's as a whole has its manifest, the translations
of its kernels, and a build script that has hipcc compile them. A file that stands already is left
as it is. Translations beside their sources are a person's where another file has the name of one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.copying.additions import additions
from portkit.copying.differences import differences
from portkit.lang.span import Span
from portkit.rules import TreeRule
from portkit.tree.finding import Applicability, Finding, NewFile, Status, no_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from portkit.copying.additions import Addition
    from portkit.site.context import Job


CODE = "PK103"
NEW_CRATE = "new crate"
"""The construct of a finding that adds a crate."""


def check(job: Job) -> Iterator[Finding]:
    """Find what the port adds and no file of the tree stands for."""
    for addition in additions(job):
        standing = _standing(job, addition)
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
        if not standing and (why := addition.in_the_way()):
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
                yield from differences(job, CODE, path, make)
        if job.kernels:
            yield from addition.findings()


def _standing(job: Job, addition: Addition) -> bool:
    # A HIP source is not among the files that are looked at.
    return job.stands(addition.name) or any(map(addition.holds, job.workspace.sources))


def _new_files(files: Callable[[], Mapping[str, Callable[[], str]]]) -> tuple[NewFile, ...]:
    return tuple(NewFile(path, make()) for path, make in sorted(files().items()))


RULE = TreeRule(CODE, check)
