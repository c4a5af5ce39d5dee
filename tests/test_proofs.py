"""Tests that are skipped while everything that decides their result is the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from proven import VARIABLE, Proofs, digest

TESTS = Path(__file__).parent
TEST = """
import os


def test_it(unless_proven):
    unless_proven("the inputs")
    assert "FAIL" not in os.environ
"""


@pytest.fixture(autouse=True)
def _remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test as without the setting of CI, which runs every test."""
    monkeypatch.delenv(VARIABLE, raising=False)


def test_an_input_is_a_text_or_the_names_and_contents_of_files(tmp_path: Path) -> None:
    def write(name: str, text: str) -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        return digest(tmp_path)

    found = [digest(tmp_path), write("a", "1"), write("a", "2"), write("b/c", "2")]
    (tmp_path / "a").rename(tmp_path / "d")
    found += [digest(tmp_path), digest(tmp_path, "text"), digest("text", tmp_path)]
    assert len({*found}) == len(found)
    # Cargo writes these.
    assert write("Cargo.lock", "") == write("target/debug", "") == found[4]


def test_a_setting_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    proofs = Proofs("a test")
    proofs.need("input")
    proofs.remember()
    with pytest.raises(pytest.skip.Exception, match="it has passed with the same inputs, on 20"):
        Proofs("a test").need("input")
    Proofs("a test").need("another input")
    Proofs("another test").need("input")
    monkeypatch.setenv("HIPRC_BLAS", "rocblas")
    Proofs("a test").need("input")


def test_only_success_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())

    def run(**variables: str) -> str:
        options = ("-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(tmp_path))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(TESTS))
            for name, value in variables.items():
                patch.setenv(name, value)
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", *options, str(tmp_path / "test_it.py")],
                capture_output=True,
                text=True,
                check=False,
            )
        return done.stdout.strip().splitlines()[-1]

    assert "1 failed" in run(FAIL="yes")
    assert "1 passed" in run()
    assert "1 skipped" in run()
    assert "1 passed" in run(**{VARIABLE: "no"})
