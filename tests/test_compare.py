"""``portkit diff``: what changed between two scans."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import LIB, MATMUL, invoke, make_candle
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from report_support import EVERY_KIND, made

from portkit.errors import DocumentError
from portkit.report.compare import (
    Kind,
    compare_scans,
    render_comparison_json,
    render_comparison_text,
)
from portkit.report.scan_json import build_document
from portkit.report.terminal import Terminal
from portkit.workspace.finding import Applicability, Status

if TYPE_CHECKING:
    from portkit.report.model import ReportedSite

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "portkit" / "report" / "diff.schema.json").read_text())


def plain(*sites: ReportedSite) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(build_document(made(*sites))))
    return found


OLD = EVERY_KIND[:5]
SHIFTED = replace(OLD[1], line=90)
MOVED = replace(OLD[2], path="b/z.rs", id="PK401-ffffffff")
CHANGED = replace(OLD[3], applicability=Applicability.SAFE, status=Status.TODO)
NEW = EVERY_KIND[6]
KEPT: dict[str, Any] = {"applicability": Applicability.KEEP, "status": Status.NONE}


def test_each_place_is_counted_once() -> None:
    found = compare_scans(plain(*OLD), plain(OLD[0], SHIFTED, MOVED, CHANGED, NEW))
    kinds = {d.place["id"]: d.kind for d in found.differences}
    assert kinds == {
        NEW.id: Kind.NEW,
        OLD[4].id: Kind.GONE,
        MOVED.id: Kind.MOVED,
        CHANGED.id: Kind.CHANGED,
    }
    assert (found.same, found.shifted) == (1, 1)
    (moved,) = found.of(Kind.MOVED)
    assert moved.before is not None
    assert moved.after is not None
    assert (moved.before["path"], moved.after["path"]) == (OLD[2].path, "b/z.rs")


def test_a_scan_does_not_differ_from_itself() -> None:
    found = compare_scans(plain(*OLD), plain(*OLD))
    assert found.differences == ()
    assert (found.same, found.shifted) == (len(OLD), 0)


def test_two_of_a_kind_are_not_taken_for_moved() -> None:
    twice = [replace(MOVED, path=f"b/{n}.rs", id=f"PK401-0000000{n}") for n in range(2)]
    found = compare_scans(plain(OLD[2]), plain(*twice))
    assert [d.kind for d in found.differences] == [Kind.NEW, Kind.NEW, Kind.GONE]


def test_a_count_of_mentions_is_no_change() -> None:
    why = "it is Metal's own"
    was, now = (replace(NEW, message=f"{why} ({n} mentions)", reason=why) for n in (3, 4))
    assert compare_scans(plain(was), plain(now)).same == 1
    other = replace(now, message="another (4 mentions)", reason="another")
    assert compare_scans(plain(was), plain(other)).same == 0


def test_what_asks_for_something_comes_first_and_what_is_kept_is_counted() -> None:
    kept = [replace(NEW, id=f"PK102-0000000{n}", code="PK102", **KEPT) for n in range(2)]
    manual = replace(NEW, id="PK802-00000009", code="PK403", applicability=Applicability.MANUAL)
    safe = replace(NEW, code="PK401", applicability=Applicability.SAFE, status=Status.TODO)
    new = plain(safe, *kept, manual)
    text = render_comparison_text(compare_scans(plain(), new), Terminal())
    title, *headings = re.findall(r"^(?:  )?\S.*$", text.split("\n\n", 1)[1], re.MULTILINE)
    assert title == "New: not in the older scan (4 places: 1 manual, 1 mechanical, 2 no change)"
    assert [re.sub(r"^  (\S+).*: ", r"\1 ", heading) for heading in headings] == [
        "PK403 manual",
        "PK401 mechanical",
        "PK102 no change (2 places)",
        "Next: `portkit apply tree` writes 1 place.",
    ]


def test_the_document_follows_its_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    validator = Draft202012Validator(SCHEMA)
    for new in ((), (OLD[0], SHIFTED, MOVED, CHANGED, NEW)):
        text = json.loads(render_comparison_json(compare_scans(plain(*OLD), plain(*new))))
        validator.validate(text)
        counts = {kind: text["summary"][kind] for kind in Kind}
        assert sum(counts.values()) == len(text["differences"])
    text["differences"][0]["kind"] = "lost"
    assert not validator.is_valid(text)


def test_from_one_version_to_the_next(tmp_path: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    scans = [tmp_path / "old.json", tmp_path / "new.json"]
    assert invoke("scan", candle, "--format", "json", "-o", scans[0]).code == 0
    assert invoke("diff", scans[0], scans[0], "--check").code == 0
    (candle / LIB).write_text("// another line\n" + (candle / LIB).read_text())
    place = candle / MATMUL
    place.write_text(place.read_text().replace("device.is_cuda()", "true"))
    with place.open("a") as file:
        file.write("\npub fn other(device: &Device) -> bool {\n    device.is_cuda()\n}\n")
    assert invoke("scan", candle, "--format", "json", "-o", scans[1]).code == 0
    done = invoke("diff", *scans)
    assert done.code == 0
    first, _, rest = done.out.partition("\n\n")
    assert " ".join(first.split()).startswith(
        "From candle 0.11.1 to candle 0.11.1: 1 new, 1 gone, 0 moved, 0 changed; 3 at another line"
    )
    assert (
        "New: not in the older scan (1 place: 1 review)\n  PK401 is_cuda check: review, to do\n"
        in rest
    )
    assert f"{MATMUL}:13  other\n" in rest
    assert invoke("diff", *scans, "--check").code == 1
    markdown = invoke("diff", *scans, "--format", "markdown").out
    assert "| new | 1 |\n| gone | 1 |\n" in markdown
    assert f"  - `{MATMUL}:13` `other`" in markdown
    written = invoke("diff", *scans, "--format", "json").out
    Draft202012Validator(SCHEMA).validate(json.loads(written))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("{", "is not JSON"),
        ("[]", "is not a scan's document"),
        ('{"schema": 2, "sites": []}', "is not a scan's document"),
        ('{"schema": 1, "sites": [{}]}', "is not a scan's document"),
    ],
)
def test_what_is_no_scan_is_said(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "scan.json"
    if text is not None:
        file.write_text(text)
    done = invoke("diff", file, file)
    assert done.code == DocumentError.exit_code
    assert said in done.err
    assert "--format json" in done.err
