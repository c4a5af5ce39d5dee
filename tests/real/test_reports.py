"""Reports on the real candle: the pages in ``reports/`` are theirs, and none has its text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_support import invoke
from codebase_support import CANDLE
from port_of_candle import VERSIONS
from report_support import TITLES

from portkit.engine.rule_pages import list_all_pages
from portkit.report.model import ReportedSite
from portkit.report.phases import find_phase, load_phases
from portkit.workspace.finding import Applicability, Status

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.real

REPORTS = Path(__file__).parents[2] / "reports"
FORMS = ("json", "markdown", "plan", "html")
"""The forms that `make reports` writes."""
COUNTS = {
    "0.9.2": {"manual": 0, "review": 34, "mechanical": 352, "ported": 0, "kept": 627},
    "0.10.2": {"manual": 0, "review": 33, "mechanical": 352, "ported": 0, "kept": 645},
    "0.11.1": {"manual": 0, "review": 40, "mechanical": 370, "ported": 0, "kept": 720},
}
"""Places of each state. Another number means that the port has changed: say why where it does."""

Made = dict[str, str]


@pytest.fixture(scope="session")
def made(
    pristine: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Made]:
    """Give the text of every form, by version, from inside the tree as ``make reports`` does."""
    folder = tmp_path_factory.mktemp("reports")
    known: dict[str, Made] = {}

    def get(version: str) -> Made:
        if version not in known:
            known[version] = {form: written(form, pristine(version), folder) for form in FORMS}
        return known[version]

    return get


def written(form: str, tree: Path, folder: Path) -> str:
    place = folder / form
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tree)
        assert invoke("scan", "--no-source", "--format", form, "--output", place).code == 0
    return place.read_text()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_page_is_fresh(made: Callable[[str], Made], version: str) -> None:
    page = REPORTS / f"candle-{version}.md"
    assert page.read_text() == made(version)["markdown"], f"{page.name}: run `make reports`"


def test_the_hours_that_a_page_names_are_those_of_the_report(
    made: Callable[[str], Made],
) -> None:
    text = made("0.11.1")["html"]
    left, by_hand = (
        re.search(rf"<dt>{title}</dt><dd>about ([^<]+)</dd>", text)
        for title in ("Left to a person", "Mechanical, if done by hand")
    )
    assert left is not None
    assert by_hand is not None
    page = (REPORTS.parent / "docs/comparison.md").read_text().partition("\n## What it costs\n")[2]
    named = re.findall(r"\d+ h(?: \d+ min)?", " ".join(page.split()))
    assert named == [by_hand[1], left[1]]


def test_the_patch_of_the_kernels_is_as_long_as_pages_say(
    ported: Callable[[str], Path],
) -> None:
    patch = ported("0.11.1") / "candle-rocm-kernels/src/cuda.patch"
    lines = round(len(patch.read_text().splitlines()) / 50) * 50
    root = REPORTS.parent
    assert f"a patch of {lines} lines" in " ".join((root / "README.md").read_text().split())
    page = (root / "docs/decisions.md").read_text()
    assert re.findall(r"`src/cuda\.patch`,?\s+(?:of\s+)?(\d+) lines", page) == [str(lines)]


@pytest.mark.parametrize("version", VERSIONS)
def test_as_many_places_as_are_known(made: Callable[[str], Made], version: str) -> None:
    assert json.loads(made(version)["json"])["summary"]["states"] == COUNTS[version]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("form", FORMS)
def test_a_report_is_the_same_each_time(
    pristine: Callable[[str], Path],
    made: Callable[[str], Made],
    tmp_path: Path,
    version: str,
    form: str,
) -> None:
    assert written(form, pristine(version), tmp_path) == made(version)[form]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_line_of_upstream_is_in_a_report(
    pristine: Callable[[str], Path], made: Callable[[str], Made], version: str
) -> None:
    """Each longer line of the places' own text is looked for."""
    tree = pristine(version)
    sites = json.loads(made(version)["json"])["sites"]
    lines = set()
    for site in sites:
        place = tree / site["path"]
        if place.suffix == ".rs" and place.is_file() and site["code"] != "PK102":
            text = place.read_text().split("\n")[site["line"] - 1 : site["end_line"]]
            lines |= {line.strip() for line in text if len(line.strip()) > 45}
    # What a rule's own page shows as an example is ours, even where candle writes the same call.
    examples = "\n".join(page.text for page in list_all_pages())
    lines = {line for line in lines if line not in examples}
    assert len(lines) > 300
    for form in FORMS:
        plain = re.sub(r"\\u00(..)", lambda m: chr(int(m.group(1), 16)), made(version)[form])
        assert [line for line in lines if line in plain] == [], form


@pytest.mark.parametrize("version", VERSIONS)
def test_the_figures_of_every_form_are_the_document_s(
    made: Callable[[str], Made], version: str
) -> None:
    document = json.loads(made(version)["json"])
    summary = document["summary"]
    assert summary["sites"] == len(document["sites"])
    markdown = made(version)["markdown"]
    assert f"{summary['files']} files looked at, {summary['sites']} places" in markdown
    page = made(version)["html"]
    assert f'"summary":{json.dumps(summary, separators=(",", ":"))}' in page
    plan = made(version)["plan"]
    total = sum(map(int, re.findall(r"^- \[ \] write (\d+) places? ", plan, re.MULTILINE)))
    mechanical = [
        s for s in document["sites"] if (s["applicability"], s["status"]) == ("safe", "todo")
    ]
    assert total == len(mechanical)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_place_has_a_phase_that_suits_its_crate(
    made: Callable[[str], Made], version: str
) -> None:
    order, seen = load_phases(CANDLE), set()
    for found in json.loads(made(version)["json"])["sites"]:
        state = Applicability(found.pop("applicability")), Status(found.pop("status"))
        site = ReportedSite(**found, applicability=state[0], status=state[1])
        phase = find_phase(site, order)
        assert phase is not None
        seen.add(phase.title)
        if site.path.startswith("candle-core/src/"):
            assert phase.title in (*TITLES[3:6], "Quantized", "Examples and tests"), site.path
        if "/tests/" in site.path and "kernels" not in site.path and "flash" not in site.path:
            assert phase.title == "Examples and tests", site.path
    assert seen == set(TITLES)


def test_versions_of_candle_can_be_compared(made: Callable[[str], Made], tmp_path: Path) -> None:
    for version in ("0.10.2", "0.11.1"):
        (tmp_path / f"{version}.json").write_text(made(version)["json"])
    done = invoke("diff", tmp_path / "0.10.2.json", tmp_path / "0.11.1.json")
    assert done.code == 0
    assert "From candle 0.10.2 to candle 0.11.1:" in " ".join(done.out.split())
