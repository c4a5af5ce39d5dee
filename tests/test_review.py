"""``portkit review``: what was looked at is asked about no more, until it changes."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from apply_support import git
from cli_support import PROGRAM, add_file, commit, environment, invoke, make_candle
from kernels_tree_support import make_with_kernels

from portkit.cli.review import ANSWERS
from portkit.cli.review_desk import PendingReview, open_desk
from portkit.engine.session import scan_tree
from portkit.errors import ConfigError
from portkit.profiles import accepted_findings
from portkit.profiles.exclusion_writer import append_exclusion
from portkit.profiles.settings import parse_settings
from portkit.report import scan_json
from portkit.report.model import locate_finding
from portkit.report.taken_branch import find_taken_branch
from portkit.syntax.source_file import SourceFile
from portkit.update.dropped_sites import drop_sites
from portkit.workspace.finding import Applicability, identify_findings

SCHEMA = Path(scan_json.__file__).with_name("scan.schema.json")
TILES = "candle-core/src/tiles.rs"
# Four places for a person beside that of matmul.rs: two alike, one on another backend, one negated.
CODE = b"""\
use crate::Device;

pub fn tile(device: &Device) -> usize {
    if device.is_cuda() {
        16
    } else {
        8
    }
}

pub fn twice(device: &Device) -> usize {
    let wide = if device.is_cuda() { 64 } else { 32 };
    let high = if device.is_cuda() { 4 } else { 2 };
    wide * high
}

