"""Properties of whole ports of the real candle."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from conftest import VERSIONS, scan_tree

from portkit import job
from portkit.apply import write
from portkit.finding import Applicability, Status
from portkit.parity import unpaired
from portkit.plan import plan
from portkit.profile import load_codebase, load_vendor
from portkit.rules import Rule, rules
from portkit.scan import scan
from portkit.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from portkit.scan import Scan

pytestmark = pytest.mark.real

BOTH = pytest.mark.parametrize("gating", ["dummy", "cfg"])
EACH = pytest.mark.parametrize("version", VERSIONS)


@EACH
@BOTH
def test_every_mention_is_accounted_for(
    scanned: Callable[[str, str], Scan], version: str, gating: str
) -> None:
    assert scanned(version, gating).unaccounted == ()


@EACH
@BOTH
def test_a_second_apply_writes_nothing(
    ported: Callable[[str, str], Path], version: str, gating: str
) -> None:
    again = scan_tree(ported(version, gating), gating)
    assert plan(again).changes == ()
    assert again.unaccounted == ()
    assert unpaired(again) == ()


@EACH
def test_every_todo_of_the_pristine_tree_is_ported(
    scanned: Callable[[str], Scan], ported: Callable[[str], Path], version: str
) -> None:
    # A condition that was widened is another construct afterwards: the place is compared.
    todo = {
        (f.path, f.symbol)
        for f in scanned(version).findings
        if f.status is Status.TODO and f.code not in ("PK701", "PK702")
    }
    done = {
        (f.path, f.symbol)
        for f in scan_tree(ported(version)).findings
        if f.status is Status.PORTED
    }
    assert todo - done == set()


def test_ten_places_taken_out_by_hand_come_back_and_nothing_else(
    ported: Callable[[str], Path], tmp_path: Path
) -> None:
    place = tmp_path / "candle"
    shutil.copytree(ported("0.11.1"), place)
    before = {p: p.read_bytes() for p in place.rglob("*.rs")}
    taken = [
        ("candle-core/src/device.rs", "    pub fn is_rocm(&self) -> bool {", "    }\n"),
        ("candle-core/src/device.rs", "            Self::Rocm(c) => c.set_seed(seed),", "\n"),
        ("candle-core/src/storage.rs", "            Self::Rocm(storage) => storage.dtype(),", "\n"),
        ("candle-core/src/tensor.rs", "                (Storage::Cpu(storage), Device::Rocm", "}\n"),
        ("candle-core/src/lib.rs", "pub use rocm::{", "\n"),
        ("candle-core/src/error.rs", "    Rocm(Box<dyn", "\n"),
        ("candle-core/src/sort.rs", '    #[cfg(feature = "rocm")]\n    fn rocm_fwd', "\n    }\n"),
        ("candle-core/src/utils.rs", "pub fn rocm_is_available() -> bool {", "}\n"),
        ("candle-nn/src/rotary_emb.rs", '    #[cfg(feature = "rocm")]\n    fn rocm_fwd', "\n    }\n"),
        ("candle-core/src/rocm_backend/error.rs", "impl From<RocmError>", "\n}\n"),
    ]
    removed = 0
    for path, start, end in taken:
        file = place / path
        text = file.read_text(encoding="utf-8")
        at = text.find(start)
        if at < 0:
            continue
        to = text.index(end, at) + len(end)
        file.write_text(text[:at] + text[to:], encoding="utf-8")
        removed += 1
    assert removed == 10
    todo = [f for f in scan_tree(place).findings if f.status is Status.TODO]
    assert len(todo) == 10, [(f.code, f.path, f.symbol) for f in todo]
    write(place, plan(scan_tree(place)).changes)
    for path, data in before.items():
        # The order of neighbours may differ; what stands in the file may not.
        assert _lines(path.read_bytes()) == _lines(data), path


def _lines(data: bytes) -> list[bytes]:
    return sorted(line for line in data.splitlines() if line.strip())


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_leaving_one_rule_out_is_noticed(
    rule: Rule, pristine: Callable[[str], Path], scanned: Callable[[str], Scan]
) -> None:
    complete = scanned("0.11.1")
    found = [f for f in complete.findings if f.code == rule.code]
    if not found:
        # The rule's own fixture shows its loss: tests/rules.
        assert rule.code in ("PK404", "PK506", "PK508")
        return
    codebase = load_codebase("candle")
    without = scan(
        complete.port.workspace,
        load_vendor("rocm", codebase),
        codebase,
        chosen=[r for r in rules() if r is not rule],
    )
    assert without.unaccounted


@EACH
@BOTH
def test_what_is_written_parses(
    ported: Callable[[str, str], Path], version: str, gating: str
) -> None:
    root = ported(version, gating)
    for file in sorted(root.rglob("*.rs")):
        if "rocm" in file.read_text(encoding="utf-8"):
            source = Source(file.name, file.read_bytes())
            assert not source.tree.root_node.has_error, file


@EACH
@BOTH
def test_copies_hold_nothing_of_features_that_are_not_ported(
    ported: Callable[[str, str], Path], version: str, gating: str
) -> None:
    folder = ported(version, gating) / "candle-core" / "src" / "rocm_backend"
    for file in sorted(folder.glob("*.rs")):
        assert 'feature = "cudnn"' not in file.read_text(encoding="utf-8"), file


@EACH
def test_the_tool_leaves_no_trace_of_itself(ported: Callable[[str], Path], version: str) -> None:
    root = ported(version)
    for file in sorted(root.rglob("*")):
        if file.is_file() and ".git" not in file.parts and file.suffix in (".rs", ".toml", ".md"):
            assert "portkit" not in file.read_text(encoding="utf-8"), file


def test_a_change_under_an_override_is_shown(
    pristine: Callable[[str], Path], tmp_path: Path
) -> None:
    place = tmp_path / "candle"
    shutil.copytree(pristine("0.11.1"), place)
    file = place / "candle-core" / "src" / "quantized" / "fast_mmq.rs"
    text = file.read_text(encoding="utf-8")
    assert "minor * 10," in text
    file.write_text(text.replace("minor * 10,", "minor * 10 + 1,"), encoding="utf-8")
    (stale,) = (f for f in job.scan_tree(place, gating="dummy").findings if f.code == "PK104")
    assert stale.applicability is Applicability.REVIEW
    changed = [line for line in stale.detail.splitlines() if line.startswith(("+ ", "- "))]
    assert [line[0] for line in changed] == ["-", "+"]
    assert changed[1].replace("minor * 10 + 1,", "minor * 10,")[1:] == changed[0][1:]
