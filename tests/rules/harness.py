"""What every rule's fixtures are held to.

A case is a folder ``tests/fixtures/rules/<rule>/<case in words>``:

- ``before/``: a tree; without a ``Cargo.toml`` it is a crate named fixture.
- ``after/``: what the port makes of it, every file. Absent: nothing may change.
- ``after_cfg/``: the same with ``--gating cfg``. Absent: as ``after/``.
- ``by_hand/``: the tree as a person ported it, in words of their own: nothing is left to do.
- ``case.toml``: ``[profile]``, what the codebase profile of the case holds; ``says``, what the rule
  finds in the tree before, in order: each a table with any of ``is`` (applicability and status),
  ``symbol``, ``construct``, ``message`` and ``lines`` ("first-last"); ``says_cfg`` and
  ``says_after``, the same with ``--gating cfg`` and in the tree after; ``unaccounted``, the
  mentions ("path:line") that are left over on purpose; ``rustc``, why rustc is not asked.

The first case of a rule, by name, is the example on its documentation page. All rules run on every
case. The crates that a port adds have tests of their own and are left out here.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from tree_support import MANIFEST, Tree, scan_of

from portkit.engine.plan import build_plan
from portkit.rules import list_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from portkit.engine.scan import Scan
    from portkit.rules import Rule
    from portkit.workspace.finding import Finding

FIXTURES = Path(__file__).parents[1] / "fixtures" / "rules"


@dataclass(frozen=True, order=True)
class Case:
    """One folder of fixtures."""

    rule: str
    name: str

    @property
    def folder(self) -> Path:
        return FIXTURES / self.rule / self.name

    def tree(self, name: str) -> Tree:
        """Return the files below one of the case's trees, the manifest included."""
        return dict(_files(self.folder / name))

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    @property
    def settings(self) -> dict[str, Any]:
        return _settings(self.folder / "case.toml")


@cache
def _files(root: Path) -> Tree:
    """Return the files below a folder, with a manifest if it has none."""
    found = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
    return {"Cargo.toml": MANIFEST, **found}


@cache
def _settings(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text()) if path.exists() else {}


@dataclass(frozen=True)
class Run:
    """One case under one gating."""

    case: Case
    gating: str

    def __str__(self) -> str:
        return f"{self.case.rule}-{self.case.name}-{self.gating}"

    @property
    def before(self) -> Tree:
        return self.case.tree("before")

    @property
    def after(self) -> Tree:
        wanted = [f"after_{self.gating}", "after"]
        return self.case.tree(next((n for n in wanted if self.case.has(n)), "before"))

    @property
    def changes(self) -> bool:
        return self.after != self.before

    def scan(self, tree: Tree, chosen: Iterable[Rule] | None = None) -> Scan:
        """Scan a tree with the case's profile; all rules are asked by default."""
        profile = self.case.settings.get("profile", {})
        return scan_of(tree, profile, self.gating, chosen, self.case.folder)

    def port_without(self, finding: Finding) -> Tree:
        """Return the ported tree without what one finding writes."""
        scan = self.scan(self.before)
        rest = replace(scan, findings=tuple(f for f in scan.findings if f is not finding))
        changes = build_plan(rest, rustfmt=False).changes
        return {**self.before, **{change.path: change.after for change in changes}}

    @property
    def by_hand(self) -> Tree | None:
        """The tree as a person ported it, if the case has one."""
        names = (f"by_hand_{self.gating}", "by_hand")
        name = next((n for n in names if self.case.has(n)), None)
        return None if name is None else self.case.tree(name)

    def job(
        self, tree: Tree, chosen: Iterable[Rule] | None = None, *, rustfmt: bool = False
    ) -> Tree:
        """Return the tree that the port makes of a tree."""
        asked = None if chosen is None else tuple(chosen)
        return {**tree, **_changed(self, tuple(sorted(tree.items())), asked, rustfmt)}


@lru_cache(maxsize=64)
def _changed(
    run: Run, files: tuple[tuple[str, bytes], ...], chosen: tuple[Rule, ...] | None, rustfmt: bool
) -> Tree:
    """Return the files that the port of a tree writes."""
    changes = build_plan(run.scan(dict(files), chosen), rustfmt=rustfmt).changes
    return {change.path: change.after for change in changes}


@cache
def cases(rule: str) -> tuple[Case, ...]:
    """Return the cases of a rule, sorted by name."""
    folder = FIXTURES / rule
    return tuple(sorted(Case(rule, p.name) for p in folder.iterdir() if p.is_dir()))


def runs(rule: str) -> list[Run]:
    """Return every case of a rule under both gatings."""
    return [Run(case, gating) for case in cases(rule) for gating in ("dummy", "cfg")]


def every_case() -> tuple[Case, ...]:
    """Return the cases of all rules, sorted."""
    folders = sorted(p.name for p in FIXTURES.iterdir() if p.is_dir())
    return tuple(case for rule in folders for case in cases(rule))


def every_run() -> list[Run]:
    """Return every case under both gatings."""
    return [Run(case, gating) for case in every_case() for gating in ("dummy", "cfg")]


def said(run: Run, tree: str) -> list[dict[str, str]]:
    """Return what the case's rule says about one of the trees, in order."""
    code = next(rule.code for rule in list_rules() if rule.name == run.case.rule)
    scan = run.scan(run.after if tree == "after" else run.before)
    found = []
    for finding in (f for f in scan.findings if f.code == code):
        source, span = scan.job.workspace.sources[finding.path], finding.span
        first, last = (source.position(at)[0] for at in (span.start, max(span.end - 1, 0)))
        found.append(
            {
                "is": f"{finding.applicability} {finding.status}",
                "symbol": finding.symbol,
                "construct": finding.construct,
                "message": finding.message,
                "lines": f"{first}-{last}",
            }
        )
    return found


def lines(tree: Tree) -> dict[str, list[str]]:
    """Return the lines of each file, so that a failing test shows the ones that differ."""
    return {path: data.decode().split("\n") for path, data in sorted(tree.items())}