pub fn other(device: &Device) -> usize {
    if !device.is_metal() {
        1
    } else {
        3
    }
}
"""
PLACES = 5


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    root = make_candle(tmp_path / "candle", repository=False)
    lib = root / "candle-core/src/lib.rs"
    lib.write_text(f"mod tiles;\n{lib.read_text()}")
    add_file(root, TILES, CODE)
    commit(root)
    return root


def asked(root: Path) -> list[str]:
    """Return what is for a person to look at, a line each."""
    *places, _ = invoke("review", root, "--list").out.splitlines()
    return places


def identities(root: Path) -> list[str]:
    return [line.split()[0] for line in asked(root)]


def document(root: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(invoke("scan", root, "--format", "json").out)
    return data


def change(root: Path, old: str, new: str, path: str = TILES) -> None:
    file = root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_all_accepted_nothing_is_left(candle: Path) -> None:
    assert len(asked(candle)) == PLACES
    assert invoke("review", candle, "--accept", "PK").code == 0
    assert asked(candle) == []
    found = document(candle)
    assert found["summary"]["states"]["review"] == 0
    assert found["summary"]["looked_at"] == PLACES
    seen = [site for site in found["sites"] if "looked_at" in site]
    assert all(site["message"].endswith(" (looked at)") for site in seen)


def test_the_document_says_so_by_its_schema(candle: Path) -> None:
    invoke("review", candle, "--accept", "PK")
    jsonschema.validate(document(candle), json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize("form", ["table", "markdown", "html", "sarif", "plan"])
def test_no_report_asks_again(candle: Path, form: str) -> None:
    question = "so see whether the same holds on AMD"
    before = invoke("scan", candle, "--format", form).out
    assert question in before
    invoke("review", candle, "--accept", "PK")
    after = invoke("scan", candle, "--format", form).out
    assert "1 for review" not in after
    assert after.count(f"{question}") <= after.count(f"{question} (looked at)") * 2


def test_a_workflow_is_told_once(candle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::notice file=" in invoke("scan", candle).err
    invoke("review", candle, "--accept", "PK")
    assert "::notice file=" not in invoke("scan", candle).err


def test_strict_counts_what_nobody_has_looked_at(candle: Path) -> None:
    assert invoke("apply", candle).code == 0
    check = ("scan", candle, "--check", "--strict", "--select", "PK4")
    assert invoke(*check).code == 1
    assert invoke(*check[:3], *check[4:]).code == 0
    invoke("review", candle, "--accept", "PK")
    assert invoke(*check).code == 0


@pytest.mark.parametrize(
    ("old", "new", "symbol"),
    [
        ("        16\n", "        17\n", "tile"),
        ("        8\n", "        9\n", "tile"),
        ("{ 64 }", "{ 63 }", "twice"),
        ("        3\n", "        5\n", "other"),
    ],
)
def test_one_that_changes_comes_back_alone(candle: Path, old: str, new: str, symbol: str) -> None:
    invoke("review", candle, "--accept", "PK")
    change(candle, old, new)
    (line,) = asked(candle)
    assert f"  {symbol}: " in line
    assert line.endswith("it has changed since it was looked at")
    invoke("review", candle, "--accept", line.split()[0])
    assert asked(candle) == []


def test_what_moves_stays_looked_at(candle: Path) -> None:
    invoke("review", candle, "--accept", "PK")
    change(candle, "pub fn tile", "// A line more.\n\npub fn tile")
    assert asked(candle) == []
    # The second of two that are alike in all but their text becomes the first.
    change(
        candle, "    let wide = if device.is_cuda() { 64 } else { 32 };\n", "    let wide = 1;\n"
    )
    assert asked(candle) == []
    found = [s for s in document(candle)["sites"] if s["code"] == "PK904"]
    assert len(found) == 0


def test_what_stands_nowhere_is_reported_and_left_away(candle: Path) -> None:
    invoke("review", candle, "--accept", "PK")
    number = (candle / accepted_findings.NAME).read_text().count("\n")
    change(candle, "    if !device.is_metal() {\n", "    if true {\n")
    (idle,) = [s for s in document(candle)["sites"] if s["code"] == "PK904"]
    assert idle["path"] == accepted_findings.NAME
    assert " other" in (candle / accepted_findings.NAME).read_text().splitlines()[idle["line"] - 1]
    # A command that is given the line that the report names finds the place.
    assert (
        idle["id"]
        in invoke("explain", f"{accepted_findings.NAME}:{idle['line']}", "--tree", candle).out
    )
    assert asked(candle) == []
    change(candle, "        8\n", "        9\n")
    invoke("review", candle, "--accept", "PK")
    assert "PK904" not in {s["code"] for s in document(candle)["sites"]}
    assert (candle / accepted_findings.NAME).read_text().count("\n") == number - 1


def test_the_order_of_acceptance_makes_no_difference(candle: Path) -> None:
    places = identities(candle)
    files = set()
    for seed in range(3):
        (candle / accepted_findings.NAME).unlink(missing_ok=True)
        random.Random(seed).shuffle(places)
        for place in places:
            assert invoke("review", candle, "--accept", place).code == 0
        files.add((candle / accepted_findings.NAME).read_bytes())
    (candle / accepted_findings.NAME).unlink()
    invoke("review", candle, "--accept", "PK")
    files.add((candle / accepted_findings.NAME).read_bytes())
    assert len(files) == 1


def test_what_is_accepted_stays_so_when_it_is_written(candle: Path) -> None:
    invoke("review", candle, "--accept", "PK")
    assert invoke("apply", candle).code == 0  # the file is ours, and may be uncommitted
    assert asked(candle) == []
    assert invoke("apply", candle, "--check").code == 0
    written = (candle / accepted_findings.NAME).read_bytes()
    git(candle, "checkout", "--quiet", ".")
    git(candle, "clean", "--force", "-d", "--quiet", "--exclude", accepted_findings.NAME)
    assert (candle / accepted_findings.NAME).read_bytes() == written
    assert asked(candle) == []
    change(candle, "        16\n", "        17\n")
    assert len(asked(candle)) == 1


def test_a_line_names_a_place(candle: Path) -> None:
    first = next(line for line in asked(candle) if f"{TILES}:4 " in line)
    assert invoke("review", candle, "--accept", f"{TILES}:4").code == 0
    assert first.split()[0] not in identities(candle)
    assert invoke("review", candle, "--accept", candle / f"{TILES}:12").code == 0
    assert len(asked(candle)) == PLACES - 2


WIDENED = "is_cuda() || device.is_rocm()"


def ported(root: Path, line: int) -> str:
    """Write the port, and return the identity of the place in a line."""
    (place, *_) = [each for each in asked(root) if f"{TILES}:{line} " in each]
    assert invoke("apply", root).code == 0
    return place.split()[0]


@pytest.mark.parametrize("is_committed", [True, False])
def test_what_stands_already_is_taken_out_when_it_is_kept(candle: Path, is_committed: bool) -> None:
    """The code that stands is what portkit writes, so nothing of anybody's goes with it."""
    place = ported(candle, 4)
    if is_committed:
        commit(candle)
    standing = {path: path.read_bytes() for path in candle.rglob("*.rs")}
    done = invoke("review", candle, "--exclude", place, "--reason", "ours", "--yes")
    assert f"What the port had written there is taken out of {TILES}." in done.err
    text = standing[candle / TILES].decode()
    assert text.count(WIDENED) == 3
    expected = text.replace(WIDENED, "is_cuda()", 1)
    assert {path: path.read_bytes() for path in candle.rglob("*.rs")} == {
        **standing,
        candle / TILES: expected.encode(),
    }
    # It is not written again.
    assert invoke("apply", candle, "--allow-dirty").code == 0
    assert (candle / TILES).read_text() == expected


