"""What a tree is asked: whether it can be ported, and whether the port type-checks."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from portkit.engine.parity import find_missing_counterparts
from portkit.engine.plan import build_plan
from portkit.engine.session import check_portable, scan_tree
from portkit.profiles.profile import load_codebase
from portkit.transaction.transaction import write_plan
from portkit.verify.diagnostics import parse_cargo
from portkit.verify.type_check import parse_cargo_errors
from portkit.workspace import process
from portkit.workspace.cargo_workspace import load_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from portkit.codebases.directory import Directory
    from portkit.workspace.process import FinishedProcess

GATINGS: Final = ("dummy", "cfg")

FILE: Final = "versions.toml"
"""In the directory of a codebase."""

_EVERYTHING: Final = ("--all-targets",)
_WITHOUT_UNIT_TESTS: Final = ("--lib", "--bins", "--examples", "--benches", "--test", "*")

_HEADERS: Final = str(Path(__file__).parent / "headers")

WITHOUT_OPENSSL: Final = {"OPENSSL_STATIC": "0"} | dict.fromkeys(
    ("OPENSSL_INCLUDE_DIR", "OPENSSL_LIB_DIR"), _HEADERS
)
"""Variables by which what depends on OpenSSL type-checks on a machine that has none.

openssl-sys asks the headers for the version alone (``determine_mode`` in its ``build/main.rs``, and
``build/expando.c``), and a type-check links nothing but build scripts: see ``Typed.libraries``.
"""

_ENVIRONMENT: Final = {
    # No tree is compiled twice: what cargo would keep for that is 40 GB after fifty of them.
    "CARGO_INCREMENTAL": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_TERM_COLOR": "never",
    "LC_ALL": "C.UTF-8",
    **WITHOUT_OPENSSL,
}

# As `portkit.verify.diagnostics.Diagnostic` writes itself.
_PLACE: Final = re.compile(r"error(\[\w+\])?.* \(([^()]+):\d+:\d+\)")

# What rustc says where a linker fails, and what lld and GNU ld say of a library that is not there.
_NOT_LINKED: Final = "error: linking with "
_LIBRARY: Final = re.compile(r"(?:unable to find library|cannot find) -l([\w+.-]*\w)")

# What cargo says where it cannot clone or fetch a repository (cargo 1.82 to 1.95).
_UNREACHABLE: Final = re.compile(r"^\s*unable to update \w+://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Crates:
    """The crates of a codebase that are asked, by name.

    Attributes:
        tested: those that are type-checked with all their tests.
        libraries: those without which nothing counts as proven.
        every: those that are type-checked.
        environment: of cargo, so that kernels are left out and no compiler of AMD's is needed.
    """

    tested: tuple[str, ...]
    libraries: tuple[str, ...]
    every: tuple[str, ...]
    environment: Mapping[str, str]


class VersionsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of every version of a codebase."""

    tested: Annotated[
        tuple[str, ...], Meta(description="The crates that are type-checked with all their tests.")
    ]
    libraries: Annotated[
        tuple[str, ...], Meta(description="The crates without which nothing counts as proven.")
    ]
    crates: Annotated[tuple[str, ...], Meta(description="The crates that are type-checked.")]


def load_crates(directory: Directory) -> Crates:
    """Return the crates of a codebase that are asked.

    Args:
        directory: the codebase's.

    Raises:
        ProfileError: the file is missing or malformed.
    """
    asked, codebase = directory.typed(FILE, VersionsFile), load_codebase(directory)
    return Crates(
        asked.tested, asked.libraries, asked.crates, {f"{codebase.variables}_KERNELS": "none"}
    )


@dataclass(frozen=True, slots=True)
class Typed:
    """What type-checking a tree has found.

    Attributes:
        errors: in the compiler's or cargo's words, each with its place; none where it type-checks.
        warnings: how many.
        unreachable: whether cargo could not even begin, for want of a dependency from git.
        libraries: those of the machine that a build script is linked with and that are not there;
            then the errors are about nothing else.
    """

    errors: tuple[str, ...]
    warnings: int = 0
    unreachable: bool = False
    libraries: tuple[str, ...] = ()


