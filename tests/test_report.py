from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from apply_support import git
from cli_support import EDITED, LIB, MATMUL, add_file, commit, invoke, make_candle
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from report_support import CODES, EVERY_KIND, SECRET, made

from portkit.engine.session import scan_tree
from portkit.report.additions import Additions, find_additions
from portkit.report.markdown import render_markdown
from portkit.report.model import State, count_states, describe_writes, mark_ported
from portkit.report.patch import render_patch
from portkit.report.scan_json import render_scan_json
from portkit.report.scan_summary import render_summary
from portkit.report.scan_table import render_table
from portkit.report.terminal import Terminal, align_columns, open_terminal, reflow_text, wrap_text
from portkit.transaction.transaction import Change

if TYPE_CHECKING:
    from pathlib import Path

    from portkit.report.model import Report

PLAIN = Terminal()
# What a copy has mended: nothing is written beside CUDA's side.
REPAIRED = replace(EVERY_KIND[4], code="PK107", line=8)
# The document of the issue that asked for it, field by field.
DOCUMENT = {"schema", "root", "version", "crates", "sites", "unaccounted", "summary"}
SITE = {
    "path",
    "line",
    "column",
    "end_line",
    "end_column",
    "code",
    "construct",
    "symbol",
    "applicability",
    "status",
    "message",
    "id",
}


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


def validator(name: str) -> Draft202012Validator:
    text = (resources.files("portkit") / "report" / f"{name}.schema.json").read_text()
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def document(candle: Path, *options: str) -> dict[str, Any]:
    done = invoke("scan", candle, "--format", "json", *options)
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    validator("scan").validate(found)
    return found


# --- JSON --------------------------------------------------------------------------------------


def test_the_document_has_the_promised_fields(candle: Path) -> None:
    found = document(candle)
    assert set(found) == DOCUMENT
    assert (found["schema"], found["version"]) == (1, "0.11.1")
    assert found["root"] == candle.as_posix()
    assert found["crates"] == [{"name": "candle-core", "path": "candle-core"}]
    assert all(set(site) == SITE for site in found["sites"])


def test_the_document_follows_its_schema_in_every_state(candle: Path) -> None:
    document(candle, "--gating", "cfg")
    invoke("apply", candle, "--no-format")
    document(candle)
    for source in (True, False):
        validator("scan").validate(
            json.loads(render_scan_json(made(*EVERY_KIND, unaccounted=2), source=source))
        )


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        ("line", 0),
        ("applicability", "certain"),
        ("status", "done"),
        ("code", "PK1"),
        ("id", "PK001"),
        ("path", "/etc/passwd"),
    ],
)
def test_the_schema_refuses_what_is_wrong(where: str, wrong: object) -> None:
    found = json.loads(render_scan_json(made(*EVERY_KIND)))
    found["sites"][0][where] = wrong
    assert not validator("scan").is_valid(found)


def text_of(candle: Path, site: dict[str, Any]) -> str:
    """Return the text that a site's lines and columns name."""
    lines = (candle / site["path"]).read_text().split("\n")[site["line"] - 1 : site["end_line"]]
    lines[-1] = lines[-1][: site["end_column"] - 1]
    lines[0] = lines[0][site["column"] - 1 :]
    return "\n".join(lines)


def test_positions_cover_the_construct(candle: Path) -> None:
    found = {s["code"]: text_of(candle, s) for s in document(candle, "--skip", "PK103")["sites"]}
    assert found["PK505"] == "Cuda(usize)"
    assert found["PK301"].rstrip(",") == 'Self::Cuda(_) => "cuda"'
    assert found["PK503"].startswith("pub fn is_cuda(&self) -> bool {\n")
    assert found["PK503"].endswith("matches!(self, Self::Cuda(_))\n    }")
    assert found["PK201"] == "cuda = []"
    # Behind characters of several bytes.
    assert found["PK401"].endswith("device.is_cuda()")
    assert "fits" not in found["PK401"]