def test_an_edit_beside_what_is_taken_out_stays(candle: Path) -> None:
    place = ported(candle, 4)
    change(candle, "    wide * high\n", "    wide * high + 1\n")
    commit(candle)
    done = invoke("review", candle, "--exclude", place, "--reason", "ours", "--yes")
    assert "is taken out of" in done.err
    text = (candle / TILES).read_text()
    assert "    wide * high + 1\n" in text
    assert text.count(WIDENED) == 2


def test_what_was_edited_stays_when_it_is_kept(candle: Path) -> None:
    place = ported(candle, 4)
    change(candle, f"{WIDENED} {{\n", f"{WIDENED} || true {{\n")
    commit(candle)
    before = (candle / TILES).read_bytes()
    done = invoke("review", candle, "--exclude", place, "--reason", "ours", "--yes")
    said = "What the port has written there stays until you take it out: "
    assert f"{said}{TILES} was changed by hand in the same lines." in done.err
    assert (candle / TILES).read_bytes() == before
    assert "ours" in (candle / "portkit.toml").read_text()
    told = invoke("explain", f"{TILES}:4", "--tree", candle).out
    assert "what the port has written there stays until somebody takes it out" in told


def test_an_arm_that_is_taken_out_answers_with_an_error(candle: Path) -> None:
    """What a skip leaves out compiles, in a tree that is ported already as well."""
    assert invoke("apply", candle).code == 0
    commit(candle)
    lib = candle / "candle-core/src/lib.rs"
    arm = 'Self::Rocm(_) => "rocm"'
    assert arm in lib.read_text()
    line = lib.read_text()[: lib.read_text().index('Self::Cuda(_) => "cuda"')].count("\n") + 1
    found = [s for s in document(candle)["sites"] if s["line"] == line and s["code"] == "PK301"]
    settings_before = b""
    after = append_exclusion(
        settings_before, "PK301", found[0]["path"], found[0]["symbol"], "not yet"
    )
    (change,) = drop_sites(candle, settings_before, after, profile=None, gating="")
    assert change.path == "candle-core/src/lib.rs"
    assert b'Self::Rocm(_) => panic!("left out: not yet")' in change.after


def test_what_no_history_tells_stays_when_it_is_kept(candle: Path) -> None:
    place = ported(candle, 4)
    shutil.rmtree(candle / ".git")
    before = (candle / TILES).read_bytes()
    done = invoke("review", candle, "--exclude", place, "--reason", "ours", "--yes")
    assert "What the port has written there stays until you take it out: " in done.err
    assert "is in no git repository" in done.err
    assert (candle / TILES).read_bytes() == before


