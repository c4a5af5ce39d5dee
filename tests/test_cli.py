from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest
from apply_support import CountingDisk, KillingDisk, git, in_child, picture
from cli_support import (
    EDITED,
    LIB,
    MATMUL,
    PROGRAM,
    Done,
    add_file,
    commit,
    environment,
    invoke,
    make_candle,
)
from msgspec.structs import replace
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from portkit import __version__
from portkit.cli import COMMANDS, find_command, load_program
from portkit.codebases.registry import find_codebase as codebase
from portkit.engine.rule_pages import list_all_pages, list_pages
from portkit.engine.session import scan_tree
from portkit.fetch import FetchedWorkspace
from portkit.profiles.settings import NAME
from portkit.report.model import make_report
from portkit.transaction.transaction import Change, Recovery, recover_run, write_plan
from portkit.verify import STEPS
from portkit.workspace import cargo_workspace

if TYPE_CHECKING:
    from portkit.workspace.cargo_workspace import Workspace


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


def document(*arguments: object) -> dict[str, object]:
    done = invoke("scan", "--format", "json", *arguments)
    assert done.code == 0, done.err
    found: dict[str, object] = json.loads(done.out)
    return found


def codes(*arguments: object) -> Counter[str]:
    sites = document(*arguments)["sites"]
    assert isinstance(sites, list)
    return Counter(site["code"] for site in sites)


def apply(candle: Path, *options: str) -> Done:
    """Apply without what takes long: rustfmt and the crates that the port adds."""
    return invoke("apply", candle, "--no-format", "--skip", "PK103,PK203", *options)


def line_of(file: Path, text: str) -> int:
    return 1 + next(i for i, line in enumerate(file.read_text().splitlines()) if text in line)


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


# --- scan --------------------------------------------------------------------------------------


def test_scan_finds_each_place_once(candle: Path) -> None:
    found = codes(candle)
    assert {code: found[code] for code in found if code != "PK103"} == dict.fromkeys(EDITED, 1)


def test_scan_writes_nothing(candle: Path) -> None:
    before = picture(candle)
    invoke("scan", candle)
    assert picture(candle) == before


def test_scan_looks_at_the_current_folder(candle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(candle)
    assert document()["root"] == "."
    done = invoke("scan", "--skip", "PK103")
    assert (
        f"`portkit apply` with the same choice writes {len(EDITED)} places ("
        in done.out.replace("\n", " ")
    )


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--select", "PK301"], {"PK301"}),
        (["--select", "PK5,pk301"], {"PK301", "PK503", "PK505"}),
        (["--select", "PK5", "--select", "PK2"], {"PK503", "PK505", "PK201", "PK203"}),
        (["--select", "PK5", "--skip", "PK505"], {"PK503"}),
        (["--skip", "PK1,PK2,PK4,PK5"], {"PK301"}),
    ],
)
def test_codes_are_chosen_by_prefixes(candle: Path, options: list[str], wanted: set[str]) -> None:
    assert set(codes(candle, *options)) == wanted


def test_what_a_skipped_rule_accounts_for_stays_accounted_for(candle: Path) -> None:
    assert document(candle, "--skip", "PK3,PK4,PK5")["unaccounted"] == []