def test_a_whole_file_ends_on_its_last_line(candle: Path) -> None:
    path = "candle-core/src/cuda_backend/mod.rs"
    add_file(candle, path, b"//! CUDA.\n\npub struct CudaDevice;\n")
    found = [s for s in document(candle, "--select", "PK101")["sites"] if s["path"] == path]
    assert [(s["code"], s["line"], s["end_line"]) for s in found] == [("PK101", 1, 3)]


def test_identities_survive_shifted_lines(candle: Path) -> None:
    before = document(candle)["sites"]
    for path in (LIB, MATMUL):
        place = candle / path
        first, _, rest = place.read_text().partition("\n\n")
        place.write_text(f"{first}\n\n// one line\n// and another\n\n{rest}")
    after = document(candle)["sites"]
    assert [s["id"] for s in after] == [s["id"] for s in before]
    assert [s["line"] for s in after] != [s["line"] for s in before]
    assert len({s["id"] for s in after}) == len(after)


def test_equal_constructs_in_one_item_have_identities_of_their_own(candle: Path) -> None:
    twice = (
        "pub fn twice(d: &Device) -> bool {\n    let a = d.is_cuda();\n    a || d.is_cuda()\n}\n"
    )
    with (candle / MATMUL).open("a") as file:
        file.write(twice)
    found = [s for s in document(candle)["sites"] if s["symbol"] == "twice"]
    assert len({s["id"] for s in found}) == len(found) == 2


def test_the_document_is_sorted_and_the_same_each_time(candle: Path) -> None:
    first, second = (invoke("scan", candle, "--format", "json").out for _ in range(2))
    assert first == second
    assert first.endswith("}\n")
    places = [(s["path"], s["line"], s["column"]) for s in json.loads(first)["sites"]]
    assert places == sorted(places)


def test_the_summary_counts_the_document(candle: Path) -> None:
    found = document(candle)
    sites, summary = found["sites"], found["summary"]
    assert summary["sites"] == len(sites)
    assert summary["unaccounted"] == len(found["unaccounted"])
    for key, field in (("applicability",) * 2, ("status",) * 2, ("codes", "code")):
        assert summary[key] == Counter(s[field] for s in sites)
    assert sum(summary["states"].values()) == len(sites)
    assert sum(crate["sites"] for crate in summary["crates"].values()) == len(sites)
    assert {code: summary["codes"][code] for code in EDITED} == dict.fromkeys(EDITED, 1)
    assert summary["files"] == 4


def test_a_crate_in_a_crate_has_its_own_figures() -> None:
    crates = json.loads(render_scan_json(made(*EVERY_KIND)))["summary"]["crates"]
    assert crates == {
        ".": {"sites": 1, "none": 1},
        "a": {"sites": 4, "none": 1, "ported": 1, "todo": 2},
        "a/b": {"sites": 2, "none": 1, "ported": 1},
    }


@pytest.mark.parametrize("source", [True, False])
def test_source_is_left_out_where_it_is_not_wanted(source: bool) -> None:
    report = made(*EVERY_KIND, unaccounted=1)
    shown = (render_scan_json(report, source=source), render_markdown(report, source=source))
    for text in (*shown, render_table(report, PLAIN, source=source)):
        assert (SECRET in text) is source


# --- the table ---------------------------------------------------------------------------------


def test_each_site_is_in_one_column_of_the_table() -> None:
    lines = render_table(made(*EVERY_KIND), PLAIN).splitlines()
    header = next(line for line in lines if line.startswith("Rule"))
    total = next(line for line in lines if line.split()[:1] == ["total"])
    assert header.split(maxsplit=2)[2].split("  ") == [state.word for state in State]
    assert total.split()[1:] == ["1", "3", "1", "1", "1"]
    rows = {line.split()[0]: line.split()[-1] for line in lines if line.startswith("PK")}
    assert rows == dict.fromkeys(CODES, "1")