def test_places_in_kernels_are_not_forgotten(tmp_path: Path) -> None:
    """Without --kernels the review is not of them, and does not say that all were looked at."""
    candle = make_with_kernels(tmp_path / "candle")
    commit(candle)
    elsewhere = "those in the sources of kernels, which --kernels shows."
    assert f" for you, and {elsewhere}" in invoke("review", candle, "--list").out
    invoke("review", candle, "--accept", "PK")
    rest = f"No finding is left for you but for {elsewhere}"
    assert rest in invoke("review", candle, "--list").out
    # There is nothing to ask, so no terminal is missed.
    assert rest in invoke("review", candle).err
    assert elsewhere not in invoke("review", candle, "--list", "--kernels").out
    assert invoke("apply", candle).code == 0
    invoke("review", candle, "--accept", "PK")
    assert "Nothing is left outside the sources of kernels" in invoke("scan", candle).out


def test_kernels_that_were_accepted_are_counted(tmp_path: Path) -> None:
    candle = make_with_kernels(tmp_path / "candle")
    add_file(candle, "candle-kernels/src/trap.cu", b'__device__ void f() {\n    asm("trap;");\n}\n')
    commit(candle)
    invoke("review", candle, "--accept", "P", "--kernels")
    inside = (candle / accepted_findings.NAME).read_text().count("PH")
    assert inside
    said = invoke("review", candle, "--list").out
    assert f"left for you; of those in the sources of kernels {inside} were accepted" in said
    assert "but for those" not in said


def test_an_edit_that_was_accepted_is_not_to_be_written_anew(candle: Path) -> None:
    backend, copy = (f"candle-core/src/{each}_backend/mod.rs" for each in ("cuda", "rocm"))
    add_file(candle, backend, b"pub fn cuda_one() -> u8 {\n    1\n}\n")
    commit(candle)
    assert invoke("apply", candle).code == 0
    change(candle, "    1\n", "    11\n", copy)
    commit(candle)
    said = " ".join(invoke("scan", candle).out.split())
    assert "--regenerate`" in said
    assert f"a change that is to stay `portkit review {candle}` accepts" in said
    assert invoke("review", candle, "--accept", "PK101").code == 0
    assert "--regenerate`" not in " ".join(invoke("scan", candle).out.split())
    change(candle, "    11\n", "    12\n", copy)
    assert "--regenerate`" in " ".join(invoke("scan", candle).out.split())


def test_kept_places_are_skipped_with_the_reason(candle: Path) -> None:
    before = b"# ours\ngating = 'dummy' # said\n"
    add_file(candle, "portkit.toml", before)
    done = invoke(
        "review", candle, "--exclude", f"{TILES}:18", "--reason", 'no "such" thing', "--yes"
    )
    assert done.code == 0
    assert re.search(rf"portkit\.toml excludes PK405-[0-9a-f]{{8}} {TILES}:18\.", done.err)
    after = (candle / "portkit.toml").read_bytes()
    assert after.startswith(before)
    (skip,) = parse_settings(SourceFile("portkit.toml", after)).skips
    assert (skip.codes, skip.paths, skip.reason) == (("PK405",), (TILES,), 'no "such" thing')
    assert len(asked(candle)) == PLACES - 1


def test_places_alike_are_kept_together_and_named(candle: Path) -> None:
    """Two of a code in one function are alike; the third, in another function, is not."""
    alike = [line.split()[0] for line in asked(candle) if "  twice: " in line]
    done = invoke(
        "review", candle, "--exclude", f"{TILES}:12", "--reason", "ours are small", "--yes"
    )
    assert f"excludes {alike[0]} {TILES}:12. With it changed: {alike[1]} {TILES}:13." in done.err
    assert f"  {alike[1]} {TILES}:13  PK401 in the same item, twice\n" in done.err
    assert len(asked(candle)) == PLACES - 2
    (skip,) = parse_settings(
        SourceFile("portkit.toml", (candle / "portkit.toml").read_bytes())
    ).skips
    assert skip.symbols == ("twice",)


