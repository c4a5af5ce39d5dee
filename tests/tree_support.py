"""Trees that are held in memory, and what a scan says about them."""

from __future__ import annotations

import itertools
import json
import os
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from portkit.codebases.directory import Directory
from portkit.context.port_job import Gating, PortJob
from portkit.engine.refused_findings import apply_checks
from portkit.engine.scan import Scan, scan_workspace
from portkit.port.adapted_profiles import find_feature_spelling
from portkit.port.c_declarations import add_c_names
from portkit.profiles.profile import load_vendor, parse_codebase
from portkit.rules import list_rules
from portkit.rules.file_rules import ADDED_FILE_CODE as ADDED
from portkit.syntax.source_file import SourceFile
from portkit.workspace.cargo_workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from portkit.profiles.profile import CodebaseProfile, VendorProfile
    from portkit.rules import Rule
    from portkit.workspace.finding import Finding

Tree = dict[str, bytes]

MANIFEST = b'[package]\nname = "fixture"\nversion = "0.1.0"\nedition = "2021"\n'
# What fixtures share: little more than a codebase profile must hold.
PROFILE: Mapping[str, Any] = {
    "name": "fixture",
    "crate": "fixture",
    "first_version": "0.1.0",
    "error_without_feature": "NotCompiledWithRocmSupport",
    "bindings": "candle-hip",
    "names": {"words": {}},
    "dependencies": {},
}


def crate(text: str, **files: str) -> Tree:
    """Return a crate with this ``src/lib.rs``, and more files of ``src`` by their stems."""
    sources = {"lib": text, **files}
    return {
        "Cargo.toml": MANIFEST,
        **{f"src/{stem}.rs": text.encode() for stem, text in sources.items()},
    }


def workspace_of(tree: Tree, root: Path = Path()) -> Workspace:
    """Return a tree as a workspace."""
    sources = {path: SourceFile(path, data) for path, data in sorted(tree.items())}
    return Workspace(root, tomllib.loads(tree["Cargo.toml"].decode()), sources, ())


def port_of(
    tree: Tree,
    profile: Mapping[str, Any] | None = None,
    gating: str = "dummy",
    root: Path = Path(),
) -> PortJob:
    """Return the job of porting a tree; ``root`` is the codebase's directory as well."""
    vendor, codebase = _profiles(json.dumps(profile or {}), root)
    workspace = workspace_of(tree)
    return PortJob(
        workspace,
        add_c_names(find_feature_spelling(vendor, codebase, workspace), workspace),
        codebase,
        Gating(gating),
    )


def scan_of(
    tree: Tree,
    profile: Mapping[str, Any] | None = None,
    gating: str = "dummy",
    chosen: Iterable[Rule] | None = None,
    root: Path = Path(),
) -> Scan:
    """Scan a tree, with all rules by default, without what a port adds to every tree.

    The root is the codebase's directory as well: templates are looked for there.
    """
    asked = list_rules() if chosen is None else tuple(chosen)
    return _scan(json.dumps(profile or {}), gating, tuple(sorted(tree.items())), asked, root)


def scan_anew(tree: Tree) -> Scan:
    """Scan a tree as `scan_of` does, but for what is known of it: work and memory are measured."""
    return _scan.__wrapped__("{}", "dummy", tuple(sorted(tree.items())), list_rules(), Path())


# The checks of one fixture share its scans; a scan that is kept longer costs memory.
@lru_cache(maxsize=128)
def _scan(
    profile: str,
    gating: str,
    files: tuple[tuple[str, bytes], ...],
    chosen: tuple[Rule, ...],
    root: Path,
) -> Scan:
    vendor, codebase = _profiles(profile, root)
    workspace = workspace_of(dict(files), root)
    vendor = add_c_names(find_feature_spelling(vendor, codebase, workspace), workspace)
    found = scan_workspace(workspace, vendor, codebase, gating=gating, chosen=chosen)
    if len(chosen) == len(list_rules()):  # one rule may need what another writes
        found = apply_checks(found)
    return replace(found, findings=tuple(f for f in found.findings if f.code != ADDED))


@cache
def _profiles(profile: str, root: Path) -> tuple[VendorProfile, CodebaseProfile]:
    codebase = parse_codebase({**PROFILE, **json.loads(profile)}, Directory(root))
    return load_vendor("rocm", codebase), codebase


def user_seconds() -> float:
    """Return how long this process has computed; the system's share is its neighbours' as well."""
    return os.times().user


def find_conflicts(findings: Iterable[Finding]) -> list[tuple[Finding, Finding]]:
    """Return the pairs of findings whose edits overlap."""
    found = []
    edits = sorted(((f.path, e.start, e.end, i) for i, f in enumerate(findings) for e in f.edits))
    everything = list(findings)
    for (path, _, end, i), (other, start, _, j) in itertools.pairwise(edits):
        if path == other and start < end and i != j:
            found.append((everything[i], everything[j]))
    return found