def test_a_report_goes_to_a_file(candle: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = invoke("scan", candle, "--format", "json", "--output", file)
    assert (done.code, done.out) == (0, "")
    assert json.loads(file.read_bytes())["schema"] == 1


def test_check_fails_while_a_place_is_to_do(candle: Path) -> None:
    assert invoke("scan", candle).code == 0
    assert invoke("scan", candle, "--check").code == 1
    apply(candle)
    assert invoke("scan", candle, "--check", "--skip", "PK103,PK203").code == 0


def test_check_is_about_the_chosen_codes(candle: Path) -> None:
    apply(candle, "--skip", "PK301")
    assert invoke("scan", candle, "--check", "--select", "PK3,PK5").code == 1
    assert invoke("scan", candle, "--check", "--select", "PK5").code == 0


def test_strict_fails_on_what_is_left_to_a_person(candle: Path) -> None:
    apply(candle)
    add_file(candle, "candle-core/src/broken.rs", b"fn cuda( {\n")
    assert invoke("scan", candle, "--check", "--select", "PK9").code == 0
    assert invoke("scan", candle, "--check", "--select", "PK9", "--strict").code == 1


# --- apply -------------------------------------------------------------------------------------


def test_apply_writes_the_port(candle: Path) -> None:
    done = invoke("apply", candle)
    assert done.code == 0
    lib = (candle / LIB).read_text()
    assert "    Cuda(usize),\n    Rocm(usize),\n" in lib
    assert '            Self::Rocm(_) => "rocm",\n' in lib
    assert "pub fn is_rocm(&self) -> bool {\n        matches!(self, Self::Rocm(_))" in lib
    assert "device.is_cuda() || device.is_rocm()" in (candle / MATMUL).read_text()
    assert "rocm = []" in (candle / "candle-core/Cargo.toml").read_text()


def test_apply_names_what_a_person_should_read_where_it_stands_now(candle: Path) -> None:
    text = (candle / MATMUL).read_text()
    # The port copies the function, which pushes the condition below it down.
    function = '#[cfg(feature = "cuda")]\npub fn cuda_piece() {}\n'
    (candle / MATMUL).write_text(
        text.replace("use crate::Device;\n", f"{function}use crate::Device;\n")
    )
    before = line_of(candle / MATMUL, "device.is_cuda()")
    done = apply(candle, "--allow-dirty")
    after = line_of(candle / MATMUL, "device.is_cuda()")
    assert after > before
    assert f"{MATMUL}:{after}  " in done.out


def test_the_marks_of_a_place_are_explained(candle: Path) -> None:
    code = b"pub fn f(d: &crate::Device) -> bool {\n    !d.is_metal()\n}\n"
    add_file(candle, "candle-core/src/own.rs", code)
    said = invoke("explain", "candle-core/src/own.rs:2", "--tree", candle).out
    marks = said.index("= marks the place, at which nothing is written\n")
    assert marks < said.index("\n=    !d.is_metal()")
    # Where all that stands there is changed, there is no such mark.
    line = line_of(candle / MATMUL, "device.is_cuda()")
    assert "= marks" not in invoke("explain", f"{MATMUL}:{line}", "--tree", candle).out


@pytest.mark.parametrize("command", [("scan", "--select"), ("explain", "--tree")])
def test_a_misspelt_code_has_a_nearest(candle: Path, command: tuple[str, str]) -> None:
    word = "PK40l"
    options = [command[1], word] if command[0] == "scan" else [word, command[1], candle]
    done = invoke(command[0], *([candle] if command[0] == "scan" else []), *options)
    assert done.code == 2
    said = " ".join(re.sub("[│\n]", " ", done.err).split())
    assert re.search(r"; the nearest is 'PK4[01]\d'", said)


def test_what_is_chosen_is_not_taken_for_all(candle: Path) -> None:
    for command, said in (
        ("scan", "No place here has one of the chosen codes."),
        ("apply", "Nothing to write at the chosen places of candle 0.11.1."),
    ):
        done = invoke(command, candle, "--select", "PK9")
        assert done.out.endswith(f"{said}\n"), command
        assert "verify" not in done.out


def test_apply_says_how_to_see_the_port_and_how_to_be_rid_of_it(candle: Path) -> None:
    before = git(candle, "rev-parse", "HEAD^{tree}")
    said = " ".join(apply(candle).out.split())
    assert f"`portkit verify {candle}` proves it" in said
    assert f"`git -C {candle} diff --cached` show it" in said
    (take_away,) = re.findall(r"`(git [^`]* stash [^`]*)` takes it away again", said)
    git(candle, "add", "--all")
    assert "rocm" in git(candle, "diff", "--cached")
    subprocess.run(take_away.split(), check=True, capture_output=True)
    assert git(candle, "status", "--porcelain") == ""
    assert git(candle, "write-tree") == before


@pytest.mark.parametrize(
    ("prepare", "options", "shown"),
    [
        ("no repository", ["--allow-no-vcs"], ""),
        ("ignored", ["--allow-no-vcs"], ""),
        ("no commit", ["--allow-staged"], "status"),
        ("staged", ["--allow-staged"], "status"),
        ("changed", ["--allow-dirty"], "status"),
        ("new", ["--allow-dirty"], "status"),
        ("a word to portkit", [], "status"),
    ],
)
def test_git_is_named_for_what_it_can_do(
    tmp_path: Path, prepare: str, options: list[str], shown: str
) -> None:
    """Nothing is called the way back that would take along what the user has changed."""
    outer = tmp_path / "outer"
    candle = make_candle(outer / "candle", repository=prepare in ("staged", "changed", "new"))
    if prepare == "ignored":
        git(outer, "init", "--quiet")
        add_file(outer, ".gitignore", b"/candle/\n")
    elif prepare == "no commit":
        git(candle, "init", "--quiet")
        git(candle, "add", "--all")
    elif prepare == "a word to portkit":
        commit(candle)
        add_file(candle, NAME, b'gating = "dummy"\n')
    elif prepare != "no repository":
        add_file(candle, "notes.md" if prepare == "new" else "README.md", b"mine\n")
    if prepare == "staged":
        git(candle, "add", "--all")
    if prepare == "changed":
        (candle / LIB).write_text((candle / LIB).read_text() + "// mine\n")
    done = apply(candle, *options)
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    assert f"`portkit verify {candle}` proves it" in said
    assert "stash" not in said
    commands = re.findall(r"`(git [^`]*)`", said)
    assert [command.split()[-1] for command in commands] == ([shown] if shown else [])
    for command in commands:
        assert "src/lib.rs" in subprocess.check_output(command.split(), text=True)


def test_what_comes_next_looks_at_the_tree_in_the_same_way(candle: Path, tmp_path: Path) -> None:
    """A port is not what it claims to be where it is looked at in another way."""
    profile = shutil.copytree(codebase("candle").root, tmp_path / "own")
    looking = f"--gating cfg --profile {profile}"
    scanned = " ".join(invoke("scan", candle, *looking.split()).out.split())
    first = f"portkit apply {candle} {looking}"
    assert f"Next: `{first}` writes" in scanned
    assert f"`portkit scan {candle} {looking} --format html" in scanned
    ported = " ".join(invoke(*first.split()[1:]).out.split())
    then = f"portkit verify {candle} {looking}"
    assert f"`{then}` proves it" in ported
    assert f"Next: `{then}`" in " ".join(invoke("scan", candle, *looking.split()).out.split())
    assert invoke(*then.split()[1:], "--only", "coverage,parity").code == 0


def test_a_dash_is_standard_output(candle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(candle.parent)
    for form in ("table", "json"):
        done = invoke("scan", "candle", "--format", form, "--output", "-")
        assert (done.code, done.err) == (0, "")
        assert done.out == invoke("scan", "candle", "--format", form).out
    assert not (candle.parent / "-").exists()


def test_codes_that_begin_so_are_named(candle: Path) -> None:
    done = invoke("explain", "pk30", "--tree", candle)
    said = " ".join(re.sub("[│\n]", " ", done.err).split())
    assert done.code == 2
    named = re.search(r"; ((?:PK30\d(?:, )?)+) begin so", said)
    assert named is not None
    assert named[1].split(", ") == sorted(p.code for p in list_pages() if p.code.startswith("PK30"))


def test_a_report_in_a_file_is_named(candle: Path, tmp_path: Path) -> None:
    place = tmp_path / "report.md"
    done = invoke("scan", candle, "--format", "markdown", "--output", place)
    assert (done.out, done.err) == ("", f"The report is {place}.\n")


def test_a_second_apply_writes_nothing(candle: Path) -> None:
    assert invoke("apply", candle).code == 0
    before = picture(candle)
    done = invoke("apply", candle)
    assert (done.code, picture(candle)) == (0, before)
    assert done.out == "Nothing to write: candle 0.11.1 is ported to ROCm.\n"
    assert invoke("apply", candle, "--check").code == 0
    assert invoke("apply", candle, "--diff").out == ""


def test_apply_writes_the_chosen_codes_alone(candle: Path) -> None:
    invoke("apply", candle, "--select", "PK505")
    assert git(candle, "status", "--porcelain") == f" M {LIB}\n"
    written = re.findall(r"\n\+ +(.*)", git(candle, "diff", "--unified=0", "--no-color"))
    left = "portkit was asked to write other places alone"
    # What a match without a wildcard needs then comes with it.
    assert written == ["Rocm(usize),", f'Self::Rocm(_) => panic!("left out: {left}"),']


def test_the_gating_is_chosen(candle: Path) -> None:
    apply(candle, "--gating", "cfg")
    assert '    #[cfg(feature = "rocm")]\n    Rocm(usize),\n' in (candle / LIB).read_text()


@pytest.mark.parametrize("option", ["--diff", "--check"])
def test_diff_and_check_write_nothing(candle: Path, option: str) -> None:
    add_file(candle, "notes.txt", b"this tree is dirty\n")
    before = picture(candle)
    done = apply(candle, option, "--allow-dirty")
    assert (done.code, picture(candle)) == (int(option == "--check"), before)


def test_the_diff_is_a_patch_that_git_takes(tmp_path: Path) -> None:
    patched, ported = (make_candle(tmp_path / name) for name in ("patched", "ported"))
    for tree in (patched, ported):
        # Carriage returns, and no newline at the end.
        matmul = tree / MATMUL
        matmul.write_bytes(matmul.read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n"))
        commit(tree)
    patch = subprocess.run(
        [*PROGRAM, "apply", "--diff", "--no-format"],
        cwd=patched,
        env=environment(),
        capture_output=True,
        check=True,
    ).stdout
    assert b"\\ No newline at end of file" in patch
    subprocess.run(["git", "apply", "-"], cwd=patched, input=patch, check=True)
    assert invoke("apply", ported, "--no-format").code == 0
    assert picture(patched) == picture(ported)


def test_without_formatting_rustfmt_is_not_run(
    candle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    done = invoke("apply", candle, "--check")
    assert (done.code, "rustfmt is missing" in done.err) == (19, True)
    assert invoke("apply", candle, "--check", "--no-format").code == 1


@pytest.mark.parametrize(
    ("prepare", "refused", "allowed"),
    [
        ("dirty", "--allow-staged", "--allow-dirty"),
        ("staged", "--allow-no-vcs", "--allow-staged"),
        ("no vcs", "--allow-dirty", "--allow-no-vcs"),
    ],
)
def test_a_tree_that_git_cannot_bring_back_is_refused(
    tmp_path: Path, prepare: str, refused: str, allowed: str
) -> None:
    candle = make_candle(tmp_path / "candle", repository=prepare != "no vcs")
    if prepare != "no vcs":
        add_file(candle, "notes.txt", b"new\n")
    if prepare == "staged":
        git(candle, "add", "notes.txt")
    before = picture(candle)
    for options in ([], [refused]):
        done = apply(candle, *options)
        assert (done.code, picture(candle)) == (13, before)
        assert allowed in done.err
    # What a look says to do next is not refused.
    said = apply(candle, "--check", allowed).out
    following = re.search(r"Next: `portkit ([^`]+)`", " ".join(said.split()))
    assert following is not None
    assert allowed in following[1]
    assert invoke(*following[1].split()).code == 0


def test_an_apply_with_nothing_to_write_takes_a_dirty_tree(candle: Path) -> None:
    apply(candle)
    assert git(candle, "status", "--porcelain") != ""
    assert apply(candle).code == 0


def test_a_killed_run_is_ended_before_the_tree_is_read(
    candle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    def recover(root: Path) -> Recovery:
        events.append("recover")
        return Recovery(True, ("a.rs",))

    def load(root: Path) -> Workspace:
        events.append("load")
        return cargo_workspace.load_workspace(root)

    monkeypatch.setattr("portkit.transaction.transaction.recover_run", recover)
    monkeypatch.setattr("portkit.engine.session.load_workspace", load)
    done = apply(candle)
    assert (done.code, events) == (0, ["recover", "load"])
    assert done.err == "a run of portkit had been killed and was finished now: it wrote 1 file\n"


# --- fetch, explain, rules, the program itself -------------------------------------------------


def test_scan_says_that_a_tree_may_be_written_in_part(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle")
    changes = [
        Change(path, data, data + b"\n")
        for path in (LIB, MATMUL)
        for data in [(root / path).read_bytes()]
    ]
    counting = CountingDisk()
    write_plan(make_candle(tmp_path / "other"), changes, disk=counting)
    exchanges = [at for at, (name, _) in enumerate(counting.log) if name == "exchange"]
    assert "in part" not in invoke("scan", root).err
    # The first one writes a file, the second one the other.
    in_child(partial(write_plan, root, changes, disk=KillingDisk(exchanges[1])))
    assert f"{root} may be written in part" in invoke("scan", root).err
    assert recover_run(root) is not None
    assert "in part" not in invoke("scan", root).err


def test_fetch_says_what_it_has_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Path, bool]] = []

    def fetch(spec: str, destination: Path, *, offline: bool = False) -> FetchedWorkspace:
        asked.append((spec, destination, offline))
        return FetchedWorkspace(
            "candle",
            "0.11.1",
            destination,
            "c0ffee",
            ("candle-core", "candle-nn"),
            ("candle-ug",),
            (),
        )

    monkeypatch.setattr("portkit.fetch.fetch", fetch)
    done = invoke("fetch", "candle@0.11.1", tmp_path / "new", "--offline")
    assert asked == [("candle@0.11.1", tmp_path / "new", True)]
    assert done.code == 0
    for part in ("candle 0.11.1: 2 crates", "Not published in this version: candle-ug"):
        assert part in done.out


def test_every_code_of_a_report_has_a_page(candle: Path) -> None:
    add_file(candle, "candle-core/src/broken.rs", b"fn cuda( {\n")
    add_file(candle, "candle-core/src/latin.rs", b"// cuda \xe9\n")
    found = set(codes(candle))
    assert {"PK901", "PK902", "PK103", "PK301"} <= found <= {page.code for page in list_pages()}


def test_each_page_says_something() -> None:
    listed = list_pages()
    assert [page.code for page in listed] == sorted({page.code for page in listed})
    for page in listed:
        assert page.title.endswith("."), page.code
        assert page.text, page.code
        assert page.text != page.title


def test_a_pipe_gets_whole_lines_of_rules() -> None:
    lines = invoke("rules").out.splitlines()
    titles = {page.code: page.title.replace("``", "`") for page in list_all_pages()}
    assert {line.split()[0] for line in lines} == set(titles)
    assert all(line.endswith(titles[line.split()[0]]) for line in lines)


def test_explain_takes_the_identity_of_a_place(candle: Path) -> None:
    page = invoke("explain", "PK301").out
    elsewhere = invoke("explain", "PK301-1f0c9a2b", "--tree", candle.parent)
    assert elsewhere.out == page
    assert "--tree DIR" in elsewhere.err
    sites = json.loads(invoke("scan", candle, "--format", "json").out)["sites"]
    (arm,) = (site for site in sites if site["code"] == "PK301")
    done = invoke("explain", arm["id"], "--tree", candle)
    assert done.code == 0, done.err
    place, rule = done.out.split("\n\nPK301 ", 1)
    assert f"PK301 {rule}" == page
    assert place.startswith(f"{LIB}:{arm['line']}  {arm['symbol']}\n{arm['id']}  mechanical: ")
    assert arm["message"] in " ".join(place.split())
    assert '\n+            Self::Rocm(_) => "rocm",\n' in place
    lost = invoke("explain", "PK301-00000000", "--tree", candle)
    assert lost.code == 2
    assert "has no place PK301-00000000" in " ".join(lost.err.split())


@pytest.mark.parametrize("added", [False, True])
def test_a_port_is_taken_back_as_apply_says(candle: Path, added: bool) -> None:
    before = picture(candle)
    done = invoke("apply", candle, "--no-format")
    said = " ".join(done.out.split())
    (command,) = re.findall(rf"`git -C {candle} (stash [^`]*)` takes it away", said)
    if added:
        git(candle, "add", "--all")
    git(candle, *command.split())
    assert picture(candle) == before


@pytest.mark.parametrize(
    "options",
    [
        ("--link", "https://x.org/{path}#L{line}"),
        ("--format", "html", "--link", "https://x.org/"),
        ("--format", "html", "--link", "javascript:alert('{path}')"),
    ],
)
def test_a_link_that_is_none_is_refused(candle: Path, options: tuple[str, ...]) -> None:
    done = invoke("scan", candle, *options)
    assert (done.code, done.out) == (2, "")
    assert "an address with {path} in it" in " ".join(done.err.split())


def test_explain_takes_a_file_and_a_line(candle: Path) -> None:
    sites = json.loads(invoke("scan", candle, "--format", "json").out)["sites"]
    (check,) = (site for site in sites if site["path"] == MATMUL)
    for where in (f"{MATMUL}:{check['line']}", f"{candle / MATMUL}:{check['line']}:7"):
        done = invoke("explain", where, "--tree", candle)
        assert done.out == invoke("explain", check["id"], "--tree", candle).out != ""
    beside = invoke("explain", f"{MATMUL}:{check['end_line'] + 1}", "--tree", candle)
    assert beside.code == 2
    assert f"nearest begin in lines {check['line']}" in " ".join(beside.err.split())
    assert "there is no such file" in invoke("explain", "nothing.rs:1", "--tree", candle).err
    add_file(candle, "candle-core/src/plain.rs", b"pub fn plain() {}\n")
    plain = invoke("explain", "candle-core/src/plain.rs:1", "--tree", candle).err
    assert "the file has none" in plain
    copied = "candle-core/src/cuda_backend/mod.rs"
    made = copied.replace("cuda", "rocm")
    add_file(candle, copied, b"pub struct CudaDevice;\n")
    lib = (candle / LIB).read_text().replace("pub mod", "pub mod cuda_backend;\npub mod", 1)
    add_file(candle, LIB, lib.encode())
    told = " ".join(invoke("explain", f"{made}:1", "--tree", candle).err.split())
    assert f"makes this file from {copied}, where its places are" in told


def test_explain_looks_for_the_workspace_above_the_file(
    candle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = json.loads(invoke("scan", candle, "--format", "json").out)["sites"]
    (check,) = (site for site in sites if site["path"] == MATMUL)
    told = invoke("explain", f"{MATMUL}:{check['line']}", "--tree", candle).out
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    file = candle / MATMUL
    places = {
        elsewhere: f"{file}:{check['line']}",
        file.parent: f"{file.name}:{check['line']}",
        candle / "candle-core/src": check["id"],
    }
    for folder, place in places.items():
        monkeypatch.chdir(folder)
        assert invoke("explain", place).out == told != ""
    monkeypatch.chdir(elsewhere)
    assert "is no workspace" in invoke("explain", check["id"]).err


def test_what_is_said_to_portkit_may_be_uncommitted(candle: Path) -> None:
    (candle / "portkit.toml").write_text('gating = "cfg"\n')
    done = invoke("apply", candle, "--no-format")
    assert done.code == 0
    assert '    #[cfg(feature = "rocm")]\n    Rocm(usize),\n' in (candle / LIB).read_text()


def test_explain_prints_the_page_of_a_rule() -> None:
    from portkit.rules.match_arms import MATCH_ARM

    done = invoke("explain", "pk301")
    first, *rest = done.out.splitlines()
    assert (done.code, first) == (0, "PK301 match_arm")
    assert MATCH_ARM.doc.startswith("An arm of a ``match``")
    assert "\n".join(rest).strip() == MATCH_ARM.doc.strip().replace("``", "`")


def test_rules_lists_every_code() -> None:
    done = invoke("rules")
    assert [line.split()[0] for line in done.out.splitlines()] == [
        page.code for page in list_all_pages()
    ]


def test_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in (("cargo", "cargo 1.2.3 (abc 2026)"), ("git", ""), ("rustc", "none")):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{said}'\n")
        program.chmod(0o755)
    other = tmp_path / "rocm/bin/hipcc"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\necho 'HIP version: 7.0.2-9999' >&2; exit 3\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.delenv("HIPCC", raising=False)
    first, *rest = invoke("--version").out.splitlines()
    assert first == f"portkit {__version__}", "no commit, since that git says nothing"
    assert rest[0] == f"cargo 1.2.3 ({tmp_path / 'bin' / 'cargo'})"
    assert f"git of an unknown version ({tmp_path / 'bin' / 'git'})" in rest
    assert f"hipcc 7.0.2-9999 ({other})" in rest
    assert "hipify-clang not found" in rest


@pytest.mark.parametrize(
    ("line", "word", "completed"),
    [
        ("portkit sc", 1, {"scan"}),
        ("portkit scan --form", 2, {"--format"}),
        ("portkit scan --format h", 3, {"html"}),
        ("portkit scan --select PK30", 3, {"PK301", "PK302", "PK303", "PK304", "PK306"}),
        ("portkit scan --skip PK2,PK301", 3, {"PK2,PK301"}),
        ("portkit explain PH20", 2, {f"PH20{n}" for n in range(1, 10)}),
        ("portkit verify --only parity,na", 3, {"parity,names"}),
        ("portkit verify --until co", 3, {"coverage"}),
        ("portkit scan --profile can", 3, {"candle", "candle-extensions"}),
        ("portkit hipify --profile can", 3, {"candle", "candle-extensions"}),
        ("portkit fetch can", 2, {"candle"}),
        ("portkit fetch candle@la", 2, {"candle@latest"}),
        ("portkit fetch no-such@", 2, set()),
    ],
)
def test_a_shell_completes(line: str, word: int, completed: set[str]) -> None:
    asked = {"_PORTKIT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(word)}
    done = CliRunner().invoke(load_program(), [], prog_name="portkit", env=asked)
    assert set(done.stdout.split()) == completed


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["scan", "--no-such-option"],
        ["scan", "--format", "xml"],
        ["scan", "--select", "PK7,XY"],
        ["apply", "--skip", "PK999"],
        ["apply", "--gating", "none"],
        ["explain", "PK000"],
        ["verify", "--until", "heaven"],
        ["verify", "--only", "format", "--only", "heaven"],
        ["fetch"],
    ],
)
def test_wrong_usage_has_its_own_exit_code(candle: Path, arguments: list[str]) -> None:
    done = invoke(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")


def test_help_of_each_command_fits_the_screen() -> None:
    assert max(map(len, invoke("--help").out.splitlines())) <= 80
    for command in map(find_command, COMMANDS):
        done = invoke(command.name, "--help")
        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize(
    "example", [line for each in COMMANDS for line in find_command(each).examples]
)
def test_the_examples_of_the_help_are_right(example: str) -> None:
    word, name, *arguments = shlex.split(re.split(r" [|>] ", example)[0])
    assert word == "portkit"
    group = get_command(load_program())
    assert isinstance(group, TyperGroup)
    group.commands[name].make_context(name, arguments)  # what is wrong raises an error
    assert f"    {example}\n" in invoke(name, "--help").out


def test_every_command_has_examples_and_says_what_it_does() -> None:
    listed = " ".join(invoke("--help").out.split())
    for command in map(find_command, COMMANDS):
        assert command.examples, command.name
        sentence, _, _ = " ".join((command.run.__doc__ or "").split()).partition(". ")
        assert f" {command.name} {sentence.removesuffix('.')}" in listed


def test_a_defect_is_one_sentence(candle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scan(*_: object, **__: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("portkit.engine.session.scan_workspace", scan)
    done = invoke("scan", candle)
    assert (done.code, done.out, done.err.count("\n")) == (70, "", 1)
    assert "defect of portkit, please report it (RuntimeError: two lines)" in done.err
    assert "PORTKIT_TRACEBACK=1" in done.err
    monkeypatch.setenv("PORTKIT_TRACEBACK", "1")
    assert "Traceback (most recent call last)" in invoke("scan", candle).err


def test_an_interruption_is_no_defect(candle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scan(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("portkit.engine.session.scan_workspace", scan)
    done = invoke("scan", candle)
    assert (done.code, done.err) == (130, "error: interrupted\n")


def test_an_interruption_while_it_starts_is_one_line() -> None:
    """Reading the commands takes a tenth of a second, in which Ctrl-C may come."""
    program = (
        "import portkit.cli, portkit.__main__\n"
        "def program(*_):\n    raise KeyboardInterrupt\n"
        "portkit.cli.load_program = program\n"
        "portkit.__main__.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_a_reader_that_goes_away_is_no_error(candle: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "scan"],
        cwd=candle,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait()) == (b"", 141)
    process.stderr.close()


@pytest.mark.skipif(os.name != "posix", reason="the shell's way to close a stream")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [("scan", 0), ("scan nowhere", 10), ("--help", 0), ("--version", 0), ("none", 2)],
)
def test_a_stream_that_is_closed_is_empty(
    candle: Path, arguments: str, code: int, closed: str
) -> None:
    done = subprocess.run(
        f"{shlex.join(PROGRAM)} {arguments} {closed}",
        shell=True,
        cwd=candle,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stdout) is (code == 0 and ">&-" not in closed.split())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("arguments", ["--help", "scan --help", "--version", "scan", "rules"])
def test_help_may_be_cut_short_as_a_report_may(candle: Path, arguments: str) -> None:
    def run(stdout: IO[bytes]) -> tuple[int, str]:
        done = subprocess.run(
            [*PROGRAM, *arguments.split()],
            cwd=candle,
            env=environment(),
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    with open("/dev/full", "wb") as full:  # noqa: PTH123
        code, said = run(full)
    assert (code, said.count("\n"), said.startswith("error: ")) == (21, 1, True)
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        assert run(gone) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")  # noqa: PTH110
def test_a_full_disk_is_one_sentence(candle: Path) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [*PROGRAM, "scan"],
            cwd=candle,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (21, 1)
    assert invoke("scan", candle, "--output", "/dev/full").code == 21


def test_the_command_runs_as_a_module(candle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(candle)
    done = run("scan", folder=candle)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == invoke("scan").out


def test_a_scan_imports_nothing_that_is_slow_to_import(candle: Path) -> None:
    # rich and pydantic cost more than the whole scan of a small tree; asyncio and email come with
    # careless imports. `sys.modules` is asked at the end of a whole run.
    program = (
        "import atexit, sys; from portkit.cli import load_program;"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr));"
        "load_program(sys.argv[1])()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "scan"],
        cwd=candle,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(done.stderr.split())
    assert "portkit.rules.match_arms" in imported
    slow = {"rich", "asyncio", "email", "http.client", "xml", "unittest", "portkit.fetch"}
    assert imported & slow == set()
    assert imported & {"portkit.cli.port", "portkit.cli.verify"} == {"portkit.cli.port"}


def test_the_help_of_verify_names_every_step() -> None:
    said = " ".join(invoke("verify", "--help").out.split())
    for step in STEPS:
        assert f"{step.name} {step.shows}" in said


def test_a_command_to_copy_names_the_tree_as_a_shell_takes_it(
    candle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = candle.rename(tmp_path / "a tree; of `mine`")
    monkeypatch.chdir(tmp_path)
    for done in (invoke("scan", tree.name), invoke("apply", tree.name, "--no-format")):
        shown = re.findall(r"portkit \w+ ('a tree; of `mine`')", done.out)
        assert {tree.name} == {word for words in map(shlex.split, shown) for word in words}, (
            done.err
        )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("scan", "--bogus"), "error: No such option: --bogus (`"),
        (("review", "--accept", "PK", "--exclude", "PK"), "error: --accept and --exclude are two"),
        (("scan", "a", "b"), "error: Got unexpected extra argument"),
    ],
)
def test_an_error_of_usage_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    done = invoke(*arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(said)


def test_the_folder_is_named_for_a_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_candle(tmp_path / "tarn")
    monkeypatch.chdir(root)
    found = make_report(scan_tree(Path()), ".")
    assert replace(found, codebase="", crates=found.crates * 2).title.startswith("tarn ")
