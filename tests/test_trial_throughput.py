"""What a trial takes beside the ladder: the build, and the table of what operations take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from verify_support import install_cargo, make_ported, make_tree, script, stand_in

from portkit.selftest import throughput
from portkit.verify.device_choice import ChosenDevice, DeviceRun
from portkit.verify.step_runner import Outcome, Verdict

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = {
    "add f32": 'echo \'{"item": "add f32", "us": 12.5, "work": 500000, "unit": "B"}\'',
    "hangs": "while :; do echo on; sleep 0.1; done",
    "crashes": "echo why >&2; kill -SEGV $$",
    "says nothing": "exit 0",
    "says nonsense": "echo '[1]'",
    "divides": 'echo \'{"us": 0, "work": 1, "unit": "B"}\'',
}


@pytest.fixture
def taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Outcome, str]:
    """Give what the step finds on a GPU, where the program is a stand-in, and cargo's arguments."""
    cargo = install_cargo(tmp_path, monkeypatch)
    stand_in(cargo, f'echo "$@" >>{tmp_path}/arguments')
    tree = make_tree(make_ported(tmp_path), device="gpu")
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    folder = tmp_path / "target" / "release"
    folder.mkdir(parents=True)
    cases = "\n".join(f'"{item}") {body};;' for item, body in ITEMS.items())
    listed = "".join(f"{item}\\n" for item in ITEMS)
    body = f'case "$1" in\n--list) printf "{listed}";;\n{cases}\nesac'
    script(folder / "throughput", body)
    device = ChosenDevice("the AMD GPU", False, {}, (DeviceRun("gfx1100"),))
    monkeypatch.setattr(throughput, "choose_device", lambda tree: device)
    monkeypatch.setattr(throughput, "ITEM_SECONDS", 1.0)
    found = throughput.measure_throughput(tree)
    return found, (tmp_path / "arguments").read_text()


def test_an_item_that_goes_wrong_is_one_row(taken: tuple[Outcome, str]) -> None:
    found, arguments = taken
    assert found.verdict is Verdict.FAILED
    assert found.evidence[0] == (
        "1 of 6 operations measured on the AMD GPU (gfx1100), matrices of 4096x4096"
    )
    assert found.evidence[1] == "add f32: 12.5 us, 40 GB/s"
    assert found.evidence[2] == "hangs: timed out after 1 s"
    assert found.evidence[3].startswith("crashes: ended with status -11")
    assert found.evidence[4] == "says nothing: ended with status 0 (it said nothing)"
    assert found.evidence[5] == "says nonsense: ended with status 0 ([1])"
    assert found.evidence[6].startswith("divides: ended with status 0")
    assert found.figures == {"measured": 1, "not measured": 5}
    assert "build --release" in arguments


def test_another_codebase_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "find_operations_directory", lambda tree: None)
    tree = make_tree(make_ported(tmp_path))
    assert throughput.measure_throughput(tree).verdict is Verdict.SKIPPED


def test_the_items_of_the_program_are_told_apart() -> None:
    """Each name stands in the program once in the list and once where it is measured."""
    from pathlib import Path

    source = Path(__file__).parents[1] / "crates/crosscheck/src/bin/throughput.rs"
    text = source.read_text()
    listed = text[text.index("const ITEMS") : text.index("];")]
    names = [line.strip().strip('",') for line in listed.splitlines() if line.startswith("    ")]
    assert len(names) == 15
    for name in names:
        assert text.count(f'"{name}"') == 2, name
