"""Large trees: time grows as they do, and memory stays below a bound.

The bound is 250 MB for both processes of a scan together; a page that both have counts once (Pss in
proc_pid_smaps(5)).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

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


def scanned(tree: Path, report: Path) -> tuple[float, float, str]:
    """Scan a tree, and return the processor time, the most memory in MB, and what is said."""
    with report.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "portkit", "scan", str(tree)], stdout=output
        )
    most = 0
    while True:
        number, status, used = os.wait4(process.pid, os.WNOHANG)
        if number:
            break
        most = max(most, sum(map(_pss, _family(process.pid))))
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime, most / 1024, report.read_text()


def _family(process: int) -> list[int]:
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(each for child in children for each in _family(int(child)))]


def _pss(process: int) -> int:
    """Return the memory of a process in KiB."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


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
    few, _, _ = scanned(make_many(tmp_path / "few", 5_000), tmp_path / "a")
    many, megabytes, said = scanned(make_many(tmp_path / "many", 20_000), tmp_path / "b")
    assert "20001 files looked at" in said
    assert "2000" in said
    assert many < 4 * 1.5 * few
    assert megabytes < MEGABYTES


def test_one_file_of_two_hundred_megabytes(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text(MANIFEST)
    with (tmp_path / "src" / "lib.rs").open("w") as file:
        for _ in range(2_000):
            file.write("pub fn f() -> bool { cuda() }\n" * 3_400)
    assert (tmp_path / "src" / "lib.rs").stat().st_size > 200_000_000
    _, megabytes, said = scanned(tmp_path, tmp_path / "report")
    assert "larger than 16 MiB" in said
    assert megabytes < MEGABYTES
