"""Repairs of upstream's defects in the source vendor's own code, as commits."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import git, picture
from cli_support import commit, invoke
from series_support import IDENTITY, author

from portkit.codebases.registry import find_codebase
from portkit.engine.session import scan_tree
from portkit.repairs.commit_message import format_message
from portkit.repairs.defect_repairs import Repair, RepairState, build_repairs, merge_changes

if TYPE_CHECKING:
    from collections.abc import Callable

WEIR = Path(__file__).parent / "fixtures" / "codebases" / "weir"
DUE = ["levels-behind", "last-sluice", "stream-order", "shut-sluices"]
CUDA = "weir-core/src/cuda.rs"


@pytest.fixture(autouse=True)
def _author(monkeypatch: pytest.MonkeyPatch) -> None:
    author(monkeypatch)


@pytest.fixture
def weir(tmp_path: Path) -> Path:
    root = tmp_path / "weir"
    shutil.copytree(WEIR / "tree", root)
    commit(root)
    return root


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return Path(shutil.copytree(WEIR / "profile", tmp_path / "profile"))


def found(root: Path, *asked: str, profile: Path = WEIR / "profile") -> dict[str, Repair]:
    made = build_repairs(scan_tree(root, profile=find_codebase(str(profile))), asked)
    return {repair.name: repair for repair in made}


def state(root: Path) -> tuple[object, ...]:
    """Return all that must be as it was where nothing is written."""
    refs = git(root, "for-each-ref"), (root / ".git" / "HEAD").read_text()
    return picture(root), refs, git(root, "ls-files", "--stage"), git(root, "status", "--short")


def repaired(root: Path, *more: object) -> int:
    return invoke("repairs", root, "--profile", WEIR / "profile", *more).code


def test_each_is_a_commit_with_its_test_and_nothing_else(weir: Path) -> None:
    start = git(weir, "rev-parse", "HEAD").strip()
    assert repaired(weir) == 0
    assert git(weir, "status", "--short") == ""
    commits = git(weir, "log", "--reverse", "--format=%H", f"{start}..").split()
    files = [git(weir, "show", "--format=", "--name-only", each).split() for each in commits]
    assert files == [
        [CUDA, "weir-core/tests/levels_behind_tests.rs"],
        ["weir-kernels/src/sluice.cu", "weir-nn/tests/last_sluice_tests.rs"],
        [CUDA],
        ["weir-core/src/lib.rs", "weir-core/tests/shut_sluices_tests.rs"],
    ]


def test_the_source_s_own_words_stand_there_and_not_the_copy_s(weir: Path) -> None:
    assert repaired(weir) == 0
    cuda = (weir / CUDA).read_text()
    assert "levels.len().saturating_sub(from)" in cuda
    assert "let waited = std::mem::size_of_val(&self.stream);" in cuda
    kernel = (weir / "weir-kernels/src/sluice.cu").read_text()
    assert "    if (i < count) {\n        levels[i] = 0.0f;  // open" in kernel
    lib = (weir / "weir-core/src/lib.rs").read_text()
    assert "    sluices + sluices - shut * 2\n" in lib  # as rustfmt has it


def test_a_test_is_for_the_package_that_it_belongs_to(weir: Path) -> None:
    made = found(weir)
    last = made["last-sluice"].test
    assert last is not None
    # weir-nn calls weir-core `weir`, in the workspace's table of dependencies.
    assert last.text.startswith('#![cfg(feature = "cuda")]\n') and "weir::flow(" in last.text
    assert last.command == "cargo test -p weir-nn --features cuda --test last_sluice_tests"
    shut = made["shut-sluices"].test
    assert shut is not None
    assert "cfg" not in shut.text and "weir_core::flow(" in shut.text
    assert shut.command == "cargo test -p weir-core --test shut_sluices_tests"


def test_a_message_says_what_is_wrong_how_it_is_mended_and_how_to_check_it(weir: Path) -> None:
    text = format_message(found(weir)["levels-behind"])
    subject, blank, *body = text.split("\n")
    assert (subject, blank) == ("Return no levels where fewer are there than are passed by", "")
    assert all(len(line) <= 72 for line in text.split("\n"))
    said = " ".join(" ".join(body).split())
    assert said == (
        "On CUDA, fewer levels than are passed by panic. Where fewer levels are there than are"
        " passed by, taking the one from the other is below 0 (the device), and panics. Return 0"
        " there. This fails on a GPU without the change, and passes with it: cargo test -p"
        " weir-core --features cuda --test levels_behind_tests"
    )
    assert "There is no test that fails every time" in format_message(found(weir)["stream-order"])


def test_a_test_that_need_not_fail_is_said_to_be_one(weir: Path, profile: Path) -> None:
    page = profile / "upstream" / "shut-sluices.md"
    said = page.read_text()
    page.write_text(
        said.replace(
            "## Reproduction\n", "## Reproduction\n\nThere is none that fails every time.\n"
        )
    )
    assert "This may fail without the change" in format_message(
        found(weir, profile=profile)["shut-sluices"]
    )
    assert "This fails without the change" in format_message(found(weir)["shut-sluices"])


def test_what_is_not_written_is_said_with_the_reason(weir: Path) -> None:
    made = found(weir)
    assert [name for name, each in made.items() if each.state is RepairState.TO_WRITE] == DUE
    assert made["old-gates"].state is RepairState.ABSENT
    assert made["rust"].state is RepairState.WITHOUT
    done = invoke("repairs", weir, "--profile", WEIR / "profile")
    assert "old-gates: not here: it is not in this version." in done.err
    assert "rust: no repair: weirs rust; there is nothing to write." in done.err


def test_a_second_run_writes_nothing(weir: Path) -> None:
    assert repaired(weir) == 0
    before = state(weir)
    done = invoke("repairs", weir, "--profile", WEIR / "profile")
    assert done.code == 0
    assert "There is nothing to write." in done.err
    assert "levels-behind: stands: weir-core/tests/levels_behind_tests.rs is there." in done.err
    assert state(weir) == before


@pytest.mark.parametrize(
    "written",
    [
        "assert_eq!(weir_core::flow(1, 0), 2, " + ", ".join(['"as wide as a page is"'] * 4) + ");",
        "assert_eq!(weir_core::flow(\n            1,\n            0,\n        ), 2);",
        "let each = |a: u8| { a };\n    assert_eq!(each(2), 2);",
    ],
)
@pytest.mark.parametrize("more", [(), ("--no-format",)])
def test_a_test_stands_as_rustfmt_has_laid_it_out(
    weir: Path, profile: Path, written: str, more: tuple[str, ...]
) -> None:
    page = profile / "upstream/levels-behind.md"
    page.write_text(page.read_text().replace("assert_eq!(weir_core::flow(1, 0), 2);", written))
    asked = ("repairs", weir, "--profile", profile, "--codes", "levels-behind")
    first = invoke(*asked, *more)
    assert (first.code, first.err.split(":")[0]) == (0, "1 commit")
    assert written in page.read_text()
    test = (weir / "weir-core/tests/levels_behind_tests.rs").read_text()
    assert (written in test) is bool(more)
    again = invoke(*asked)
    assert again.code == 0
    assert "levels-behind: stands: " in again.err


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("shut-sluices", ["shut-sluices"]),
        ("PK107", ["levels-behind", "stream-order"]),
        ("ph3,shut-sluices", ["last-sluice", "shut-sluices"]),
    ],
)
def test_codes_choose(weir: Path, asked: str, names: list[str]) -> None:
    done = invoke("repairs", weir, "--profile", WEIR / "profile", "--codes", asked)
    assert done.code == 0, done.err
    assert [line.split()[1].rstrip(":") for line in done.out.splitlines()] == names
    assert len(git(weir, "log", "--format=%H").split()) == 1 + len(names)


def test_each_alone_is_what_it_is_among_all(weir: Path) -> None:
    for name, repair in found(weir).items():
        alone = found(weir, name)[name]
        assert (alone.state, alone.test) == (repair.state, repair.test)
        assert [c.path for c in alone.changes] == [c.path for c in repair.changes]


def test_list_writes_nothing(weir: Path) -> None:
    before = state(weir)
    done = invoke("repairs", weir, "--profile", WEIR / "profile", "--list")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == [*DUE, "old-gates", "rust"]
    assert state(weir) == before


def test_patches_make_the_same_tree_in_a_clone(weir: Path, tmp_path: Path) -> None:
    before = state(weir)
    folder = tmp_path / "patches"
    assert repaired(weir, "--patches", folder) == 0
    assert state(weir) == before
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(weir), str(clone))
    git(clone, "am", "--quiet", *map(str, sorted(folder.iterdir())))
    assert repaired(weir) == 0
    assert git(clone, "rev-parse", "HEAD^{tree}") == git(weir, "rev-parse", "HEAD^{tree}")


def test_line_ends_stay(weir: Path) -> None:
    for path in (CUDA, "weir-kernels/src/sluice.cu", "weir-core/src/lib.rs"):
        place = weir / path
        place.write_bytes(place.read_bytes().replace(b"\n", b"\r\n"))
    changes = merge_changes(tuple(found(weir).values()))
    changed = [c for c in changes if c.before is not None]
    assert len(changed) == 3
    assert all(c.after.count(b"\n") == c.after.count(b"\r\n") for c in changed)


def _merge(weir: Path) -> None:
    (weir / ".git" / "MERGE_HEAD").write_text(git(weir, "rev-parse", "HEAD"))


def _detached(weir: Path) -> None:
    git(weir, "checkout", "--quiet", "--detach")


def _dirty(weir: Path) -> None:
    (weir / "notes.txt").write_text("mine")


def _staged(weir: Path) -> None:
    _dirty(weir)
    git(weir, "add", "--all")


def _signing(weir: Path) -> None:
    git(weir, "config", "commit.gpgSign", "true")


@pytest.mark.parametrize(
    ("make", "sentence", "code"),
    [
        (_merge, "in the middle of a merge", 28),
        (_detached, "its HEAD is detached", 28),
        (_dirty, "has uncommitted changes (notes.txt): commit or stash them", 13),
        (_staged, "has staged changes (notes.txt): commit or stash them", 13),
        (_signing, "asks for signed commits", 28),
    ],
)
def test_what_takes_no_commits_is_said(
    weir: Path, make: Callable[[Path], None], sentence: str, code: int
) -> None:
    make(weir)
    before = state(weir)
    done = invoke("repairs", weir, "--profile", WEIR / "profile")
    assert done.code == code
    assert sentence in " ".join(done.err.split())
    assert "--allow" not in done.err  # the command has no such option
    assert state(weir) == before


def test_who_writes_must_be_known(weir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in IDENTITY:
        monkeypatch.delenv(name)
    before = state(weir)
    done = invoke("repairs", weir, "--profile", WEIR / "profile")
    assert done.code == 28
    assert "git knows no name and e-mail to commit with" in " ".join(done.err.split())
    assert state(weir) == before


def test_no_hook_of_the_tree_is_run(weir: Path, tmp_path: Path) -> None:
    said = tmp_path / "said"
    hooks = weir / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {said}\n")
        (hooks / name).chmod(0o755)
    assert repaired(weir) == 0
    assert not said.exists()


def test_a_defect_of_which_upstream_has_mended_a_part_is_left_out(
    weir: Path, profile: Path
) -> None:
    codebase = profile / "codebase.toml"
    said = codebase.read_text()
    codebase.write_text(
        said.replace('match = "levels.len() - from;"', 'match = "levels.len() -"\ncount = 2')
    )
    repair = found(weir, profile=profile)["levels-behind"]
    assert repair.state is RepairState.UNFIT
    assert "not as often as it is declared" in repair.why
    done = invoke("repairs", weir, "--profile", profile)
    assert done.code == 1  # and the others are written
    assert [line.split()[1].rstrip(":") for line in done.out.splitlines()] == DUE[1:]


def test_another_file_under_the_test_s_name_is_not_replaced(weir: Path) -> None:
    place = weir / "weir-core/tests/shut_sluices_tests.rs"
    place.parent.mkdir()
    place.write_text("// mine\n")
    commit(weir)
    repair = found(weir)["shut-sluices"]
    assert repair.state is RepairState.UNFIT
    assert "is there and is another file" in repair.why


def test_a_tree_without_the_package_has_no_such_defect(weir: Path) -> None:
    shutil.rmtree(weir / "weir-nn")
    repair = found(weir)["last-sluice"]
    assert (repair.state, repair.why) == (RepairState.ABSENT, "the tree has no package weir-nn")


def test_what_upstream_has_mended_is_not_here(weir: Path) -> None:
    place = weir / CUDA
    place.write_text(place.read_text().replace("levels.len() - from", "0"))
    repair = found(weir)["levels-behind"]
    assert (repair.state, repair.changes) == (RepairState.ABSENT, ())
    assert "upstream has mended it" in repair.why


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ('page = "rust"\nwithout = "it"\nsubject = "x"', "there is subject and without"),
        ('page = "rust"', "there is subject and without, or neither"),
        ('page = "old-gates"\nsubject = "x"', "old-gates is there twice"),
        (f'page = "new"\nsubject = "{"x" * 73}"', "subject"),
        ('page = "no-such-page"\nsubject = "x"', "names the page no-such-page"),
        ('page = "../rust"\nsubject = "x"', "is not a name as conv-kernel-layout"),
    ],
)
def test_a_malformed_declaration_is_said(
    weir: Path, profile: Path, change: str, sentence: str
) -> None:
    place = profile / "upstream.toml"
    said = place.read_text().split('[[defect]]\npage = "rust"')[0]
    place.write_text(f"{said}[[defect]]\n{change}\n")
    before = state(weir)
    done = invoke("repairs", weir, "--profile", profile)
    assert done.code == 16
    assert sentence in " ".join(done.err.split())
    assert state(weir) == before


def test_a_repair_that_there_is_not(weir: Path) -> None:
    done = invoke("repairs", weir, "--profile", WEIR / "profile", "--codes", "shut-sluice")
    assert done.code == 2
    assert "the nearest is 'shut-sluices'" in " ".join(done.err.split())


def test_a_codebase_that_says_nothing_of_defects(weir: Path, profile: Path) -> None:
    (profile / "upstream.toml").unlink()
    done = invoke("repairs", weir, "--profile", profile)
    assert done.code == 16
    assert "says nothing of defects upstream" in " ".join(done.err.split())
