"""The step that type-checks the ported tree."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from portkit.errors import VerificationError
from portkit.verify.blame import attribute_diagnostics
from portkit.verify.cargo_features import select_features
from portkit.verify.diagnostics import parse_cargo
from portkit.verify.step_runner import Step, fail_step, pass_step, skip_step
from portkit.workspace.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from portkit.verify.diagnostics import Diagnostic, LineRange
    from portkit.verify.step_runner import Outcome
    from portkit.verify.verified_tree import VerifiedTree

SHOWN: Final = 10
"""How many complaints evidence names; the JSON document has all of them."""
_UNBUILT: Final = "error: failed to run custom build command for "
"""What cargo says of a build script that fails, such as one that misses a library."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """The result of one run of the compiler.

    Attributes:
        found: its complaints, each with the lines that it names.
    """

    good: bool
    found: Mapping[Diagnostic, tuple[LineRange, ...]]
    said: tuple[str, ...]

    @property
    def warnings(self) -> int:
        """How many warnings there are."""
        return sum(diagnostic.level == "warning" for diagnostic in self.found)


def check_types(tree: VerifiedTree) -> Outcome:
    """Check every target: with no feature, the port's, CUDA's and both.

    Where the tree before the port does not type-check either, with features that it has, what it
    says as well is not the port's; where that is a dependency that cannot be built here, nothing
    is known of the port.
    """
    evidence: list[str] = []
    unbuilt: set[str] = set()
    left_out: list[str] = []
    figures: dict[str, int] = {}
    port, cuda = tree.feature, tree.source_feature
    for features in ((), (port,), (cuda,), (cuda, port)):
        title = ",".join(features) or "no feature"
        if reason := find_missing_tool(tree, features):
            left_out.append(f"{title}: {reason}")
            continue
        found = check(tree, "check", features)
        figures[f"warnings: {title}"] = found.warnings
        if found.good:
            evidence.append(f"{title}: type-checks, {found.warnings} warnings")
            continue
        errors = [d for d in found.found if d.level == "error"]
        if tree.feature not in features:
            before = check(tree, "check", features, folder=tree.baseline)
            known = {d.text_without_position for d in before.found}
            errors = [d for d in errors if d.text_without_position not in known]
            if not before.good and not errors:
                unbuilt.update(line for line in before.said if line.startswith(_UNBUILT))
                evidence.append(f"{title}: does not type-check, as before the port")
                continue
        elif not errors and found.said and unbuilt.issuperset(found.said):
            return skip_step(
                f"{title}: {found.said[0]}, as before the port: install what it looks for",
                *evidence,
            )
        return fail_step(
            f"{title}: does not type-check",
            *list_complaints(errors := list(attribute_diagnostics(tree, errors)), found.said),
            *evidence,
            left_out=left_out,
            figures=figures,
            diagnostics=errors,
        )
    return pass_step(*evidence, left_out=left_out, figures=figures)


def check(
    tree: VerifiedTree,
    command: str,
    features: Sequence[str],
    *rustc: str,
    folder: Path | None = None,
) -> CheckRun:
    """Run ``cargo check`` or ``cargo clippy`` on every target of the chosen crates."""
    done = tree.run_cargo(
        command,
        *tree.compiled,
        "--all-targets",
        *select_features(tree, *features),
        "--message-format=json",
        *(("--", *rustc) if rustc else ()),
        folder=folder,
    )
    if done.status < 0:
        raise VerificationError(
            f"cargo was ended from outside ({signal.strsignal(-done.status)}), as the system does"
            " when memory runs out: make room and verify again"
        )
    found = parse_cargo(done.output, folder or tree.root)
    return CheckRun(done.status == 0, found, tuple(parse_cargo_errors(done.lines)))


def list_complaints(found: Sequence[Diagnostic], said: Sequence[str]) -> list[str]:
    """Return the first diagnostics, or the errors of cargo itself."""
    if not found:
        return list(said[:SHOWN])
    more = len(found) - SHOWN
    return [*map(str, found[:SHOWN]), *([f"and {more} more"] if more > 0 else [])]


def parse_cargo_errors(lines: Sequence[str]) -> list[str]:
    """Return the errors in cargo's text, each with its position if it has one.

    A full disk comes first: it is the cause of whatever follows.
    """
    found: list[str] = []
    full: list[str] = []
    for line, following in pairwise((*lines, "")):
        if "No space left on device" in line:
            full.append(f"the disk is full ({line.strip()}): make room")
        elif line.startswith("error"):
            place = following.strip()
            found.append(f"{line} ({place[4:]})" if place.startswith("--> ") else line)
    return [*full[:1], *found]


def find_missing_tool(tree: VerifiedTree, features: Sequence[str]) -> str:
    """Return why crates cannot be compiled with features here, or an empty string.

    Cargo refuses a feature that a named package does not have; of a whole workspace it takes what
    some member has (The Cargo Book, "Features", "Command line feature options").
    """
    if tree.source_feature in features and not _find_nvcc(tree):
        return "nvcc is not found: put it on PATH or set CUDA_HOME"
    crates = tree.scan.job.workspace.crates
    port = tree.feature
    if tree.options.unfinished and port in features and all(port not in c.features for c in crates):
        return f"no crate has the feature {port} yet"
    for crate in crates if tree.options.packages else ():
        if crate.name in tree.tested and (unknown := sorted({*features} - crate.features)):
            return f"{crate.name} has no feature {', '.join(unknown)}"
    return ""


def _find_nvcc(tree: VerifiedTree) -> str:
    """Return the path of nvcc, where the build scripts of CUDA crates look for it, or nothing."""
    home = tree.environment.get("CUDA_HOME") or tree.environment.get("CUDA_PATH") or ""
    places = os.pathsep.join(filter(None, [home and f"{home}/bin", tree.environment.get("PATH")]))
    return find_program(tree.environment.get("NVCC") or "nvcc", places)


def _list_inputs(tree: VerifiedTree) -> tuple[str, ...]:
    nvcc = _find_nvcc(tree)
    return (nvcc and tree.read_version(nvcc, "--version"), *tree.compiled)


CHECK: Final = Step(
    "check", "it type-checks, with and without the feature", 43, check_types, inputs=_list_inputs
)