def test_an_exclusion_names_what_depends_on_it(candle: Path) -> None:
    """Without the variant its arms name nothing, so they are written by nobody."""
    (variant,) = [
        s for s in document(candle)["sites"] if s["code"] == "PK505" and "Device" in s["symbol"]
    ]
    desk = open_desk(candle, scan_tree(candle), None)
    place = next(
        PendingReview(locate_finding(f, None, identity), f)
        for identity, f in identify_findings(desk.scan.findings)
        if identity == variant["id"]
    )
    plan = desk.plan_exclusion([place], "not yet")
    assert any(other.site.code == "PK301" for other, _ in plan.others)
    assert all(why for _, why in plan.others)
    assert not (candle / "portkit.toml").exists()


def test_the_last_answer_is_taken_back(candle: Path) -> None:
    place = ported(candle, 4)
    commit(candle)
    before = (candle / TILES).read_bytes()
    invoke("review", candle, "--exclude", place, "--reason", "ours", "--yes")
    assert (candle / TILES).read_bytes() != before
    done = invoke("review", candle, "--undo")
    assert (done.code, (candle / TILES).read_bytes()) == (0, before)
    assert not (candle / "portkit.toml").exists()  # the answer had created it
    assert "there is no answer" in invoke("review", candle, "--undo").err
    invoke("review", candle, "--accept", "PK")
    assert asked(candle) == []
    assert invoke("review", candle, "--undo").code == 0
    assert len(asked(candle)) == PLACES
    assert not (candle / accepted_findings.NAME).exists()
    invoke("review", candle, "--accept", "PK")
    (candle / accepted_findings.NAME).write_text(
        f"{(candle / accepted_findings.NAME).read_text()}\n# mine\n"
    )
    done = invoke("review", candle, "--undo")
    assert (done.code, "changed since your last answer" in done.err) == (23, True)


def test_findings_are_named_by_path_and_number(candle: Path) -> None:
    places = asked(candle)
    done = invoke("review", candle, "--accept", "1", "--accept", "3")
    assert [f"accepted {places[n]}" in done.err for n in range(4)] == [True, False, True, False]
    assert invoke("review", candle, "--undo").code == 0
    within = [place for place in places if TILES in place]
    assert len(within) < len(places)
    rest = invoke("review", candle, "--later", TILES, "--list").out.splitlines()
    assert rest[:-1] == [place for place in places if place not in within]
    assert f"{len(within)} left for later" in rest[-1]
    invoke("review", candle, "--accept", "candle-core/src/tiles.rs")
    assert len(asked(candle)) == len(places) - len(within)


def test_what_was_accepted_is_not_kept_with_another(candle: Path) -> None:
    """A skip of the code in the item would take the answer back without a word."""
    invoke("review", candle, "--accept", f"{TILES}:13")
    before = asked(candle)
    (taken,) = re.findall(r"PK401-[0-9a-f]{8}", (candle / accepted_findings.NAME).read_text())
    done = invoke(
        "review", candle, "--exclude", f"{TILES}:12", "--reason", "ours are small", "--yes"
    )
    assert done.code == ConfigError.exit_code
    said = " ".join(done.err.split())
    assert f"would exclude {taken} {TILES}:13 too, which you accepted" in said
    assert f"write `// portkit: exclude PK401 REASON` above {TILES}:12" in said
    assert not (candle / "portkit.toml").exists()
    assert asked(candle) == before
    # What it says to do excludes that place alone.
    change(candle, "    let wide", "    // portkit: exclude PK401 ours are small\n    let wide")
    assert len(asked(candle)) == len(before) - 1
    assert taken in (candle / accepted_findings.NAME).read_text()
    (seen,) = [s for s in document(candle)["sites"] if s["id"] == taken]
    assert "looked_at" in seen


