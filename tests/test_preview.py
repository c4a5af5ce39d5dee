"""``portkit apply --diff --stat``, numbers that agree, and refusals before long work."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

from cli_support import commit, invoke, make_candle

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def count_lines(root: Path) -> dict[str, tuple[int, int]]:
    """Return what git counts in the index, by the first folder."""
    counted: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    done = ["git", "-C", str(root), "diff", "--cached", "--numstat"]
    for line in subprocess.run(done, capture_output=True, text=True, check=True).stdout.split("\n"):
        if line:
            plus, minus, path = line.split("\t")
            folder = path.partition("/")[0] if "/" in path else "root"
            counted[folder] += int(plus)
            removed[folder] += int(minus)
    return {folder: (number, removed[folder]) for folder, number in counted.items()}


def test_the_preview_counts_what_apply_writes(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    shown = invoke("apply", candle, "--diff", "--stat")
    assert shown.code == 0
    assert invoke("apply", candle, "--check").code == 1  # nothing was written
    assert invoke("apply", candle, "--no-verify").code == 0
    subprocess.run(["git", "-C", str(candle), "add", "--all"], check=True)
    crates, rules, total = shown.out.strip().split("\n\n")
    row = re.compile(r"^(\S+).*? \+([\d,]+) -([\d,]+)$", re.MULTILINE)
    read = {
        name: (int(plus.replace(",", "")), int(minus.replace(",", "")))
        for name, plus, minus in row.findall(crates)
    }
    written = count_lines(candle)
    assert read == written
    by_rule = [(int(p.replace(",", "")), int(m.replace(",", ""))) for _, p, m in row.findall(rules)]
    sums = tuple(map(sum, zip(*written.values(), strict=True)))
    assert tuple(map(sum, zip(*by_rule, strict=True))) == sums
    assert total.endswith(f"files, +{sums[0]:,} -{sums[1]:,} lines")
    assert invoke("apply", candle, "--stat").code == 2


def test_an_uncommitted_tree_is_refused_before_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    candle = make_candle(tmp_path / "candle")
    manifest = candle / "Cargo.toml"
    manifest.write_text(f"{manifest.read_text()}# mine\n")

    def plan(*_: object, **__: object) -> None:
        raise AssertionError("the plan takes longer than the refusal")

    monkeypatch.setattr("portkit.engine.plan.build_plan", plan)
    done = invoke("apply", candle)
    assert (done.code, "has uncommitted changes (Cargo.toml)" in done.err) == (13, True)


def test_the_next_scan_has_the_numbers_of_apply(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    before = invoke("scan", candle).out
    (needs,) = re.findall(r"(\d+) findings need ROCm", before)
    (asked,) = re.findall(r"For you: (\d+) to decide", before)
    written = invoke("apply", candle, "--no-verify").out
    assert f": {needs} places;" in written and f"For you: {asked} to decide" in written
    commit(candle)
    after = invoke("scan", candle).out
    assert f"0 findings need ROCm, {needs} have it" in after
    assert f"For you: {asked} to decide" in after
