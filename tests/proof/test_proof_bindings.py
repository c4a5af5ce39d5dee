"""The defects of the HIP bindings: a change of the bindings takes none of them away unseen."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from portkit.port.hip_bindings import HOME
from portkit.shipped import shipped
from tools.proof.bindings import load_mutants
from tools.proof.mutation import seeded

if TYPE_CHECKING:
    from tools.proof.mutation import Mutant

MUTANTS = load_mutants()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bindings") / "hip"
    ignored = shutil.ignore_patterns("target", "Cargo.lock")
    return Path(shutil.copytree(shipped(HOME), place, ignore=ignored))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_bindings_have_what_a_defect_replaces(copy: Path, mutant: Mutant) -> None:
    place = copy / mutant.file
    before = place.read_text(encoding="utf-8")
    with seeded(copy, mutant):
        assert place.read_text(encoding="utf-8") != before


def test_all_fit_into_one_build(copy: Path) -> None:
    with seeded(copy, *MUTANTS, switched=True):
        text = "".join(path.read_text(encoding="utf-8") for path in (copy / "src").rglob("*.rs"))
    assert [each.name for each in MUTANTS if f'name == "{each.name}"' not in text] == []
