"""The forms that CI services read: SARIF and annotations of GitHub Actions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import invoke, make_candle
from jsonschema import Draft7Validator
from msgspec.structs import replace
from report_support import EVERY_KIND, SECRET, made

from portkit.engine.rule_pages import list_all_pages
from portkit.fetch import fetch_crate
from portkit.report.github_annotations import SHOWN, render_annotations
from portkit.report.sarif import render_sarif

if TYPE_CHECKING:
    from pathlib import Path

    from portkit.report.model import Report

# A crate that carries OASIS's schema of SARIF 2.1.0.
SCHEMA_CRATE = ("serde-sarif", "0.8.0")
ODD = replace(EVERY_KIND[2], path="a/x y#é,:%.rs", message="50% of\r\na: b,c", id="PK401-0000000a")


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


def log(report: Report, *, source: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(render_sarif(report, source=source))
    return found


# --- SARIF -------------------------------------------------------------------------------------


def test_sarif_has_what_asks_something_of_somebody() -> None:
    (run,) = log(made(*EVERY_KIND, unaccounted=2))["runs"]
    levels = {r["partialFingerprints"]["portkitSite/v1"]: r["level"] for r in run["results"][:-2]}
    assert levels == {
        "PK301-00000001": "warning",
        "PK401-00000003": "note",
        "PK402-00000004": "note",
        "PK403-00000005": "note",
        "PK801-00000006": "error",
    }
    assert [result["ruleId"] for result in run["results"][-2:]] == ["unaccounted"] * 2
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_says_where(candle: Path) -> None:
    sites = {
        s["id"]: s for s in json.loads(invoke("scan", candle, "--format", "json").out)["sites"]
    }
    (run,) = json.loads(invoke("scan", candle, "--format", "sarif").out)["runs"]
    assert len(run["results"]) == sum(s["status"] == "todo" for s in sites.values())
    for result in run["results"]:
        site = sites[result["partialFingerprints"]["portkitSite/v1"]]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": site["path"], "uriBaseId": "%SRCROOT%"}
        assert place["region"] == {
            "startLine": site["line"],
            "startColumn": site["column"],
            "endLine": site["end_line"],
            "endColumn": site["end_column"],
        }
        assert result["message"]["text"].endswith(site["message"])


def test_github_takes_every_rule() -> None:
    """What code scanning requires of a rule, and how long it may be, after its documentation."""
    pages = list_all_pages()
    sites = [replace(EVERY_KIND[0], code=page.code, id=f"{page.code}-00000001") for page in pages]
    (run,) = log(made(*sites, unaccounted=1))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [*(page.code for page in pages), "unaccounted"]
    for rule in rules:
        assert 0 < len(rule["name"]) <= 255
        for text in (rule["shortDescription"]["text"], rule["fullDescription"]["text"]):
            assert 0 < len(text) <= 1024
        assert rule["help"]["text"]
    assert len(rules) <= 25_000


def test_an_odd_path_is_a_uri() -> None:
    (run,) = log(made(ODD))["runs"]
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    # RFC 3986: what is not unreserved is quoted, as UTF-8.
    assert artifact["uri"] == "a/x%20y%23%C3%A9%2C%3A%25.rs"


@pytest.mark.real
def test_sarif_follows_the_schema_of_oasis(candle: Path) -> None:
    schema = json.loads((fetch_crate(*SCHEMA_CRATE, offline=False) / "src/schema.json").read_text())
    assert schema["$id"].endswith("/sarif-schema-2.1.0.json")
    validator = Draft7Validator(schema)
    whole = json.loads(invoke("scan", candle, "--format", "sarif").out)
    for found in (whole, log(made(*EVERY_KIND, ODD, unaccounted=2)), log(made())):
        assert list(validator.iter_errors(found)) == []
    whole["runs"][0]["results"][0]["level"] = "terrible"
    assert not validator.is_valid(whole)


@pytest.mark.parametrize("source", [True, False])
def test_source_is_left_out_where_it_is_not_wanted(source: bool) -> None:
    report = made(*EVERY_KIND, unaccounted=1)
    assert (SECRET in render_sarif(report, source=source)) is source


# --- GitHub Actions ----------------------------------------------------------------------------


def test_annotations_are_workflow_commands() -> None:
    lines = render_annotations(made(*EVERY_KIND, unaccounted=1)).splitlines()
    assert lines[0] == (
        "::error file=a/x.rs,line=7,title=unaccounted::no rule explains this mention of a backend"
    )
    assert lines[1].startswith(
        "::error file=Cargo.toml,line=6,endLine=6,title=PK801 arm%3A `E|F`::"
    )
    assert [line.split()[0] for line in lines[2:]] == ["::notice"] * 3 + ["::warning"]
    assert all(line.endswith("::see <it>") for line in lines[1:])


def test_what_would_end_a_command_is_escaped() -> None:
    (line,) = render_annotations(made(ODD)).splitlines()
    assert "file=a/x y#é%2C%3A%25.rs,line=3," in line
    assert line.endswith("::50%25 of%0D%0Aa: b,c")


def test_no_more_annotations_than_are_shown() -> None:
    many = [replace(EVERY_KIND[0], id=f"PK301-{n:08x}") for n in range(SHOWN + 5)]
    lines = render_annotations(made(*many)).splitlines()
    assert len(lines) == SHOWN + 1
    assert lines[-1] == "::notice::portkit: 5 more places: mechanical"


@pytest.mark.parametrize("inside", [True, False])
def test_a_scan_in_a_workflow_annotates(
    candle: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    if inside:
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done = invoke("scan", candle, "--format", "json")
    assert ("::notice file=candle-core/src/matmul.rs,line=8," in done.err) is inside
    assert json.loads(done.out)["schema"] == 1