def test_the_table_lists_what_a_person_should_see() -> None:
    text = render_table(made(*EVERY_KIND), PLAIN)
    for listed in ("a/x.rs:3", "a/b/y.rs:4", "a/b/y.rs:5", "Cargo.toml:6"):
        assert listed in text
    # What a column counts is what is listed under its name.
    assert "Manual: a person must write this (1 place)\n" in text
    assert "Review: a person should look at this (3 places)\n" in text
    for unlisted in ("a/x.rs:1", "a/x.rs:2", "a/x.rs:7"):
        assert unlisted not in text
        assert unlisted in render_table(made(*EVERY_KIND), PLAIN, everything=True)


def test_unaccounted_mentions_are_loud() -> None:
    text = render_table(made(unaccounted=2), Terminal(coloured=True))
    assert "\x1b[1;31mUNACCOUNTED: 2 backend mentions that no rule explains\x1b[0m\n" in text
    assert f"a/x.rs:7  {SECRET}\n" in text


@pytest.mark.parametrize(
    ("report", "last"),
    [
        (
            made(*EVERY_KIND),
            "Next: `portkit apply tree` writes 2 places (1 mechanical, 1 for review; nothing is"
            " written at the\nother 2 for review);",
        ),
        (
            made(*EVERY_KIND, REPAIRED),
            "Next: `portkit apply tree` writes 2 places (1 mechanical, 1 for review); with --diff"
            " it only shows\nthe changes, with --diff --stat how many lines they are.\n"
            "The other 3 places for review:\n"
            "  1 fixed in the ROCm copies, upstream's code untouched\n  2 left as they are\nIn a",
        ),
        (made(unaccounted=1), "Next: give each mention above a rule"),
        (made(EVERY_KIND[1]), "Nothing is left: every place has its counterpart. Next: "),
        (
            made(EVERY_KIND[3]),
            "Nothing is left for `portkit apply`; the 1 finding above is for you",
        ),
        (
            replace(made(EVERY_KIND[3]), unseen=3),
            "Nothing is left for `portkit apply`; the 1 finding above is for you, and so may be "
            "some in the\nsources of kernels, which --kernels lists.",
        ),
        (
            replace(made(EVERY_KIND[0]), untaken=3),
            "Next: `portkit apply tree` writes 1 place and translates 3 sources of kernels;",
        ),
        (
            replace(made(EVERY_KIND[0]), untaken=3, shared=True),
            "Next: `portkit apply tree` writes 1 place and has 3 sources of kernels compiled as "
            "they stand;",
        ),
        (
            replace(made(EVERY_KIND[0]), untaken=1, shared=True),
            "Next: `portkit apply tree` writes 1 place and has 1 source of kernels compiled as it "
            "stands;",
        ),
        (
            replace(made(EVERY_KIND[0]), obstacle="it is too old"),
            "`portkit apply` refuses: it is too old.",
        ),
        (replace(made(EVERY_KIND[0]), partial=True), "Next: `portkit apply tree` with the same"),
        (replace(made(EVERY_KIND[1]), partial=True), "Nothing is left: every place has its"),
        (replace(made(), partial=True), "No place here has one of the chosen codes."),
    ],
)
def test_the_table_ends_with_what_to_do(report: Report, last: str) -> None:
    assert render_table(report, PLAIN).rstrip("\n").split("\n\n")[-1].startswith(last)


def test_a_sentence_says_what_becomes_of_places_that_are_not_written() -> None:
    said = describe_writes(made(*EVERY_KIND, REPAIRED))
    assert said == (
        "writes 2 places (1 mechanical, 1 for review; of the other 3 for review 1 is fixed in the"
        " copies and 2 are left as they are)"
    )


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_table_fits_the_width(width: int) -> None:
    for text in (
        render_table(made(*EVERY_KIND, unaccounted=1), Terminal(width), everything=True),
        "\n".join(wrap_text("a sentence of several words " * 9, width, "    ")),
    ):
        assert max(map(len, text.splitlines())) <= width


