"""The repairs of a codebase's defects in a tree.

Each is made upon those before it, so that together they can be commits. One that is asked for alone
is made of the same declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from portkit.context.port_job import PortJob
from portkit.engine.plan import format_changes
from portkit.engine.scan import Scan
from portkit.hipify.kernel_profile import load_profile
from portkit.hipify.patch import Patch
from portkit.port.item_patches import REPAIR
from portkit.profiles.defects import Defect, load_defects
from portkit.profiles.defects import DefectPatch as Own
from portkit.profiles.entries import CopyRepair as Declared
from portkit.profiles.entries import TokenPatch
from portkit.repairs.defect_page import DefectPage, DefectTest, build_defect_test, read_page
from portkit.repairs.repaired_files import repair_files
from portkit.syntax.value import Value
from portkit.transaction.change import Change

_MENDED: Final = "nothing of it is found: upstream has mended it, or says it in other words"
_SHOWN: Final = 60  # How many characters of a declaration are shown.
_LAST_COMMA: Final = re.compile(rb",(?=[)\]}])")
_VERSION: Final = "it is not in this version"


class RepairState(StrEnum):
    """The state of a repair in a tree."""

    TO_WRITE = "to write"
    STANDS = "stands"
    ABSENT = "not here"
    WITHOUT = "no repair"
    UNFIT = "left out"


class Repair(Value, frozen=True):
    """A defect and its repair in a tree."""

    defect: Defect
    page: DefectPage
    codes: tuple[str, ...]
    state: RepairState
    why: str = ""
    # Against the repairs before, sorted by path; the test among them.
    changes: tuple[Change, ...] = ()
    test: DefectTest | None = None
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name by which it is requested."""
        return self.defect.page

    def is_requested_by(self, word: str) -> bool:
        """Whether a word of ``--codes`` is its name or begins one of its codes."""
        return word == self.name or any(code.startswith(word) for code in self.codes)


