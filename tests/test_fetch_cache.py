from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING

import pytest

from portkit.cache import cache_folder, cached_folder, read_cached, write_cached
from portkit.errors import DiskError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "portkit"


def write(text: str, folder: Path) -> None:
    (folder / "file").write_text(text)


@pytest.mark.parametrize("value", ["", "relative/cache", None])
def test_without_an_absolute_path_it_is_in_the_home(
    value: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if value is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert cache_folder() == tmp_path / ".cache" / "portkit"


def test_a_folder_is_filled_once(cache: Path) -> None:
    first = cached_folder("kind", "key", lambda folder: write("first", folder))
    second = cached_folder("kind", "key", lambda folder: write("second", folder))
    assert first == second == cache / "kind" / "key"
    assert (second / "file").read_text() == "first"
    assert list((cache / "kind").iterdir()) == [first]


def test_a_folder_is_not_there_before_it_is_whole(cache: Path) -> None:
    def fail(folder: Path) -> None:
        write("half", folder)
        assert not (cache / "kind" / "key").exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_folder("kind", "key", fail)
    assert list((cache / "kind").iterdir()) == []


def test_the_faster_of_two_runs_wins(cache: Path) -> None:
    def slow(folder: Path) -> None:
        cached_folder("kind", "key", lambda other: write("fast", other))
        write("slow", folder)

    folder = cached_folder("kind", "key", slow)
    assert (folder / "file").read_text() == "fast"
    assert list((cache / "kind").iterdir()) == [folder]


def test_a_text_is_kept_and_replaced(cache: Path) -> None:
    assert read_cached("kind", "key") is None
    write_cached("kind", "key", "één")
    write_cached("kind", "key", "twee")
    assert read_cached("kind", "key") == "twee"
    assert list((cache / "kind").iterdir()) == [cache / "kind" / "key"]


def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    cache.parent.mkdir(exist_ok=True)
    cache.write_text("a file stands where the folder should")
    with pytest.raises(DiskError, match="XDG_CACHE_HOME"):
        write_cached("kind", "key", "text")
    with pytest.raises(DiskError, match="XDG_CACHE_HOME"):
        cached_folder("kind", "key", lambda folder: write("text", folder))
    assert read_cached("kind", "key") is None


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOENT, "(x.h vanished or is missing): run portkit again"),
        (errno.ENOSPC, "(No space left on device): make room"),
        (errno.EACCES, "(Permission denied): set XDG_CACHE_HOME"),
    ],
)
def test_an_entry_that_cannot_be_made_says_why(cache: Path, number: int, said: str) -> None:
    """To make room helps where a disk is full, and nowhere else."""

    def fill(folder: Path) -> None:
        raise OSError(number, os.strerror(number), "x.h")

    with pytest.raises(DiskError, match=re.escape(said)):
        cached_folder("kind", "key", fill)
    assert not list((cache / "kind").iterdir())
