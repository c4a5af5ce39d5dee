"""The tables of a run on an NVIDIA GPU, from numbers that are small enough to follow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent

RESULTS = {
    "tests": {
        "candle-core/sort_tests": {"tests": {"sort_cpu": "ok", "sort_rocm": "FAILED"}},
        "candle-nn/loss": {"tests": {"loss": "ok"}},
    },
    "bench": {
        "add": {"rocm": [10.0, 20.0, 12.0], "cuda": [12.0, 12.0, 12.0]},
        "matmul": {"rocm": [20.0], "cuda": [10.0]},
        "cast": {"rocm": [1.0]},
    },
}


def difference(operation: str, kind: str) -> dict[str, Any]:
    part = {"kind": kind, "message": "", "ulps": 0.0}
    return {
        "operation": operation,
        "elements": "f32",
        "differs": {"device": part, "cpu": None},
        "times": 1,
        "case": "",
        "empty": False,
        "edges": False,
        "inputs": [],
        "arguments": "",
    }


def lines(place: Path, *differences: dict[str, Any]) -> None:
    """Write what the cross-check of two operations says."""
    said = [{"candle": "0.11.1", "device": "rocm", "seed": 1, "cases": 2}, *differences]
    counts = {"cases": 2, "agreed": 1, "refused": 0, "differed": 1}
    said += [{"operation": name, "elements": "f32", "counts": counts} for name in ("add", "sort")]
    place.write_text("".join(json.dumps(each) + "\n" for each in said))


def test_tables(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps(RESULTS))
    lines(tmp_path / "crosscheck-rocm.jsonl", difference("add", "nan"), difference("sort", "nan"))
    lines(tmp_path / "cpu.jsonl", difference("add", "nan"), difference("add", "finite"))
    command = (sys.executable, str(ROOT / "ci/nvidia/report.py"), tmp_path, tmp_path / "cpu.jsonl")
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in (
        "| `candle-core/sort_tests` | 2 | 1 | 0 | 1 | 1 | 0 |",
        "| all, with those that have no test on the device | 3 | 2 | 0 | 1 | 1 | 0 |",
        "| add | 12.00 | 12.00 | 1.000 | 0.60 to 1.20 |",
        "| matmul | 20.00 | 10.00 | **0.500** | 0.50 to 0.50 |",
        "1 of 2 reach 0.97; the median ratio is 0.750.",
        "2 of them are not explained.",
        "| both | 1 |",
        "| the port alone: sort: nan (1) | 1 |",
        "| the CPU device alone: add: finite (1) | 1 |",
    ):
        assert line in shown.splitlines(), f"{line}\n\n{shown}"
    assert "| cast |" not in shown
