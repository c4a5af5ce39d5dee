"""Every fixture, of every rule: `harness` says what each is held to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from harness import FixtureSuite, Run, every_run, lines, said, sayings

if TYPE_CHECKING:
    from tree_support import Tree


@pytest.mark.parametrize("run", every_run(), ids=str)
class TestFixtures(FixtureSuite): ...


@pytest.mark.parametrize(
    ("run", "tree", "key"), [pytest.param(*each, id=f"{each[0]}-{each[2]}") for each in sayings()]
)
def test_it_says_what_the_case_expects(run: Run, tree: str, key: str) -> None:
    expected = run.case.settings[key]
    found = said(run, tree)
    assert [{k: f[k] for k in e} for f, e in zip(found, expected, strict=True)] == expected


def spaced(tree: Tree, before: str, after: str) -> Tree:
    """Return a tree whose Rust spaces the options of conditions otherwise."""
    option = re.compile(rb'\bfeature\s*=\s*"')
    new = f'feature{before}={after}"'.encode()
    return {p: option.sub(new, data) if p.endswith(".rs") else data for p, data in tree.items()}


CONDITIONAL = [
    run
    for run in every_run()
    if spaced(run.before, "", "") != run.before and run.case.rule != "in_place"  # goes by texts
]


@pytest.mark.parametrize("run", CONDITIONAL, ids=str)
def test_conditions_may_be_spaced_otherwise(run: Run) -> None:
    other = run.job(spaced(run.before, "", "\t"))
    assert lines(spaced(other, " ", " ")) == lines(run.job(run.before))
    assert lines(run.job(other)) == lines(other)


@pytest.mark.parametrize("run", [r for r in every_run() if r.by_hand is not None], ids=str)
def test_port_by_hand_is_recognised(run: Run) -> None:
    tree = run.by_hand
    assert tree is not None
    assert lines(run.job(tree)) == lines(tree)
