"""The places that a port of candle 0.9.2-alpha.1 must handle or must leave alone.

The list was made by hand from the upstream tree. Its lines are those of one commit; here a place is
found by its path, its construct, its symbol and its ordinal.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from portkit.workspace.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.engine.scan import Scan

pytestmark = pytest.mark.real

VERSION = "0.9.2-alpha.1"
SITES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "candle_sites.json").read_text(encoding="utf-8")
)["sites"]

# The list names the file of a storage that stands in mod.rs on the CUDA side, and so on ROCm's.
RENAMED_FILES = {
    "candle-core/src/rocm_backend/storage.rs": "candle-core/src/rocm_backend/mod.rs",
}
# What the list calls a place: the symbol that the scan gives the CUDA side of it.
SYMBOLS = {
    "CustomOp1 for QTensor::metal_fwd": "CustomOp1 for QTensor::cuda_fwd",
    "ArgSort::metal_fwd": "CustomOp1 for ArgSort::cuda_fwd",
    "ArgSort::cuda_fwd": "CustomOp1 for ArgSort::cuda_fwd",
    "Display for Tensor::fmt": "Display for Tensor::fmt",
    "CustomOp3 for Sdpa": "sdpa",
    "HIP bindings": "cudarc",
    "rocm": "rocm",
    "mod rocm_backend": "cuda_backend",
    "mod dummy_rocm": "dummy_cuda",
    "mod rocm": "cuda",
    "RocmDevice, RocmStorage": "cuda",
    "pub use cuda_backend/metal_backend": "cuda_backend",
    "Device::new_rocm": "Device::new_cuda",
    "Device::as_rocm_device": "Device::as_cuda_device",
    "Device::is_rocm": "Device::is_cuda",
    "Device::rocm_if_available": "Device::cuda_if_available",
    "Tensor::to_device Cpu->Rocm": "Tensor::to_device",
}
CONSTRUCTS = {
    "cfg block": {"cfg block", "cfg statement"},
    "cfg item: mod": {"cfg item: mod", "mod"},
    "trait method impl": {"trait method impl", "cfg block"},
    "pyo3 string": {"match arm: string", "match arm: PyDevice"},
    "is_cuda check": {"is_cuda check", "is_cuda/is_metal check"},
    "is_cuda/is_metal check": {"is_cuda/is_metal check", "is_cuda check"},
}


def name(site: dict[str, Any]) -> str:
    where = site["line"] or "new"
    return f"{site['path']}:{where} {site['symbol']} {site['construct']} {site['decision']}"


def matching(scan: Scan, site: dict[str, Any]) -> list[Finding]:
    """Return the findings of the path that have the construct and the symbol of a site."""
    symbol = re.sub(r" \((?:twin|also).*\)$", "", site["symbol"])
    symbol = SYMBOLS.get(symbol, symbol)
    constructs = CONSTRUCTS.get(site["construct"], {site["construct"]})
    if site["construct"].startswith("match arm: "):
        enum = re.escape(site["construct"].removeprefix("match arm: "))
        fits = re.compile(rf"match arm: (?:{enum}|\({enum}, \w+\))")
    else:
        fits = re.compile("|".join(map(re.escape, sorted(constructs))))
    found = [f for f in scan.findings if f.path == site["path"] and fits.fullmatch(f.construct)]
    by_symbol = [f for f in found if f.symbol == symbol or f.symbol.startswith(f"{symbol}::")]
    # "dtype selection" and "test guard" are descriptions, not symbols.
    return by_symbol if (symbol[0].isupper() and "::" in symbol) or by_symbol else found


def ordinal(site: dict[str, Any]) -> int:
    """Return the ordinal of a site; a function and the one match in it are one place."""
    around = (
        other
        for other in SITES
        if all(other[key] == site[key] for key in ("path", "construct", "symbol"))
        and other["line"] < site["line"] <= site["end_line"] <= other["end_line"]
    )
    return int(site["ordinal"]) - len(list(around))


@pytest.fixture(scope="module")
def scan(scanned: Callable[[str], Scan]) -> Scan:
    return scanned(VERSION)


@pytest.mark.parametrize("site", [s for s in SITES if s["decision"] == "change"], ids=name)
def test_a_place_to_change_is_changed(scan: Scan, site: dict[str, Any]) -> None:
    found = [f for f in matching(scan, site) if f.status is Status.TODO]
    assert len(found) >= ordinal(site), [
        (f.construct, f.symbol) for f in scan.findings if f.path == site["path"]
    ]


@pytest.mark.parametrize("site", [s for s in SITES if s["decision"] == "review"], ids=name)
def test_a_place_to_review_is_reported(scan: Scan, site: dict[str, Any]) -> None:
    found = [
        f
        for f in scan.findings
        if f.path == site["path"]
        # What the profile has decided was looked at.
        and (f.applicability is Applicability.REVIEW or f.entry.startswith("condition"))
        and f.construct in CONSTRUCTS.get(site["construct"], {site["construct"]})
    ]
    assert len(found) >= site["ordinal"]


@pytest.mark.parametrize("path", sorted({s["path"] for s in SITES if s["decision"] == "no-change"}))
def test_places_to_leave_alone_are_untouched(
    scan: Scan, ported: Callable[[str], Path], path: str
) -> None:
    sites = [s for s in SITES if s["path"] == path and s["decision"] == "no-change"]
    source = scan.job.workspace.sources.get(path)
    if source is None:
        # tensor-tools is not published; tests/fixtures/rules/no_change holds its construct.
        assert path.startswith("tensor-tools/")
        return
    before = source.data.decode().splitlines()
    after = (ported(VERSION) / path).read_text(encoding="utf-8").splitlines()
    words = {"hard-coded CPU device": "Device::Cpu", "is_cpu check": "is_cpu()"}
    for construct in {s["construct"] for s in sites}:
        word = words.get(construct, "&device")
        untouched = [line for line in before if word in line]
        assert len(untouched) >= len([s for s in sites if s["construct"] == construct])
        assert [line for line in after if word in line and line in before] == untouched


@pytest.mark.parametrize("site", [s for s in SITES if s["decision"] == "new-file"], ids=name)
def test_a_new_file_is_written(ported: Callable[[str], Path], site: dict[str, Any]) -> None:
    assert (ported(VERSION) / RENAMED_FILES.get(site["path"], site["path"])).is_file()
