"""The questions that AMD's runtime has answered too (``tests/real/test_real_emulator.py``)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from device_support import PROGRAMS, WAVES, build, run
from runtime_answers import DIFFERENT, SAME

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that asks, compiled."""
    return build(PROGRAMS / "answers.hip", tmp_path_factory.mktemp("answers") / "answers")


def test_every_question_has_its_answer(program: Path) -> None:
    expected = SAME | {name: each.cpu for name, each in DIFFERENT.items()}
    assert run(program).stdout.split() == sorted(expected)
    with ThreadPoolExecutor() as pool:
        found = dict(
            zip(expected, pool.map(lambda name: run(program, name), expected), strict=True)
        )
    assert {name: done.stdout.strip() for name, done in found.items()} == expected


@pytest.mark.parametrize("streams", ["eager", "lazy"])
def test_the_answers_do_not_depend_on_the_wavefront(program: Path, streams: str) -> None:
    asked = [name for name in SAME if "capture" in name]
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda name: run(program, name, arch=WAVES[64], streams=streams), asked)
    answers = {name: done.stdout.strip() for name, done in zip(asked, found, strict=True)}
    assert answers == {name: SAME[name] for name in asked}
