"""The checks that every case of the rules' fixtures passes."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from gating_support import differing
from harness import Case, Run, lines, said
from msgspec.structs import replace
from tree_support import find_conflicts, workspace_of

from portkit.rules import list_rules
from portkit.workspace.finding import Status, no_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_support import Tree

    from portkit.workspace.finding import Finding

APART: Final = (
    "there is no dummy backend with --gating cfg",
    "the variant does not exist without the feature, so no arm answers for it",
    "this macro takes no attribute before an arm, so no arm of a call can be under the feature:"
    " write the arm in the macro by hand",
    "a branch of a chain cannot stand under a feature: make it a match, by hand",
    "what follows runs for CUDA alone: give ROCm a function or a branch of its own",
    "a second `while let` would lose the value that ends this one. Rewrite it as a `loop` with a"
    " `match`: an arm for CUDA, an arm for ROCm, and a `break` in the `_` arm",
)
"""Why the gating ``cfg`` writes nothing where the other does."""
_HALF: Final = frozenset({"a_twin_is_missing"})
"""Cases that are half ported before, as the gating ``cfg`` does it."""
_KEYS: Final = (("says", "dummy", "before"), ("says_cfg", "cfg", "before"))
_KEYS_AFTER: Final = ("says_after", "dummy", "after")


def check_result(run: Run) -> None:
    """The port is the fixture's tree after."""
    assert lines(run.job(run.before, rustfmt=True)) == lines(run.after)


def check_second_run(run: Run) -> None:
    """A second run changes nothing, and finds what the first has found."""
    assert lines(run.job(run.after)) == lines(run.after)
    # An item that was missing from a file of an earlier port is no finding once it is back.
    found = [f for f in run.scan(run.before).findings if f.construct != "item of a copy"]
    left = Counter(_identity(f) for f in found)
    stands = Counter(_identity(f) for f in run.scan(run.after).findings)
    assert left - stands == Counter(), "a finding about the tree before has gone"
    assert all(f.status is not Status.TODO for f in run.scan(run.after).findings)


def check_syntax(run: Run) -> None:
    """The port parses."""
    for path, source in workspace_of(run.job(run.before), run.case.folder).sources.items():
        if path.endswith((".rs", ".toml")):
            assert not source.tree.root_node.has_error, path
        if path.endswith((".py", ".pyi")):
            ast.parse(source.data)


def check_disjoint_edits(run: Run) -> None:
    """No two findings edit the same bytes."""
    assert find_conflicts(run.scan(run.before).findings) == []


def check_order_of_rules(run: Run) -> None:
    """The order of the rules changes neither the port nor the findings."""
    shuffled = random.Random(0).sample(list_rules(), len(list_rules()))
    for chosen in (list_rules()[::-1], shuffled):
        assert run.job(run.before, chosen) == run.job(run.before)
        assert [_comparable(f) for f in run.scan(run.before, chosen).findings] == [
            _comparable(f) for f in run.scan(run.before).findings
        ]


def check_crlf(run: Run) -> None:
    """A tree with CRLF gives the same port with CRLF."""
    assert run.job(_crlf(run.before)) == _crlf(run.job(run.before))


def check_positions(run: Run) -> None:
    """Spans, claims and edits lie in their file."""
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


def check_mentions(run: Run) -> None:
    """Every mention is accounted for, but for those that the case names."""
    left = run.scan(run.before).unaccounted
    assert [f"{u.path}:{u.line}" for u in left] == run.case.settings.get("unaccounted", [])
    still = run.scan(run.after).unaccounted
    assert [(u.path, u.text) for u in still] == [(u.path, u.text) for u in left]


def check_each_finding_alone(run: Run) -> None:
    """A tree that lacks the edits of one finding gets them in the next run."""
    whole = run.job(run.before)
    for finding in run.scan(run.before).findings:
        if finding.status is Status.TODO:
            assert lines(run.job(run.port_without(finding))) == lines(whole), finding.message


def check_spacing(run: Run) -> None:
    """Spaces in a condition change nothing."""
    before = spaced(run.before, "", "\t")
    # A rule that writes in place goes by texts.
    if spaced(run.before, "", "") == run.before or run.case.rule == "in_place":
        return
    other = run.job(before)
    assert lines(spaced(other, " ", " ")) == lines(run.job(run.before))
    assert lines(run.job(other)) == lines(other)


def check_manual_port(run: Run) -> None:
    """A port in a person's own words is complete."""
    if (tree := run.by_hand) is not None:
        assert lines(run.job(tree)) == lines(tree)


def check_expected_findings(run: Run) -> None:
    """The case's rule finds what the case says."""
    for key, gating, tree in (*_KEYS, _KEYS_AFTER):
        if gating == run.gating and key in run.case.settings:
            expected = run.case.settings[key]
            found = said(run, tree)
            pairs = zip(found, expected, strict=True)
            assert [{k: f[k] for k in e} for f, e in pairs] == expected, key


CHECKS: Final[tuple[Callable[[Run], None], ...]] = (
    check_result,
    check_second_run,
    check_syntax,
    check_disjoint_edits,
    check_order_of_rules,
    check_crlf,
    check_positions,
    check_mentions,
    check_each_finding_alone,
    check_spacing,
    check_manual_port,
    check_expected_findings,
)


def check_gatings(case: Case) -> None:
    """The two gatings write the same port: they differ in attributes, and in the dummy backend.

    The gating ``cfg`` leaves a site to a person only for one of the reasons in `APART`.
    """
    dummy, cfg = (Run(case, gating) for gating in ("dummy", "cfg"))
    if apart := _find_reasons(dummy, cfg):
        assert case.name in _HALF or all(reason in APART for reason in apart), apart
        return
    ports = [run.job(run.before) for run in (dummy, cfg)]
    assert differing(*ports) == []


def spaced(tree: Tree, before: str, after: str) -> Tree:
    """Return a tree whose Rust has other spaces around the ``=`` of a condition."""
    option = re.compile(rb'\bfeature\s*=\s*"')
    new = f'feature{before}={after}"'.encode()
    return {p: option.sub(new, data) if p.endswith(".rs") else data for p, data in tree.items()}


def _find_reasons(*runs: Run) -> list[str]:
    """Return why one gating writes nothing at a site where the other does."""
    written: list[set[tuple[str, str, int]]] = []
    why: dict[tuple[str, str, int], str] = {}
    for run in runs:
        found = [((f.path, f.code, f.span.start), f) for f in run.scan(run.before).findings]
        written.append({site for site, f in found if f.status is Status.TODO})
        why |= {site: f.message for site, f in found if f.status is Status.NONE}
    sites = written[0] ^ written[1]
    reasons = {why[site] for site in sites if site in why}
    # A file of a dummy backend has no reason of its own.
    return sorted(reasons or ({"nothing says why"} if sites else set()))


def _crlf(tree: Tree) -> Tree:
    """Return a tree with the other line ending."""
    return {path: data.replace(b"\n", b"\r\n") for path, data in tree.items()}


def _comparable(finding: Finding) -> Finding:
    """Return a finding without the function that makes its files."""
    return replace(finding, files=no_files)


def _identity(finding: Finding) -> tuple[str, str]:
    """Return the part of a finding that its port does not change."""
    return finding.path, finding.symbol