def port(pristine: Path, place: Path, gating: str) -> tuple[str, ...]:
    """Write a port of a tree into another folder, and return what is wrong with it.

    It must account for every mention of a backend, before and after; a second run must find nothing
    to write and no name of CUDA's without its counterpart; and rustfmt must leave every file as it
    is that it left so before the port.

    Args:
        pristine: the tree; it is not written to.
        place: the folder; what is there is replaced.
        gating: ``dummy`` or ``cfg``.

    Raises:
        PortkitError: the tree cannot be ported.
    """
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(pristine, place, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    before = scan_tree(place, gating=gating, kernels=True)
    check_portable(before)
    made = build_plan(before)
    write_plan(place, made.changes)
    after = scan_tree(place, gating=gating, kernels=True)
    layout = _unformatted(place)
    if layout:
        layout -= _unformatted(pristine)
    return tuple(
        chain(
            (f"unaccounted: {u.path}:{u.line}" for u in before.unaccounted),
            (f"unaccounted in the port: {u.path}:{u.line}" for u in after.unaccounted),
            (f"written again: {change.path}" for change in build_plan(after).changes),
            (
                f"without a counterpart: {u.path}:{u.line} {u.symbol}"
                for u in find_missing_counterparts(after)
            ),
            (f"not formatted: {path}" for path in sorted(layout)),
        )
    )


def typed(
    tree: Path,
    features: Sequence[str],
    target: Path,
    crates: Crates,
    only: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
) -> Typed:
    """Type-check some crates of a tree, and nothing else: all targets, or all but unit tests.

    Args:
        tree: where cargo runs; it writes the lock file there.
        features: of Cargo, by name; those that a crate has not are not asked of it.
        target: the folder for what cargo makes; trees share it to compile dependencies once.
        crates: those of the codebase.
        only: some of them; those that the tree has not are passed over.
        say: is given what is run, and each line that cargo writes.

    Raises:
        ToolError: cargo is missing.
    """
    here = {each.name for each in load_workspace(tree).crates}
    wanted = [crate for crate in only or crates.every if crate in here]
    found = Typed(())
    for targets, part in (
        (_EVERYTHING, [crate for crate in wanted if crate in crates.tested]),
        (_WITHOUT_UNIT_TESTS, [crate for crate in wanted if crate not in crates.tested]),
    ):
        if part and not found.errors:
            words = chain.from_iterable(("--package", crate) for crate in part)
            asked = ("--features", ",".join(features)) if features else ()
            done = _cargo(
                tree,
                # All that is wrong is wanted, whichever target cargo comes to first.
                *("check", "--keep-going", "--message-format=json", *targets, *words, *asked),
                environment=crates.environment,
                target=target,
                say=say,
            )
            found = _typed(done, tree, found.warnings)
    return found


def fails_as_before(ported: Typed, before: Typed, rename: Callable[[str], str]) -> bool:
    """Whether a port fails only where the tree fails before the port.

    Each error has the code of one of the tree's own, and stands in the same file or in the
    counterpart of that.

    Args:
        ported: what type-checking the port has found.
        before: the same of the tree, with the source's feature where the port's was on.
        rename: gives a counterpart's name.
    """
    own = {(code, name) for code, place in _places(before) for name in (place, rename(place))}
    return _places(ported) <= own


def _places(found: Typed) -> set[tuple[str, str]]:
    """Return the code and the file of each error; the whole error where it has none."""
    places = (_PLACE.fullmatch(error) for error in found.errors)
    return {
        (place[1], place[2]) if place else (error, "")
        for error, place in zip(found.errors, places, strict=True)
    }


def _typed(done: FinishedProcess, tree: Path, warnings: int) -> Typed:
    """Return what a run of cargo has found, beside the warnings of the run before."""
    found = parse_cargo(done.output, tree)
    if done.status == 0:
        return Typed((), warnings + sum(each.level == "warning" for each in found))
    errors = [str(each) for each in found if each.level == "error"]
    unlinked = errors and all(error.startswith(_NOT_LINKED) for error in errors)
    lacking = {m[1] for line in done.output for m in _LIBRARY.finditer(line)} if unlinked else ()
    said = [line.replace(f"{tree}{os.sep}", "") for line in parse_cargo_errors(done.lines)]
    return Typed(
        tuple(errors or said or ("cargo failed",)),
        unreachable=not errors and any(map(_UNREACHABLE.search, done.lines)),
        libraries=tuple(sorted(lacking)),
    )


def _unformatted(tree: Path) -> set[str]:
    """Return the files that rustfmt would change, and its complaint where it fails otherwise."""
    done = _cargo(tree, "fmt", "--all", "--", "--check", "--files-with-diff")
    start = f"{tree.resolve()}{os.sep}"
    found = {line.removeprefix(start) for line in done.lines if line.endswith(".rs")}
    if done.status != 0 and not found:
        return {next(iter(parse_cargo_errors(done.lines)), "cargo fmt failed")}
    return found


def _cargo(
    tree: Path,
    *arguments: str,
    environment: Mapping[str, str] = MappingProxyType({}),
    target: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> FinishedProcess:
    where = {"CARGO_TARGET_DIR": str(target)} if target else {}
    return process.run_process(
        ("cargo", *arguments),
        folder=tree,
        environment={**os.environ, **_ENVIRONMENT, **environment, **where},
        show=say,
    )
