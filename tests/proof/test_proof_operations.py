"""Defects of operations: programs stand in for cargo."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from portkit.codebases.registry import find_codebase
from portkit.errors import VerificationError
from portkit.profiles.profile import load_codebase
from portkit.verify.settings import load_settings
from tools.proof import operations
from tools.proof.mutation import Mutant
from tools.proof.operations import MANIFEST, RUNS, load_mutants, take_programs, write_crate

if TYPE_CHECKING:
    from pathlib import Path

CANDLE = find_codebase("candle")
SETTINGS = load_settings(load_codebase(CANDLE))

MUTANTS = (
    Mutant("loud", "x", "src/a.rs", "right", "wrong"),
    Mutant("quiet", "x", "src/b.rs", "right", "other"),
)

# Fails where the first defect is turned on, as libtest tells of it.
CARGO = """\
#!{python}
import os, sys
from pathlib import Path
assert sys.argv[1:] == ["test", "--quiet", "--no-fail-fast"]
here = Path({tree!r})
assert 'name == "loud"' in (here / "src/a.rs").read_text()
if (here / "broken").exists():
    print("error: could not compile `operations`", file=sys.stderr)
    sys.exit(101)
if (here / "failing").exists() or os.environ.get("PORTKIT_MUTANT") == "loud":
    print("---- sums stdout ----\\n\\nthread 'sums' panicked at tests/a.rs:3:5:\\n1 and not 2\\n")
    sys.exit(101)
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    for name in ("a.rs", "b.rs"):
        (root / "src" / name).write_text("right", encoding="utf-8")
    tools = tmp_path / "bin"
    tools.mkdir()
    cargo = tools / "cargo"
    cargo.write_text(CARGO.format(python=sys.executable, tree=str(root)), encoding="utf-8")
    cargo.chmod(0o755)
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / MANIFEST).touch()
    monkeypatch.setenv("PATH", str(tools))

    class Device:
        def environment(self, *, arch: str, base: dict[str, str]) -> dict[str, str]:
            return {**base, "ARCH": arch}

    monkeypatch.setattr(operations, "build_toolkit", Device)
    return root


def taken(tree: Path) -> list[tuple[str, str, str]]:
    place = tree.parent
    programs, results = place / "programs", place / "results"
    found = take_programs(tree, programs, place / "folder", MUTANTS, results, SETTINGS)
    return [(each.mutant, each.step, each.said) for each in found]


def test_each_is_run_until_a_test_fails(tree: Path) -> None:
    first, second = RUNS
    expected = [
        ("loud", first, "sums: 1 and not 2"),
        ("quiet", first, ""),
        ("quiet", second, ""),
    ]
    assert taken(tree) == expected
    assert (tree / "src" / "a.rs").read_text(encoding="utf-8") == "right"
    lines = (tree.parent / "results").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["caught"] for line in lines] == [True, False, False]


def test_what_is_known_is_not_run_again(tree: Path) -> None:
    before = taken(tree)
    (tree / "failing").touch()
    assert taken(tree) == before


@pytest.mark.parametrize(
    ("trouble", "said"), [("failing", "they fail where no defect is"), ("broken", "do not build")]
)
def test_programs_that_fail_by_themselves_say_nothing(tree: Path, trouble: str, said: str) -> None:
    (tree / trouble).touch()
    with pytest.raises(VerificationError, match=said):
        taken(tree)


def test_a_crash_is_told_by_its_signal(tree: Path) -> None:
    cargo = tree.parent / "bin" / "cargo"
    crash = "process didn't exit successfully: `experts` (signal: 11, SIGSEGV: invalid reference)"
    told = f"{crash}\\nerror: 1 target failed:\\n    `--test experts`"
    broken = f'import sys; print("{told}", file=sys.stderr); sys.exit(101)'
    text = cargo.read_text(encoding="utf-8")
    cargo.write_text(text.replace('== "loud":\n', f'== "loud":\n    {broken}\n'), encoding="utf-8")
    assert taken(tree)[0][2] == "experts: signal: 11, SIGSEGV: invalid reference"


def test_the_crate_has_the_programs_as_its_tests(tmp_path: Path) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "a.rs").touch()
    (tmp_path / "programs" / MANIFEST).write_text('path = "{tree}/candle-flash-attn"\n')
    write_crate(tmp_path / "crate", tmp_path / "tree", tmp_path / "programs")
    assert (tmp_path / "crate" / "tests" / "a.rs").is_file()
    manifest = (tmp_path / "crate" / "Cargo.toml").read_text(encoding="utf-8")
    assert manifest == f'path = "{tmp_path}/tree/candle-flash-attn"\n'
    assert not (tmp_path / "crate" / "tests" / MANIFEST).exists()


def test_every_defect_has_a_name_of_its_own() -> None:
    mutants = load_mutants(CANDLE)
    assert len({mutant.name for mutant in mutants}) == len(mutants) == 14
