"""Large trees: time grows as they do, and memory stays below a bound.

The bound is 250 MB for both processes of a scan together; a page that both have counts once (Pss in
proc_pid_smaps(5)).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from linear import COPIES, copied, scanned

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTES = 250
MANIFEST = "[package]\nname = 'a'\nversion = '0.1.0'\n[features]\ncuda = []\n"
ASKING = """\
pub fn f{n}(d: &Device) -> bool {{
    if d.is_cuda() {{
        return true;
    }}
    false
}}
"""
OTHER = "pub fn g{n}() -> usize {{\n    {n}\n}}\n"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="no Pss"),
]


def make_many(root: Path, files: int) -> Path:
    """Make a crate with files of which every tenth asks for a device."""
    root.mkdir()
    (root / "Cargo.toml").write_text(MANIFEST)
    for n in range(files):
        folder = root / "src" / f"m{n // 200}"
        folder.mkdir(parents=True, exist_ok=True)
        text = ASKING.format(n=n) if n % 10 == 0 else OTHER.format(n=n) * 20
        (folder / f"f{n}.rs").write_text(text)
    return root


def test_twenty_thousand_files(tmp_path: Path) -> None:
    few = scanned(make_many(tmp_path / "few", 5_000))
    many = scanned(make_many(tmp_path / "many", 20_000), tmp_path / "b")
    said = (tmp_path / "b").read_text()
    assert "20001 files looked at" in " ".join(said.split())
    assert "2000" in said
    assert many.seconds < 4 * 1.5 * few.seconds
    assert many.memory < MEGABYTES


def test_twenty_copies_of_candle(pristine: Callable[[str], Path], tmp_path: Path) -> None:
    candle = pristine("0.11.1")
    few, many = (scanned(copied(candle, n, tmp_path / str(n)), tmp_path / "a") for n in COPIES[1:])
    assert " places" in (tmp_path / "a").read_text()
    assert (few.code, many.code) == (0, 0)
    assert many.seconds < COPIES[2] / COPIES[1] * 1.5 * few.seconds
    assert many.memory < MEGABYTES


def test_one_file_of_two_hundred_megabytes(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text(MANIFEST)
    with (tmp_path / "src" / "lib.rs").open("w") as file:
        for _ in range(2_000):
            file.write("pub fn f() -> bool { cuda() }\n" * 3_400)
    assert (tmp_path / "src" / "lib.rs").stat().st_size > 200_000_000
    found = scanned(tmp_path, tmp_path / "report")
    assert "larger than 16 MiB" in (tmp_path / "report").read_text()
    assert found.memory < MEGABYTES
