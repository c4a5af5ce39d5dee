"""Every operation of the cross-check, captured and launched as a graph, on the CPU device."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from port_of_candle import PRODUCTS
from turns import by_turn
from verify_support import make_tree

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.verify.crosscheck import build_program
from portkit.verify.device_choice import ChosenDevice, choose_device

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(PRODUCTS)]

READING = frozenset(
    {
        *("argmax", "argmin", "sort", "rand", "randn"),
        *("dequantize", "dequantize_f16", "qembedding", "qmatmul", "quantized"),
        *("indexed_moe", "moe_gguf", "kernel"),
    }
)
"""Operations, by their first word, of which the cross-check itself reads what they give, or has the
host quantize weights. A capture refuses that, so that they are no graphs here."""
OPERATIONS = 900
"""How many operations and types are graphs, at least: those of candle 0.11.1 were 902."""

Said = dict[tuple[str, str], set[str]]


@by_turn("graphs")
def test_what_a_graph_gives_is_what_the_operation_gives_at_once(
    ported: Callable[[str], Path],
) -> None:
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    tree = make_tree(ported("0.11.1"), print, device="cpu", waves=(32, 64))
    device = choose_device(tree)
    assert isinstance(device, ChosenDevice)
    program = build_program(tree, device)
    for run in device.runs:
        at_once, captured = (_said(program, on, run.environment) for on in ("rocm", "graph"))
        assert at_once.keys() == captured.keys()
        others = {of for of, said in at_once.items() if captured[of] != said}
        assert {operation.split(" ")[0] for operation, _ in others} == READING
        assert len(at_once) - len(others) > OPERATIONS


def _said(program: Path, on: str, environment: Mapping[str, str]) -> Said:
    """Return how the device's results differ from what is expected, by operation and type.

    Numbers are left out: the case that is told depends on what the CPU backend does, too, and that
    reads memory that it has not written.
    """
    done = subprocess.run(
        [program, "--device", on, "--cases", "3"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said: Said = {}
    for line in map(json.loads, done.stdout.splitlines()):
        if "operation" not in line:
            continue
        of = said.setdefault((line["operation"], line["elements"]), set())
        if found := line.get("differs", {}).get("device"):
            of.add(found["message"] if found["kind"] == "refused" else found["kind"])
        elif "counts" in line:
            # Where both backends refuse, no difference is told.
            of.add(f"both refuse {line['counts']['refused']}")
    return said