def test_a_place_is_never_cut() -> None:
    path = "candle-examples/examples/voxtral/model.rs"
    sites = [replace(EVERY_KIND[2], symbol="load_model_weights"), replace(EVERY_KIND[2], path=path)]
    sites[1] = replace(sites[1], symbol="a_function_with_a_long_name", line=225)
    for width, expected in (
        (100, ["      a/x.rs:3" + " " * 39 + "load_model_weights"]),
        (60, ["      a/x.rs:3  load_model_weights", f"      {path}:225"]),
    ):
        lines = render_table(made(*sites), Terminal(width)).splitlines()
        for line in expected:
            assert line in lines
        assert any("a_function_with_a_long_name" in line for line in lines)
        assert max(map(len, lines)) <= width


def test_paragraphs_are_as_wide_as_the_window_and_code_is_left_alone() -> None:
    text = "one two three\nfour five\n\n    code that stays as it is\n\n- a list of some things"
    assert reflow_text(text, 20).split("\n\n") == [
        "one two three four\nfive",
        "    code that stays as it is",
        "- a list of some things",
    ]


def test_wide_columns_give_way() -> None:
    rows = [["PK301", "a" * 50, "1"], ["PK302", "b", "1000"]]
    assert align_columns(rows, numbers=1, width=30) == [
        f"PK301  {'a' * 16}…     1",
        f"PK302  b{' ' * 16}  1000",
    ]


class Stream:
    """What asks for colours: something that may be a terminal."""

    def __init__(self, *, tty: bool) -> None:
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


@pytest.mark.parametrize(
    ("tty", "environment", "coloured"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True),  # no-color.org: when not empty
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {"TERM": "xterm"}, False),
    ],
)
def test_colours(
    monkeypatch: pytest.MonkeyPatch, tty: bool, environment: dict[str, str], coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = open_terminal(Stream(tty=tty))  # type: ignore[arg-type]
    assert found.coloured is coloured
    assert ("\x1b" in render_table(made(*EVERY_KIND), found)) is coloured


def test_a_pipe_has_the_same_width_in_every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "73")
    assert open_terminal(Stream(tty=True)).width == 73  # type: ignore[arg-type]
    assert open_terminal(Stream(tty=False)).width == 100  # type: ignore[arg-type]
    monkeypatch.setenv("COLUMNS", "40")
    assert open_terminal(Stream(tty=True)).width == 40  # type: ignore[arg-type]


# --- Markdown ----------------------------------------------------------------------------------


def test_the_markdown_s_figures_are_the_document_s(candle: Path) -> None:
    found = document(candle)
    summary = found["summary"]
    lines = invoke("scan", candle, "--format", "markdown").out.splitlines()
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in lines if "|" in line}
    assert list(summary["states"]) == list(State)
    assert [int(cell) for cell in rows["all"]] == [*summary["states"].values(), summary["sites"]]
    for name, number in summary["states"].items():
        assert int(rows[State(name).word][-1]) == number
    for path, crate in summary["crates"].items():
        assert int(rows[path][-1]) == crate["sites"]
    todo = summary["status"]["todo"]
    assert (
        f"`portkit apply` writes {todo} places ({todo - 1} mechanical, 1 for review"
        in "\n".join(lines)
    )


def test_each_row_of_a_markdown_table_has_as_many_cells_as_its_header() -> None:
    lines = render_markdown(made(*EVERY_KIND, unaccounted=1)).splitlines()
    widths: list[set[int]] = []
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("|"):
            if not before.startswith("|"):
                widths.append(set())
            widths[-1].add(line.replace("\\|", "").count("|"))
    assert [len(width) for width in widths] == [1, 1, 1, 1]


def test_markdown_shows_text_as_it_is() -> None:
    text = render_markdown(made(*EVERY_KIND))
    assert "arm: \\`E\\|F\\`" in text
    assert "see \\<it>" in text


# --- figures -----------------------------------------------------------------------------------


