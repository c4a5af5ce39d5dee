"""Every fixture, of every rule: `harness` says what each is held to."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, Run, every_run, lines, said, sayings


@pytest.mark.parametrize("run", every_run(), ids=str)
class TestFixtures(FixtureSuite): ...


@pytest.mark.parametrize(
    ("run", "tree", "key"), [pytest.param(*each, id=f"{each[0]}-{each[2]}") for each in sayings()]
)
def test_it_says_what_the_case_expects(run: Run, tree: str, key: str) -> None:
    expected = run.case.settings[key]
    found = said(run, tree)
    assert [{k: f[k] for k in e} for f, e in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize("run", [r for r in every_run() if r.by_hand is not None], ids=str)
def test_port_by_hand_is_recognised(run: Run) -> None:
    tree = run.by_hand
    assert tree is not None
    assert lines(run.job(tree)) == lines(tree)
