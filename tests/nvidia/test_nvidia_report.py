"""The page of a run on an NVIDIA GPU, from numbers that are small enough to follow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

RESULTS = {
    "machine": {"gpu": "a GPU", "processors": 4},
    "built": {"portkit": "abc1234", "cuda": "13.0", "capability": "90"},
    "tests": {
        "rocm": {
            "candle-core/sort_tests": {
                "status": 101,
                "tests": {"sort_cpu": "ok", "sort_rocm": "FAILED", "more_rocm": "ok"},
            },
            "candle-nn/loss": {"status": 0, "tests": {"loss": "ok", "mse::rocm": "ok"}},
        },
        "cuda": {"candle-core/sort_tests": {"status": 0, "tests": {"sort_gpu": "ok"}}},
    },
    "bench": {
        "add": {"rocm": [10.0, 20.0, 12.0], "cuda": [12.0, 12.0, 12.0]},
        "quantized q4_0 512x4096x4096": {"rocm": [200.0], "cuda": [100.0]},
        "matmul": {"rocm": [20.0], "cuda": [10.0]},
        "sort": {"rocm": [12.0], "cuda": [10.0]},
        "gelu": {"rocm": [40.0], "cuda": [40.0]},
        "cast": {"rocm": [1.0]},
    },
    "bench again": {
        "matmul": {"rocm": [20.0], "cuda": [10.0]},
        "sort": {"rocm": [10.0], "cuda": [10.0]},
    },
}
BEFORE = {"bench": {"gelu": {"rocm": [80.0], "cuda": [40.0]}}}


def difference(
    operation: str, kind: str, message: str = "", elements: str = "f32"
) -> dict[str, Any]:
    part = {"kind": kind, "message": message, "ulps": 0.0}
    return {
        "operation": operation,
        "elements": elements,
        "differs": {"device": part, "cpu": None},
        "times": 1,
        "case": "",
        "empty": False,
        "edges": False,
        "inputs": [],
        "arguments": "",
    }


def lines(place: Path, device: str, *differences: dict[str, Any], direct: bool = False) -> None:
    """Write what the cross-check says of some operations."""
    said = [{"version": "0.11.1", "device": device, "seed": 1, "cases": 2}, *differences]
    counts = {"cases": 2, "agreed": 1, "refused": 0, "differed": 1}
    names = ["add", "sort", "eq", "gather of a part", *(["kernel fill"] if direct else [])]
    taken = [(name, "f32") for name in names] + [("eq", "i16")]
    said += [{"operation": name, "elements": of, "counts": counts} for name, of in taken]
    place.write_text("".join(json.dumps(each) + "\n" for each in said))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run, which had one before it."""
    place = tmp_path_factory.mktemp("report")
    (place / "results.json").write_text(json.dumps(RESULTS))
    refused = difference("eq", "refused", "dtype mismatch in binary op", "i16")
    unknown = difference("add", "nan"), difference("sort", "nan"), refused
    lines(place / "crosscheck-rocm.jsonl", "rocm", *unknown, direct=True)
    missing = difference("sort", "refused", "named symbol not found")
    theirs = difference("add", "nan"), difference("gather of a part", "finite"), missing
    lines(place / "crosscheck-cuda.jsonl", "cuda", *theirs)
    lines(place / "cpu", "rocm", difference("add", "nan"), difference("add", "finite"), direct=True)
    reports = place / "reports"
    reports.mkdir()
    (reports / "2026-01-01.json").write_text(json.dumps(BEFORE))
    (reports / "2026-03-01.json").write_text("{}")
    # A page of one subject is none of those.
    (reports / "2026-01-15-both.json").write_text("{}")
    (place / "notes").write_text("## Notes\n\nIt rained.\n")
    options = ("--date", "2026-02-01", "--cpu", place / "cpu", "--notes", place / "notes")
    program = ROOT / "ci" / "nvidia" / "report.py"
    subprocess.run((sys.executable, program, place, *options, "--output", reports), check=True)
    assert json.loads((reports / "2026-02-01.json").read_text()) == RESULTS
    return (reports / "2026-02-01.md").read_text()


@pytest.mark.parametrize(
    "line",
    [
        "# candle 0.11.1 on an NVIDIA GPU",
        "| tests on the device | 2 of 3 pass |",
        "| `candle-core/sort_tests` | 3 | 2 | 0 | 1 | 2 | 1 |",
        "| all, with those that have no test on the device | 5 | 4 | 0 | 1 | 3 | 2 |",
        "Binaries that failed: candle-core/sort_tests.",
        "- `candle-core/sort_tests: more_rocm`",
        "| cross-check | 6 operations and types |",
        "- device: add of f32: the device nan () []",
        "| upstream | 1 |",
        "| the port alone: eq: refused (1), sort: nan (1) | 2 |",
        "| the CPU device alone: add: finite (1) | 1 |",
        "| CUDA's backend alone: gather of a part: finite (1), sort: refused (1) | 2 |",
        "| [gather-part](../../docs/upstream/gather-part.md) | 1 |",
        "| [missing-dtypes](../../docs/upstream/missing-dtypes.md) | 1 |",
        "Of the 2, 0 are something else.",
        "| add | 12.00 | 12.00 | 1.000 | 0.60 to 1.20 |",
        "| matmul | 20.00 | 10.00 | **0.500** | 0.50 to 0.50 |",
        "2 of 5 reach 0.97; the median ratio is 0.833.",
        "One of the two backends cannot do: cast.",
        "| matmul | 0.500 | 0.500 |  | ? |",
        "| sort | 0.833 | 1.000 |  | scatter: more rounds reach it |",
        "| gelu | 1.000 |  | 0.500 | no longer below |",
        "| sort | 0.833 | 1.000 | 1.00 to 1.00 | 1.000 |",
        "Of these, 1 of 2 reach 0.97.",
        "It rained.",
    ],
)
def test_lines(page: str, line: str) -> None:
    assert line in page.splitlines(), page


@pytest.mark.parametrize(
    "words",
    [
        "The port as portkit abc1234 makes it",
        "1 launch a kernel by its name that no operation launches: 1 agree with the reference",
        "Of the 1 ways that the table of known differences calls upstream's, 0 are",
        "as well; not: eq: refused (1)",
        "by dot products of four bytes",
        "in the run before (2026-01-01)",
    ],
)
def test_words(page: str, words: str) -> None:
    assert words in " ".join(page.split()), page


def test_kernels_launched_by_name_are_not_held_against_cuda(page: str) -> None:
    assert "kernel fill" not in page


def test_every_repaired_page_is_there() -> None:
    import tomllib

    table = tomllib.loads((ROOT / "ci" / "nvidia" / "repaired.toml").read_text())
    for entry in table["difference"]:
        assert (ROOT / "docs" / "upstream" / f"{entry['reason']}.md").is_file()
