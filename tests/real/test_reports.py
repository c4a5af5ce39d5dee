"""The reports in ``reports/`` are those of the real candle, and hold nothing of its text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_support import invoke
from port_of_candle import VERSIONS

from portkit.scan.codes import every_page

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.real

REPORTS = Path(__file__).parents[2] / "reports"
FORMS = {"json": "json", "markdown": "md", "plan": "plan.md", "html": "html"}
"""The forms that `make reports` writes, and how their files end."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("form", FORMS)
def test_reports_are_fresh_and_the_same_each_time(
    pristine: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    form: str,
) -> None:
    monkeypatch.chdir(pristine(version))
    made = []
    for number in range(2):
        place = tmp_path / str(number)
        assert invoke("scan", "--no-source", "--format", form, "--output", place).code == 0
        made.append(place.read_bytes())
    assert made[0] == made[1]
    kept = REPORTS / f"candle-{version}.{FORMS[form]}"
    assert kept.read_bytes() == made[0], f"{kept.name} is stale: run `make reports`"


@pytest.mark.parametrize("version", VERSIONS)
def test_no_line_of_upstream_is_in_a_report(pristine: Callable[[str], Path], version: str) -> None:
    """Each longer line of the places' own text is looked for in what is committed."""
    tree = pristine(version)
    sites = json.loads((REPORTS / f"candle-{version}.json").read_text())["sites"]
    lines = set()
    for site in sites:
        place = tree / site["path"]
        if place.suffix == ".rs" and place.is_file() and site["code"] != "PK102":
            text = place.read_text().split("\n")[site["line"] - 1 : site["end_line"]]
            lines |= {line.strip() for line in text if len(line.strip()) > 45}
    # What a rule's own page shows as an example is ours, even where candle writes the same call.
    examples = "\n".join(page.text for page in every_page())
    lines = {line for line in lines if line not in examples}
    assert len(lines) > 300
    for form in FORMS.values():
        report = (REPORTS / f"candle-{version}.{form}").read_text()
        plain = re.sub(r"\\u00(..)", lambda m: chr(int(m.group(1), 16)), report)
        assert [line for line in lines if line in plain] == [], form


@pytest.mark.parametrize("version", VERSIONS)
def test_the_figures_of_every_form_are_the_document_s(version: str) -> None:
    document = json.loads((REPORTS / f"candle-{version}.json").read_text())
    summary = document["summary"]
    assert summary["sites"] == len(document["sites"])
    markdown = (REPORTS / f"candle-{version}.md").read_text()
    assert f"{summary['files']} files looked at, {summary['sites']} places" in markdown
    page = (REPORTS / f"candle-{version}.html").read_text()
    assert f'"summary":{json.dumps(summary, separators=(",", ":"))}' in page
    plan = (REPORTS / f"candle-{version}.plan.md").read_text()
    written = sum(map(int, re.findall(r"^- \[ \] write (\d+) places? ", plan, re.MULTILINE)))
    mechanical = [
        s for s in document["sites"] if (s["applicability"], s["status"]) == ("safe", "todo")
    ]
    assert written == len(mechanical)
