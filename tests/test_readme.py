"""What the README and the pages beside it say is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_support import invoke

from portkit.codebases.registry import list_codebases
from portkit.engine.rule_pages import list_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/exit-codes.md")


def commands() -> Iterator[tuple[str, str]]:
    """Yield each command that the README names, with the options beside it."""
    for line in README.splitlines():
        for command in re.findall(r"(?:`|\$ |/)portkit (\w+)", line):
            yield command, line


def test_the_readme_s_commands_and_options_exist() -> None:
    found = dict.fromkeys(command for command, _ in commands())
    assert set(found) >= {"fetch", "scan", "apply", "verify", "explain", "rules"}
    for command, line in commands():
        said = invoke(command, "--help")
        assert said.code == 0, command
        for option in re.findall(r"--[a-z-]+", line):
            assert option in said.out, f"portkit {command} {option}"


def test_the_way_to_a_report_is_read_in_a_minute() -> None:
    """People read 238 words a minute (Brysbaert 2019); commands and names take longer."""
    before, _, rest = README.partition("$ make demo")
    told = rest.partition("On a tree of your own")[0]
    assert len(before.split()) < 140
    assert len((before + told).split()) < 200


def test_what_a_reader_must_know_first_stands_first() -> None:
    beginning = README.partition("## Try it")[0]
    _, what, tried, *_ = beginning.split("\n\n")
    assert "\n" not in what
    assert tried.startswith("No part of a port has run on a physical AMD GPU;")
    ready = re.findall(r"`([^`]+)`", beginning.partition("[Ready ones]")[2].partition(" For ")[0])
    assert tuple(ready) == list_codebases()
    assert "`portkit init` first" in beginning


def test_the_time_of_the_demo_is_what_make_says() -> None:
    (said,) = re.findall(r"takes about (a quarter of an hour) on two cores", MAKEFILE)
    told = README.partition("$ make demo")[2].partition("On a tree")[0]
    assert f"that takes about {said}" in told
    assert f"takes {said} on two cores" in MAKEFILE.partition("\ndemo:")[2]


def rounded(number: int) -> str:
    """Return a number of lines as pages have it, to the hundred."""
    return f"{round(number, -2):,}"


def test_lines_of_a_port_are_those_that_were_counted() -> None:
    counted = (ROOT / "reports/proof/lines.md").read_text().partition("\n## 0.11.1\n")[2]
    rows = dict(
        re.findall(r"^\| ([\w -]+?) \|(.*)\|$", counted.partition("\n## ")[0], re.MULTILINE)
    )
    whole, kernels, bindings = (
        [int(n.replace(",", "")) for n in re.findall(r"\+([\d,]+) ", rows[name])]
        for name in ("in all", "candle-rocm-kernels", "candle-hip")
    )
    assert f"for candle 0.11.1 {rounded(whole[1])} lines, half\nof them bindings" in README
    assert 0.45 < bindings[1] / whole[1] < 0.55
    assert f"reduce that to {rounded(whole[3])} lines" in README
    page = (ROOT / "docs/decisions.md").read_text().partition("\n## The kernels\n")[2]
    shared, _, translated = page.partition("\n## ")[0].partition('kernels = "translated"')
    named = [set(re.findall(r"\d+,\d{3}", part)) for part in (shared, translated)]
    assert named == [
        {rounded(kernels[1])},
        {rounded(n) for n in (kernels[0], kernels[1], kernels[1] - kernels[3])},
    ]


def test_the_codes_of_the_readme_exist() -> None:
    known = {page.code for page in list_pages()}
    assert set(re.findall(r"PK\d{3}", README)) <= known


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    place = ROOT / page
    for link in re.findall(r"\]\(([^)#\s]+)", place.read_text()):
        assert link.startswith("https://") or (place.parent / link).exists(), link


def test_the_targets_of_make_that_are_named_exist() -> None:
    named = set(
        re.findall(r"`?make ([a-z.][\w./-]*)", README + (ROOT / "CONTRIBUTING.md").read_text())
    )
    assert {"demo", "test", "test-fast"} <= named
    makefile = (ROOT / "Makefile").read_text().replace("$(INSTALLED):", ".venv/installed:")
    for target in named:
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target


@pytest.mark.real
def test_the_readme_shows_what_scan_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke("fetch", "candle@0.11.1", "build/candle-0.11.1").code == 0
    printed = invoke("scan", "build/candle-0.11.1").out.splitlines()
    example = README.split("$ portkit scan build/candle-0.11.1\n")[1].split("```")[0]
    shown = [line for line in example.splitlines() if line not in ("", "...")]
    assert len(shown) > 10
    assert [line for line in shown if line not in printed] == []