def test_what_is_mechanical_is_named_when_it_is_kept_with_another(candle: Path) -> None:
    """A decision settles one of two alike; the skip takes both."""
    decided = b'[[decision]]\nwhen = "64"\nverdict = "widen"\nreason = "waves of 64"\n'
    add_file(candle, "portkit.toml", decided)
    (other,) = [line.split()[0] for line in asked(candle) if "  twice: " in line]
    (settled,) = [
        s["id"] for s in document(candle)["sites"] if f"{s['path']}:{s['line']}" == f"{TILES}:12"
    ]
    done = invoke("review", candle, "--exclude", other, "--reason", "ours are small", "--yes")
    assert f"excludes {other} {TILES}:13. " in done.err
    assert f"  {settled} {TILES}:12  PK401 in the same item, twice\n" in done.err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"[[exclude]]\n"),
        (b"gating = 'cfg'", b"gating = 'cfg'\n\n[[exclude]]\n"),
        (b"gating = 'cfg'\r\n", b"gating = 'cfg'\r\n\r\n[[exclude]]\r\n"),
    ],
)
def test_a_skip_is_added_at_the_end(before: bytes, after: bytes) -> None:
    made = append_exclusion(before, "PK401", "a/[b]*.rs", 'f::"g"', "why")
    assert made.startswith(after)
    (skip,) = parse_settings(SourceFile("portkit.toml", made)).skips
    assert skip.applies("PK401", "a/[b]*.rs", 'f::"g"')
    assert not skip.applies("PK401", "a/b*.rs", 'f::"g"')
    assert not skip.applies("PK401", "a/[b]*.rs", "f")


def test_a_list_of_skips_is_not_written_into() -> None:
    before = b"exclude = [{ codes = ['PK1'], reason = 'r' }]\n"
    with pytest.raises(ConfigError, match=r"write there \{ codes"):
        append_exclusion(before, "PK401", "a.rs", "f", "why")
    with pytest.raises(ConfigError, match="gatin"):
        append_exclusion(b"gatin = 'cfg'\n", "PK401", "a.rs", "f", "why")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "needs a terminal"),
        (("--accept", "PK401-00000000"), "names no finding that is for you"),
        (("--accept", "PK3"), "names no finding that is for you"),
        (("--accept", f"{TILES}:1"), "names no finding that is for you"),
        (("--accept", "tile"), "names no finding that is for you"),
        (("--accept", "99"), "names no finding that is for you"),
        (("--keep", "PK"), "--keep is --exclude now"),
        (("--undo", "--list"), "--undo takes your last answer back"),
        (("--exclude", "PK4", "--reason", "x"), "add --yes"),
        (("--accept", "PK", "--exclude", "PK"), "one at a time"),
        (("--exclude", "PK"), "go together"),
        (("--accept", "PK", "--list"), "--list writes nothing"),
    ],
)
def test_wrong_usage_is_a_sentence(candle: Path, options: tuple[str, ...], said: str) -> None:
    done = invoke("review", candle, *options)
    assert done.code == 2
    assert said in " ".join(re.sub("[│\n]", " ", done.err).split())
    assert not (candle / accepted_findings.NAME).exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            '[looked_at]\nPK401 = { at = "a", content = ["0123456789abcdef"] }\n',
            "'PK401' is no place",
        ),
        ('[looked_at]\nPK401-00000000 = { at = "a" }\n', f"{accepted_findings.NAME}:2: "),
        ("[looked]\n", f"{accepted_findings.NAME}:1: "),
        ("[", f"{accepted_findings.NAME} is not valid TOML"),
    ],
)
def test_a_malformed_file_is_an_error(candle: Path, content: str, said: str) -> None:
    add_file(candle, accepted_findings.NAME, content.encode())
    done = invoke("scan", candle)
    assert done.code == ConfigError.exit_code
    assert said in done.err


def test_a_window_has_the_list_by_reasons(candle: Path) -> None:
    """A pipe has a line for each place; a line of 260 columns is none for a window."""
    assert all(place in said_in_a_window(candle) for place in identities(candle))
    lines = said_in_a_window(candle).splitlines()
    assert max(map(len, lines)) <= 60
    assert sum("PK401 the port widens" in line for line in lines) == 1


