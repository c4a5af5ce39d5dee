"""The HTML report as text: its figures, what it leaves out, what it may not do."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from cli_support import invoke, make_candle
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from report_support import EVERY_KIND, SECRET, VERIFIED, made

from portkit.errors import ConfigError
from portkit.profiles.settings import NAME, parse_settings
from portkit.report.html import render_page
from portkit.report.html.map import HEIGHT, WIDTH, draw_workspace
from portkit.report.markdown import render_markdown
from portkit.report.model import State
from portkit.report.snippets import Hunk
from portkit.report.taken_branch import TakenBranch
from portkit.report.treemap import Box, squarify
from portkit.syntax.source_file import SourceFile
from portkit.workspace.finding import Applicability, Status

HUNKS = {EVERY_KIND[0].id: (Hunk("a/x.rs", "a/x.rs", 1, (f"-{SECRET}", "+let rocm = 1;")),)}
REPORTS = Path(__file__).parents[1] / "portkit" / "report"
# HTML 5.2, section 8.1.2: elements that have no end tag.
VOID = {"meta", "input", "link", "br", "img", "hr"}


class Tags(HTMLParser):
    """Checks that each element is closed in its place, and keeps what it needs to be asked."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("src", "href", "srcset", "action", "data"):
                self.addresses.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def carried(page: str) -> dict[str, Any]:
    """Return the data that a page carries for its script."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    found: dict[str, Any] = json.loads(match.group(1))
    return found


def test_the_figures_are_those_of_the_document(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    document = json.loads(invoke("scan", candle, "--format", "json").out)
    page = invoke("scan", candle, "--format", "html").out
    data = carried(page)
    assert data["summary"] == document["summary"]
    shown = {"state", "crate", "hunks", "decision"}
    assert [{k: v for k, v in s.items() if k not in shown} for s in data["sites"]] == document[
        "sites"
    ]
    cards = dict(re.findall(r'data-state="(\w+)".*?<b>(\d+)</b>', page))
    assert cards.keys() == set(State)
    assert sum(map(int, cards.values())) == document["summary"]["sites"]
    # By hand, from the small candle: five places that are mechanical, one to look at, and the two
    # crates that a port adds to any tree.
    assert {state: int(card) for state, card in cards.items()} == document["summary"]["states"]
    applicability = document["summary"]["applicability"]
    assert int(cards["review"]) == applicability["review"] == 1
    assert int(cards["mechanical"]) == applicability["safe"]
    assert int(cards["kept"]) == applicability.get("keep", 0)
    row = re.search(r"<tfoot>.*?</tfoot>", page, re.DOTALL)
    assert row is not None
    assert re.findall(r">(\d+)</td>", row.group()) == [*cards.values(), str(len(data["sites"]))]


@pytest.mark.parametrize("source", [True, False])
def test_the_page_is_one_well_formed_file(source: bool) -> None:
    page = render_page(made(*EVERY_KIND, unaccounted=2), HUNKS, source=source, verified=VERIFIED)
    tags = Tags(page)
    assert len(tags.ids) == len(set(tags.ids))
    assert tags.addresses
    assert all(address.startswith("#") for address in tags.addresses)
    targets = {*tags.ids, *(site.id for site in EVERY_KIND)}
    assert {address[1:] for address in tags.addresses} <= targets
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|@import|url\(", page)


@pytest.mark.parametrize("source", [True, False])
def test_source_is_left_out_where_it_is_not_wanted(source: bool) -> None:
    page = render_page(made(*EVERY_KIND, unaccounted=1), HUNKS, source=source)
    assert (SECRET in page) is source
    assert any("hunks" in site for site in carried(page)["sites"]) is source


def test_what_the_tree_says_cannot_become_part_of_the_page() -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)> & \u2028"
    bad = replace(
        EVERY_KIND[2], path=f"a/{evil}.rs", symbol=evil, message=evil, construct=evil, detail=evil
    )
    hunks = {bad.id: (Hunk(evil, evil, 1, (f"+{evil}",)),)}
    page = render_page(made(bad, EVERY_KIND[5], unaccounted=1), hunks)
    Tags(page)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert carried(page)["sites"][0]["message"] == evil


def test_after_the_port_nobody_asks_what_it_would_have_cost() -> None:
    assert "if done by hand" in render_page(made(*EVERY_KIND))
    ported = render_page(made(*EVERY_KIND[1:]))
    assert "by hand" not in ported


def test_what_settles_a_place_is_there_to_be_copied() -> None:
    widened = replace(EVERY_KIND[2], construct="is_cuda/is_metal check", path='a/[1] "x".rs')
    peer = replace(EVERY_KIND[2], code="PK405", construct="is_metal check", id="PK405-00000001")
    kept = replace(peer, applicability=Applicability.KEEP, id="PK405-00000002")
    report = made(widened, peer, kept, EVERY_KIND[3])
    found = [site.get("decision", "") for site in carried(render_page(report))["sites"]]
    assert found[2:] == ["", ""]
    copied = "\n".join(found).replace('reason = ""', 'reason = "both round alike"')
    said = parse_settings(SourceFile(NAME, copied.encode())).decisions
    assert [(each.when, each.verdict) for each in said] == [
        ("is_cuda", "widen"),
        ("is_metal", "peer"),
    ]
    assert said[0].is_in(widened.path) and said[0].fits("x.is_cuda()")
    # Without a reason it is no decision.
    with pytest.raises(ConfigError, match="reason"):
        parse_settings(SourceFile(NAME, "\n".join(found).encode()))
    count = "# These lines settle 1 finding of this file that you must decide.\n"
    assert f"```toml\n{count}{found[0]}\n{count}{found[1]}```\n" in render_markdown(report)


def test_the_page_begins_with_the_decisions() -> None:
    check = replace(EVERY_KIND[2], construct="is_cuda check")
    other = replace(check, line=9, id="PK401-0000000b")
    item = replace(check, code="PK501", symbol="use_cpu", id="PK501-0000000a")
    half = replace(item, code="PK502", id="PK502-0000000a")
    fix = replace(check, code="PK107", id="PK107-0000000a", status=Status.NONE)
    report = made(check, other, item, half, fix)
    taken = TakenBranch("ROCm takes the branch in lines 3 to 4:", 3, ("if a {", f"  {SECRET}"))
    page = render_page(report, branches={check.id: taken})
    section = page[page.index("<main>") : page.index('<section id="summary"')]
    assert section.split()[1:3] == ["<section", 'id="decide"']
    assert "To decide (3)" in section and "Upstream fixes to read (1)" in section
    assert "For you: 3 to decide, 1 upstream fix to read" in section
    assert taken.sentence in section and SECRET in section
    # A sentence may quote a condition.
    bare = render_page(report, branches={check.id: taken}, source=False)
    assert SECRET not in bare and taken.sentence not in bare
    # Both checks are in one file and ask the same: one entry decides them.
    assert section.count("These lines settle 2 findings of this file") == 2
    assert f'data-copy="portkit review tree --accept {item.id} --accept {half.id}"' in section
    excluded = f"portkit review tree --exclude {check.id} --reason &#34;...&#34;"
    assert f'data-copy="{excluded}"' in section


def test_the_same_report_makes_the_same_page() -> None:
    report = made(*EVERY_KIND, unaccounted=1)
    assert render_page(report, HUNKS) == render_page(report, dict(HUNKS))


def test_a_report_without_places_is_a_page_too() -> None:
    page = render_page(made())
    Tags(page)
    assert "There is nothing to do." in page
    assert "Nothing is left." in page


# --- apply and verify ---------------------------------------------------------------------------


def test_a_verification_is_shown_step_by_step() -> None:
    Draft202012Validator(json.loads((REPORTS / "verify.schema.json").read_text())).validate(
        VERIFIED
    )
    page = render_page(made(*EVERY_KIND), verified=VERIFIED)
    section = page[page.index('<section id="proof"') : page.index('<section id="places"')]
    assert "3 min 15 s" in section
    assert "mend &lt;it&gt;" in section
    assert "<b>618</b> files" in section
    steps = re.findall(r'<li class="verdict-([\w-]+)">\s*<p><b>(\w+)</b>', section)
    assert steps == [("passed", "format"), ("failed", "check"), ("not-taken", "device")]
    assert re.findall(r'<tr><th scope="row">(\S+)</th>(.*)</tr>', section) == [
        ("affine.hip", '<td class="clean">12</td><td class="spilling">12, 3 spill</td>'),
        ("moe/gemm.hip", '<td class="absent"></td><td class="failed">does not compile</td>'),
    ]
    # A complaint leads to its place, where the report has it.
    assert section.count(f'href="#{EVERY_KIND[0].id}"') == 1
    assert "PK302-ffffffff" not in section
    assert '<section id="proof"' not in render_page(made(*EVERY_KIND))


def test_scan_shows_what_verify_has_written(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    file = tmp_path / "verify.json"
    file.write_text(json.dumps(VERIFIED))
    page = invoke("scan", candle, "--format", "html", "--verified", file).out
    assert "non-exhaustive &lt;patterns&gt;" in page
    assert invoke("scan", candle, "--verified", file).code == 2
    file.write_text(json.dumps({**VERIFIED, "steps": [{}]}))
    done = invoke("scan", candle, "--format", "html", "--verified", file)
    assert done.code == 24
    assert "portkit verify --json" in done.err


@pytest.mark.parametrize("ported", [True, False])
def test_verify_reports_what_it_has_proven(tmp_path: Path, ported: bool) -> None:
    candle = make_candle(tmp_path / "candle")
    assert invoke("apply", candle, "--no-format", *([] if ported else ["--skip", "PK4"])).code == 0
    file, document = tmp_path / "proof.html", tmp_path / "proof.json"
    done = invoke("verify", candle, "--only", "coverage", "--report", file, "--json", document)
    assert (done.code == 0) is ported
    page = file.read_text()
    section = page[page.index('<section id="proof"') : page.index('<section id="places"')]
    (step,) = json.loads(document.read_text())["steps"]
    assert f'<span class="badge verdict-{step["verdict"]}">' in section
    assert all(f"<b>{number}</b> {name}" in section for name, number in step["figures"].items())
    assert carried(page)["summary"]["status"].get("todo", 0) == step["figures"]["todo"]


def test_apply_reports_what_it_has_written(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    before = json.loads(invoke("scan", candle, "--format", "json").out)["summary"]
    for options, written in (("--check",), False), ((), True):
        file = tmp_path / f"{written}.html"
        invoke("apply", candle, "--no-format", "--report", file, *options)
        page = file.read_text()
        assert ('<p class="written">' in page) is written
        status = carried(page)["summary"]["status"]
        assert status.get("ported" if written else "todo") == before["status"]["todo"]
        assert status.get("todo" if written else "ported") is None
        arm = next(site for site in carried(page)["sites"] if site["code"] == "PK301")
        assert arm["state"] == ("ported" if written else "mechanical")
        assert '+            Self::Rocm(_) => "rocm",' in arm["hunks"][0][3]


# --- the map -----------------------------------------------------------------------------------


def test_the_map_s_areas_are_the_counts() -> None:
    crates = draw_workspace(made(*EVERY_KIND))
    assert {crate.path: crate.count for crate in crates} == {".": 1, "a": 4, "a/b": 2}
    unit = WIDTH * HEIGHT / len(EVERY_KIND)
    for crate in crates:
        assert crate.box.width * crate.box.height == pytest.approx(unit * crate.count)
        assert sum(file.count for file in crate.files) == crate.count
        for file in crate.files:
            assert sum(part.count for part in file.slices) == file.count
    assert sum(crate.count for crate in draw_workspace(made(*EVERY_KIND), settled=False)) == 6


def test_a_file_that_is_called_as_many_are_has_its_folder() -> None:
    paths = ["a/src/cuda_backend/mod.rs", "a/src/quantized/mod.rs", "a/src/tensor.rs", "build.rs"]
    sites = [replace(EVERY_KIND[0], path=path) for path in paths]
    labels = {
        file.path: {part.label for part in file.slices if part.label}
        for crate in draw_workspace(made(*sites))
        for file in crate.files
    }
    names = ["cuda_backend/mod.rs", "quantized/mod.rs", "tensor.rs", "build.rs"]
    assert labels == {path: {name} for path, name in zip(paths, names, strict=True)}


def area(box: Box) -> float:
    return box.width * box.height


def test_boxes_fill_their_frame_and_do_not_overlap() -> None:
    weights = [40.0, 30, 20, 10, 5, 5, 3, 2, 1, 1, 1]
    frame = Box(10, 20, 600, 300)
    boxes = squarify(weights, frame)
    for weight, box in zip(weights, boxes, strict=True):
        assert area(box) == pytest.approx(area(frame) * weight / sum(weights))
        assert frame.x - 1e-6 <= box.x <= box.x + box.width <= frame.x + frame.width + 1e-6
        assert frame.y - 1e-6 <= box.y <= box.y + box.height <= frame.y + frame.height + 1e-6
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            wide = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            high = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert wide < 1e-6 or high < 1e-6


def test_boxes_are_those_of_the_paper() -> None:
    """The example of "Squarified Treemaps", 6, 6, 4, 3, 2, 2, 1 in 6 by 4, worked out by hand."""
    boxes = squarify([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 6, 4))
    assert [(round(b.width, 2), round(b.height, 2)) for b in boxes] == [
        (3, 2),
        (3, 2),
        (1.71, 2.33),
        (1.29, 2.33),
        (1.2, 1.67),
        (1.2, 1.67),
        (0.6, 1.67),
    ]


def test_a_box_without_room_is_no_defect() -> None:
    assert [area(box) for box in squarify([2, 1], Box(0, 0, 0, 4))] == [0, 0]
    assert squarify([], Box(0, 0, 1, 1)) == []
