"""The constructs of ``tests/fixtures/constructs``: ported, each is said or gives CUDA's value."""

from __future__ import annotations

import pytest
from device_support import toolkit

from tools.constructs import load_rows, port_row, run_on_cpu_device

ROWS = load_rows()


def test_there_are_enough_constructs_and_reports() -> None:
    assert len(ROWS) >= 120
    assert len({row.report for row in ROWS}) >= 60
    for row in ROWS:
        assert row.construct, row.name
        assert row.report.startswith("https://github.com/"), row.name
        assert row.source, row.name
        assert row.expected or row.finding, row.name


def test_each_port_is_said_to_need_a_person_or_says_nothing() -> None:
    for row in ROWS:
        port = port_row(row)
        found = {*port.manual, *port.review}
        assert set(row.finding.split()) <= found, row.name
        assert row.finding or not port.manual, row.name


@pytest.mark.real
def test_each_program_gives_what_cuda_gives() -> None:
    toolkit()
    done = run_on_cpu_device({row.name: port_row(row).text for row in ROWS if row.is_program})
    assert done.errors == {}
    for row in (each for each in ROWS if each.is_program):
        for lanes in (32, 64):
            assert done.describe(row, lanes) == "right", (row.name, lanes)