def said_in_a_window(candle: Path) -> str:
    main, terminal = pty.openpty()
    env = environment() | {"TERM": "dumb", "COLUMNS": "60"}
    command = [*PROGRAM, "review", str(candle), "--list"]
    subprocess.run(command, env=env, stdout=terminal, check=True)
    os.close(terminal)
    said = b""
    while True:
        try:
            part = os.read(main, 1 << 16)
        except OSError:  # all of it is read
            break
        said += part
        if not part:
            break
    os.close(main)
    return said.decode().replace("\r\n", "\n")


def test_names_that_toml_must_escape_are_read_again() -> None:
    entry = accepted_findings.Acceptance('a\\"b\n\x7f\udcff.rs tïle', ("0" * 16,))
    data = accepted_findings.format_acceptances({"PK401-00000000": entry}).encode()
    (found,) = accepted_findings.parse_acceptances(
        SourceFile(accepted_findings.NAME, data)
    ).values()
    assert found.at == 'a\\"b\n\x7f\\udcff.rs tïle'


@pytest.mark.parametrize(
    ("condition", "code", "sentence"),
    [
        ("device.is_cuda()", "PK401", "takes the branch in lines 4 to 6"),
        ("!device.is_cuda()", "PK401", "takes the else in lines 6 to 8"),
        ("device.is_cuda() && n > 8", "PK401", "If `n > 8`, ROCm takes the branch in lines"),
        ("device.is_cuda() && (n > 8 || n < 2)", "PK401", "If `n > 8 || n < 2`, ROCm takes the"),
        ("device.is_cuda() && n > 8 && n < 9", "PK401", "More than the device decides"),
        ("device.is_cuda() || n > 8", "PK401", "takes the branch in lines 4 to 6"),
        ("device.is_metal() && n > 8", "PK405", "takes the else in lines 6 to 8"),
        ("!(device.is_metal())", "PK405", "takes the branch in lines 4 to 6"),
    ],
)
def test_the_branch_that_rocm_takes(candle: Path, condition: str, code: str, sentence: str) -> None:
    change(candle, "if device.is_cuda() {\n", f"if {condition} {{\n")
    scan = scan_tree(candle)
    (found,) = [
        f for f in scan.findings if f.path == TILES and f.symbol == "tile" and f.code == code
    ]
    assert found.applicability is Applicability.REVIEW
    taken = find_taken_branch(scan.job, found, scan.job.workspace.sources[TILES])
    assert taken is not None
    assert sentence in taken.sentence


def talk(candle: Path, answers: str) -> tuple[int, str]:
    """Run portkit at a pseudo-terminal with these answers."""
    process, terminal = pty.fork()
    if process == 0:
        env = environment() | {"TERM": "dumb", "COLUMNS": "100"}
        os.execvpe(PROGRAM[0], [*PROGRAM, "review", str(candle)], env)
    os.write(terminal, answers.encode())
    said = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # the other side is gone
            break
        if not part:
            break
        said += part
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), said.decode().replace("\r\n", "\n")


def test_a_person_is_asked_place_by_place(candle: Path) -> None:
    code, said = talk(candle, "?\na\nl\ne\n\ne\nours are small\nq\n")
    assert code == 0
    assert said.count("[a]ccept  [e]xclude  [l]ater  [q]uit") == 6
    assert f"{ANSWERS['e']}" in said
    assert "(1/5)" in said
    assert "+" in said
    assert "takes the branch in lines" in said
    assert "excludes one finding" in said
    assert "2 findings for you." in said
    assert len(asked(candle)) == 2
    assert (candle / accepted_findings.NAME).read_text().count("PK401-") == 1


def test_what_was_answered_stays_when_the_input_ends(candle: Path) -> None:
    code, said = talk(candle, "a\n\x04")
    assert code == 0
    assert len(asked(candle)) == PLACES - 1
    assert "4 findings for you." in said