def list_repair_names(scan: Scan) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the name and the codes of each repair."""
    return tuple((d.page, _codes(_declared(scan.job, d))) for d in _defects(scan.job))


def build_repairs(
    scan: Scan, asked: Iterable[str] = (), *, rustfmt: bool = True
) -> tuple[Repair, ...]:
    """Return the repairs of a tree, in the order of their commits.

    Args:
        asked: names of repairs, or what codes begin with; all where there is none.

    Raises:
        ProfileError: what is declared is malformed.
        PlanError: a repair would leave a file that is no Rust.
        ToolError: rustfmt is missing.
    """
    files = {path: source.data for path, source in scan.job.workspace.sources.items()}
    wanted = tuple(asked)
    found = []
    for defect in _defects(scan.job):
        repair = _repair(scan, defect, files, rustfmt=rustfmt, wanted=wanted)
        if repair is not None:
            files |= {change.path: change.after for change in repair.changes}
            found.append(repair)
    return tuple(found)


def merge_changes(made: Sequence[Repair]) -> tuple[Change, ...]:
    """Merge the changes of repairs, sorted by path."""
    before: dict[str, bytes | None] = {}
    after: dict[str, bytes] = {}
    for change in (change for repair in made for change in repair.changes):
        before.setdefault(change.path, change.before)
        after[change.path] = change.after
    return tuple(Change(path, before[path], after[path]) for path in sorted(after))


def _repair(
    scan: Scan,
    defect: Defect,
    files: Mapping[str, bytes],
    *,
    rustfmt: bool,
    wanted: tuple[str, ...],
) -> Repair | None:
    """Build a repair on top of those before, or None if it was not requested."""
    job = scan.job
    declared = _declared(job, defect)
    assert job.codebase.directory is not None  # what has defects has a directory
    page = read_page(job.codebase.directory, defect.page)
    repair = Repair(defect, page, _codes(declared), RepairState.ABSENT)
    if wanted and not any(repair.is_requested_by(word) for word in wanted):
        return None
    return _settled(scan, repair, declared, files, rustfmt=rustfmt)


def _settled(
    scan: Scan,
    repair: Repair,
    declared: Sequence[TokenPatch | Patch],
    files: Mapping[str, bytes],
    *,
    rustfmt: bool,
) -> Repair:
    job, defect = scan.job, repair.defect
    if defect.without:
        return replace(repair, state=RepairState.WITHOUT, why=defect.without)
    if not defect.applies_to_version(job.workspace.version):
        return replace(repair, why=_VERSION)
    package = defect.crate or job.codebase.crate
    crate = next((each for each in job.workspace.crates if each.name == package), None)
    if crate is None:
        return replace(repair, why=f"the tree has no package {package}")
    test = build_defect_test(scan, repair.page, crate, defect.page)
    if test is not None and (standing := files.get(test.path)) is not None:
        if _is_written(scan, test, standing, rustfmt=rustfmt):
            return replace(repair, state=RepairState.STANDS, why=f"{test.path} is there", test=test)
        return replace(
            repair,
            state=RepairState.UNFIT,
            why=f"{test.path} is there and is another file: rename it",
        )
    now = dict(files)
    lacking: list[TokenPatch | Patch] = []
    reasons: dict[str, None] = {}
    places = 0
    for declaration in declared:
        made = [*repair_files(job, declaration, now, _sources(job))]
        if isinstance(declaration, Patch) and not made:
            continue  # this version has no such kernels
        count = sum(each.places for each in made)
        places += count
        if not count or not all(each.fits for each in made):
            lacking.append(declaration)
        now |= {each.path: each.data for each in made}
        reasons[declaration.reason] = None
    if not places:
        return replace(repair, why=_MENDED)
    if lacking:
        return replace(repair, state=RepairState.UNFIT, why=_unfit(lacking[0]))
    changes = {p: Change(p, files[p], now[p]) for p in sorted(now) if now[p] != files[p]}
    if test is not None:
        changes[test.path] = Change(test.path, None, test.text.encode())
    if rustfmt:
        changes, _ = format_changes(scan, changes)
    ordered = tuple(changes[path] for path in sorted(changes))
    return replace(
        repair, state=RepairState.TO_WRITE, changes=ordered, test=test, reasons=tuple(reasons)
    )


def _unfit(declaration: TokenPatch | Patch) -> str:
    files = declaration.files if isinstance(declaration, Patch) else (declaration.path,)
    text = " ".join(declaration.match.split())
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
    return (
        f"{', '.join(files)} has {shown!r} not as often as it is declared: see whether upstream has"
        " mended a part of it"
    )


def _is_written(scan: Scan, test: DefectTest, standing: bytes, *, rustfmt: bool) -> bool:
    """Whether a file is a test, as it is shipped or as rustfmt formats it."""
    text = test.text.encode()
    if _without_layout(standing) == _without_layout(text):
        return True
    if not rustfmt:
        return False
    laid, _ = format_changes(scan, {test.path: Change(test.path, None, text)})
    return _without_layout(standing) == _without_layout(laid[test.path].after)


def _without_layout(data: bytes) -> bytes:
    """Return a text without blanks and trailing commas, which rustfmt changes most."""
    return _LAST_COMMA.sub(b"", b"".join(data.split()))


def _defects(job: PortJob) -> tuple[Defect, ...]:
    directory = job.codebase.directory
    return load_defects(directory) if directory is not None else ()


def _declared(job: PortJob, defect: Defect) -> tuple[TokenPatch | Patch, ...]:
    """Return the declarations of a defect's repair that are for the tree's version."""
    version = job.workspace.version
    copied = (p for p in job.codebase.of(Declared) if p.page == defect.page)
    own: Iterator[Own] = iter(defect.change)
    rust = tuple(each for each in (*copied, *own) if each.applies_to_version(version))
    return (*rust, *(p for p in _kernel_patches(job) if p.page == defect.page))


def _kernel_patches(job: PortJob) -> tuple[Patch, ...]:
    codebase = job.codebase
    if codebase.directory is None or codebase.kernels is None:
        return ()
    return load_profile(codebase.directory, codebase.name).patches


def _sources(job: PortJob) -> str:
    """Return the folder of the kernels' sources."""
    kernels = job.codebase.kernels
    if kernels is None:
        return ""
    crate = next((c for c in job.workspace.crates if c.name == kernels.source), None)
    return f"{crate.directory if crate is not None else kernels.source}/src/"


def _codes(declared: Iterable[TokenPatch | Patch]) -> tuple[str, ...]:
    codes = {
        REPAIR if isinstance(each, Declared) else each.code
        for each in declared
        if isinstance(each, Declared | Patch)
    }
    return tuple(sorted(codes))