def test_what_stands_in_kernels_is_counted_apart() -> None:
    inside = replace(EVERY_KIND[2], code="PH304", id="PH304-0000000a")
    report = made(*EVERY_KIND, inside)
    table = render_table(report, PLAIN)
    assert "look at this (3 places)\n" in table
    assert "Upstream fix to read (1)\n" in table
    assert "For you: 4 to decide, 1 upstream fix to read (1 in kernels)\n" in table
    assert count_states(report.sites)[State.REVIEW] == 4
    for text in (render_table(report, PLAIN), render_markdown(report)):
        assert "looked at, 7 places, and 1 in the sources of kernels" in " ".join(text.split())
        assert (
            "writes 2 places, and 1 in the sources of kernels (1 mechanical, 2 for review; nothing"
            " is written at the other 2 for review)" in " ".join(text.split())
        )


# --- patches -----------------------------------------------------------------------------------

CHANGES = (
    Change("carriage.rs", b"a\r\nb\r\n", b"a\r\nnew\r\nb\r\n"),
    Change("form-feed.rs", b"a\x0cb\nc\n", b"a\x0cb\nnew\nc\n"),
    Change("new/file.rs", None, b"one\ntwo\n"),
    Change("new/open.rs", None, b"one\ntwo"),
    Change("open.rs", b"a\nb", b"a\nb\nc"),
    Change("opened.rs", b"a\nb\n", b"a\nb"),
    Change("same.rs", b"a\n", b"a\n"),
    Change("utf-8.rs", "ä\u2028ö\n".encode(), "ä\u2028ö\nü\n".encode()),
)


def test_git_makes_of_a_patch_what_it_says(tmp_path: Path) -> None:
    for change in CHANGES:
        if change.before is not None:
            add_file(tmp_path, change.path, change.before)
    commit(tmp_path)
    file = add_file(tmp_path, ".git/changes.patch", render_patch(CHANGES).encode())
    git(tmp_path, "apply", "--whitespace=nowarn", str(file))
    for change in CHANGES:
        assert (tmp_path / change.path).read_bytes() == change.after, change.path
    assert "same.rs" not in render_patch(CHANGES)


def test_a_quoted_name_stays_as_it_is() -> None:
    """Who copies the command copies the name."""
    name = "'a  tree of   mine'"
    text = (
        f"CUDA's  own: `portkit apply {name} --profile 'b  c'` writes AMD's  places; `x`, it's  so."
    )
    for width in (20, 60, 200):
        lines = wrap_text(text, width)
        assert any(name in line for line in lines)
        assert any("'b  c'" in line for line in lines)
        assert " ".join(lines).replace(name, "").replace("'b  c'", "").count("  ") == 1
    assert wrap_text(text, 200)[0].startswith("CUDA's own: `portkit apply 'a  tree")


def test_a_report_begins_with_what_a_user_decides() -> None:
    """The same findings are counted before the port is written and after."""
    fix = replace(EVERY_KIND[2], code="PH304", id="PH304-0000000a")
    additions = Additions(("toy-hip",), ("rocm", "rccl"), ("Device", "Kind"), ("Device",))
    report = replace(made(*EVERY_KIND, REPAIRED, fix), additions=additions)
    for text in (render_table(report, PLAIN), render_markdown(report)):
        assert "The port adds: 1 crate (toy-hip); 2 features (rocm, rccl); a variant in" in text
        assert "Breaking: exhaustive matches on Device need an arm" in text
        assert "For you: 4 to decide, 2 upstream fixes to read (1 in kernels)" in text
    after = mark_ported(report)
    assert [*render_summary(after)][-1] == [*render_summary(report)][-1]


def test_additions_are_those_of_the_findings(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle", repository=False)
    found = find_additions(scan_tree(root))
    assert "rocm" in found.features
    assert "Device" in found.breaking
    assert set(found.breaking) <= set(found.enums)
    behind = find_additions(scan_tree(root, gating="cfg"))
    assert behind.breaking == ()
    assert invoke("apply", root, "--allow-no-vcs", "--no-format").code == 0
    assert find_additions(scan_tree(root)) == Additions()
