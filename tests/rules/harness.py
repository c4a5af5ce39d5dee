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

import ast
import random
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from tree_support import MANIFEST, Tree, find_conflicts, scan_of, workspace_of

from portkit.engine.plan import build_plan
from portkit.rules import list_rules
from portkit.workspace.finding import Status, no_files

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
        root = self.folder / name
        found = {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }
        return {"Cargo.toml": MANIFEST, **found}

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    @property
    def settings(self) -> dict[str, Any]:
        path = self.folder / "case.toml"
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
        changes = build_plan(self.scan(tree, chosen), rustfmt=rustfmt).changes
        return {**tree, **{change.path: change.after for change in changes}}


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


def sayings() -> list[tuple[Run, str, str]]:
    """Return each run whose case says what is found, with the tree and the key that says it."""
    keys = (("says", "dummy", "before"), ("says_cfg", "cfg", "before"))
    return [
        (Run(case, gating), tree, key)
        for case in every_case()
        for key, gating, tree in (*keys, ("says_after", "dummy", "after"))
        if key in case.settings
    ]


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


def crlf(tree: Tree) -> Tree:
    """Return a tree with the other line ending."""
    return {path: data.replace(b"\n", b"\r\n") for path, data in tree.items()}


class FixtureSuite:
    """The checks of every run."""

    def test_result_is_exact(self, run: Run) -> None:
        assert lines(run.job(run.before, rustfmt=True)) == lines(run.after)

    def test_second_run_changes_nothing(self, run: Run) -> None:
        assert lines(run.job(run.after)) == lines(run.after)
        # What is missing from a file that was written before is no place any more once it is back.
        found = [f for f in run.scan(run.before).findings if f.construct != "item of a copy"]
        left = Counter(_identity(f) for f in found)
        stands = Counter(_identity(f) for f in run.scan(run.after).findings)
        assert left - stands == Counter(), "a finding about the tree before has gone"
        assert all(f.status is not Status.TODO for f in run.scan(run.after).findings)

    def test_result_parses(self, run: Run) -> None:
        for path, source in workspace_of(run.job(run.before), run.case.folder).sources.items():
            if path.endswith((".rs", ".toml")):
                assert not source.tree.root_node.has_error, path
            if path.endswith((".py", ".pyi")):
                ast.parse(source.data)

    def test_edits_are_disjoint(self, run: Run) -> None:
        assert find_conflicts(run.scan(run.before).findings) == []

    def test_order_of_rules_does_not_matter(self, run: Run) -> None:
        shuffled = random.Random(0).sample(list_rules(), len(list_rules()))
        for chosen in (list_rules()[::-1], shuffled):
            assert run.job(run.before, chosen) == run.job(run.before)
            assert [_said(f) for f in run.scan(run.before, chosen).findings] == [
                _said(f) for f in run.scan(run.before).findings
            ]

    def test_tree_with_crlf_gives_the_result_with_crlf(self, run: Run) -> None:
        assert run.job(crlf(run.before)) == crlf(run.job(run.before))

    def test_positions_lie_in_the_file(self, run: Run) -> None:
        sources = workspace_of(run.before, run.case.folder).sources
        for finding in run.scan(run.before).findings:
            data = sources[finding.path].data
            ranges = [(s.start, s.end) for s in (finding.span, *finding.claims)]
            for start, end in (*ranges, *((e.start, e.end) for e in finding.edits)):
                assert 0 <= start <= end <= max(len(data), 1)
            line, column = sources[finding.path].position(finding.span.start)
            end_line, _ = sources[finding.path].position(max(finding.span.end - 1, 0))
            assert 1 <= line <= end_line <= data.count(b"\n") + 1
            assert column >= 1

    def test_every_mention_is_accounted_for(self, run: Run) -> None:
        left = run.scan(run.before).unaccounted
        assert [f"{u.path}:{u.line}" for u in left] == run.case.settings.get("unaccounted", [])
        still = run.scan(run.after).unaccounted
        assert [(u.path, u.text) for u in still] == [(u.path, u.text) for u in left]

    def test_a_place_that_was_taken_back_comes_back(self, run: Run) -> None:
        whole = run.job(run.before)
        for finding in run.scan(run.before).findings:
            if finding.status is Status.TODO:
                assert lines(run.job(run.port_without(finding))) == lines(whole), finding.message


def _said(finding: Finding) -> Finding:
    """Return a finding that can be compared: what makes its files is a function."""
    return replace(finding, files=no_files)


def _identity(finding: Finding) -> tuple[str, str]:
    """Return what of a finding stays when its place is ported; a widened one may be another's."""
    return finding.path, finding.symbol


__all__ = [
    "Case",
    "FixtureSuite",
    "Run",
    "cases",
    "crlf",
    "every_case",
    "every_run",
    "runs",
    "said",
    "sayings",
]
