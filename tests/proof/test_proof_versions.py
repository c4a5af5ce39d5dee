"""The trees that are asked, what they answer, and the pages about it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from codebase_support import CANDLE

from portkit.errors import ToolError
from tools.proof.versions.answers import QUESTIONS, Answer, Answers, page, proven
from tools.proof.versions.asked import GATINGS, Typed, load_crates, typed
from tools.proof.versions.trees import (
    Commit,
    checked_out,
    digest,
    git_dependencies,
    named,
    spread,
    update,
)

if TYPE_CHECKING:
    from pathlib import Path

ASKED = load_crates(CANDLE)
CRATES, LIBRARIES = ASKED.every, ASKED.libraries
PASSED = Answer(
    day="",
    name="0.9.1",
    version="0.9.1",
    gating="dummy",
    question="port",
    result="passed",
    detail="",
    crates="",
    content="0123456789ab",
    asked_on="2026-11-22",
    asker="ba9876543210",
)


def git(folder: Path, *arguments: str, day: str = "2025-05-01") -> str:
    date = f"{day}T12:00:00Z"
    person = {"NAME": "a person", "EMAIL": "person@localhost", "DATE": date}
    environment = {
        f"GIT_{who}_{key}": v for who in ("AUTHOR", "COMMITTER") for key, v in person.items()
    }
    return subprocess.run(
        ("git", *arguments),
        cwd=folder,
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Nine commits, a day apart, from the second of May 2025 on; a branch of three merged last."""
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for number in range(2, 11):
        (folder / "file").write_text(str(number))
        git(folder, "add", "file")
        git(folder, "commit", "--quiet", "--message", "change", day=f"2025-05-{number:02}")
    git(folder, "checkout", "--quiet", "-b", "side")
    for _ in range(3):
        git(folder, "commit", "--quiet", "--allow-empty", "--message", "x", day="2025-05-20")
    git(folder, "checkout", "--quiet", "main")
    git(folder, "merge", "--quiet", "--no-ff", "--no-edit", "side", day="2025-05-21")
    return folder


def test_commits_are_the_same_distance_apart(clone: Path) -> None:
    days = [each.day for each in spread(clone, "2025-05-04", 3)]
    assert days == ["2025-05-04", "2025-05-08", "2025-05-21"]


def test_all_commits_are_taken_where_there_are_few(clone: Path) -> None:
    assert len(spread(clone, "2025-05-04", 99)) == 8
    assert spread(clone, "2026-01-01", 5) == ()


def test_a_git_directory_is_as_good_as_a_clone(clone: Path) -> None:
    assert spread(clone / ".git", "2025-05-04", 3) == spread(clone, "2025-05-04", 3)


def test_a_commit_is_taken_by_its_name(clone: Path, tmp_path: Path) -> None:
    whole = git(clone, "rev-parse", "main~2")
    (found,) = named(clone, [whole])
    assert found == Commit("2025-05-09", git(clone, "rev-parse", "--short=9", "main~2"))
    tree = checked_out(clone, found, tmp_path / "build" / "tree")
    assert {path.name for path in tree.iterdir()} == {"file"}
    assert (tree / "file").read_text() == "9"


def test_what_is_no_clone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="name a clone that has this commit"):
        named(tmp_path, ["main"])


def test_dependencies_from_git_are_found_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text(
        '[workspace.dependencies]\na = { git = "at://a" }\nb = "1"\n'
    )
    (tmp_path / "crate").mkdir()
    (tmp_path / "crate" / "Cargo.toml").write_text(
        '[build-dependencies.c]\ngit = "at://c"\n'
        '[target."cfg(unix)".dependencies]\nd = { git = "at://d" }\ne = { path = "../e" }\n'
    )
    assert git_dependencies(tmp_path) == ("a (at://a)", "c (at://c)", "d (at://d)")


def test_what_is_the_same_keeps_its_time(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for tree, files in (
        (old, {"same": "1", "changed": "1", "gone/file": "1", "Cargo.lock": "1", ".git/HEAD": "1"}),
        (new, {"same": "1", "changed": "2", "added/file": "1"}),
    ):
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
    os.utime(old / "same", (1, 1))
    assert digest(old) != digest(new)
    update(old, new)
    assert (old / "same").stat().st_mtime == 1
    assert (old / "changed").read_text() == "2"
    assert (old / "added" / "file").exists()
    assert not (old / "gone" / "file").exists()
    assert (old / "Cargo.lock").exists()
    assert digest(old) == digest(new)


# Each is asked in two runs: the crates with all their tests, then the others without unit tests.
GOOD = "exit 0"
WRONG = """\
echo '{"reason":"compiler-message","message":{"level":"error","message":"mismatched types",\
"code":{"code":"E0308"},"spans":[],"rendered":"error"}}'
exit 101"""
MISTYPED = ("error[E0308]: mismatched types",)
UNREACHABLE = """\
echo 'error: failed to get `float8` as a dependency' >&2
echo '  unable to update https://example.org/float8' >&2
exit 101"""

# What rustc prints where lld, and where GNU ld, does not find a library.
LLD = """\
echo '{"reason":"compiler-message","message":{"level":"error","message":"linking with `cc` failed",\
"code":null,"spans":[],"rendered":"rust-lld: error: unable to find library -lssl\\\\nunable to find\
 library -lcrypto\\\\n"}}'
exit 101"""
LD = LLD.replace("rust-lld: error: unable to find library", "ld: cannot find").replace(
    "unable to find library -lcrypto", "ld: cannot find -lcrypto: No such file or directory"
)
LINK = "error: linking with `cc` failed"

# What openssl-sys does before a type-check (its build/main.rs and build/expando.c).
OPENSSL = """\
[ -d "$OPENSSL_LIB_DIR" ] && [ "$OPENSSL_STATIC" = 0 ] || exit 101
printf '#include <openssl/opensslv.h>\\n#include <openssl/opensslconf.h>\\n%s' \
"RUST_VERSION OPENSSL_VERSION_MAJOR" |
cc -E -nostdinc -I "$OPENSSL_INCLUDE_DIR" - | grep -q 'RUST_VERSION [3-9]' || exit 101"""


@pytest.mark.parametrize(
    ("script", "wanted", "asked"),
    [
        (GOOD, Typed(()), 2),
        (OPENSSL, Typed(()), 2),
        (WRONG, Typed(MISTYPED), 1),
        (
            UNREACHABLE,
            Typed(("error: failed to get `float8` as a dependency",), unreachable=True),
            1,
        ),
        (LLD, Typed((LINK,), libraries=("crypto", "ssl")), 1),
        (LD, Typed((LINK,), libraries=("crypto", "ssl")), 1),
        (f"{LLD.removesuffix('exit 101')}{WRONG}", Typed((LINK, *MISTYPED)), 1),
    ],
    ids=["good", "without OpenSSL", "wrong", "unreachable", "lld", "ld", "more than that"],
)
def test_crates_are_asked_until_one_fails(
    script: str, wanted: Typed, asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("candle-core", "candle-examples"):
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / "Cargo.toml").write_text(f'[package]\nname = "{name}"\n')
    (tmp_path / "tree" / "Cargo.toml").write_text("[workspace]\n")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "cargo"
    program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/log\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    assert typed(tmp_path / "tree", ("rocm",), tmp_path / "target", ASKED) == wanted
    first, *others = (tmp_path / "log").read_text().splitlines()
    assert "--all-targets --package candle-core --features rocm" in first
    assert len(others) == asked - 1
    for line in others:
        assert "--test * --package candle-examples --features rocm" in line


def all_passed(place: Path) -> Answers:
    answers = Answers(place)
    for gating in GATINGS:
        for question in QUESTIONS:
            crates = "" if question == "port" else " ".join(CRATES)
            answers.put(replace(PASSED, gating=gating, question=question, crates=crates))
    return answers


def test_answers_are_kept(tmp_path: Path) -> None:
    place = tmp_path / "reports" / "published.csv"
    assert sorted(all_passed(place)) == sorted(Answers(place))
    assert Answers(place).proven("0.9.1", CRATES)
    assert Answers(place).trees() == ("0.9.1",)


@pytest.mark.parametrize(
    "change", [{"result": "failed"}, {"result": "upstream"}, {"result": "git"}]
)
def test_one_answer_that_is_not_yes_is_one_too_many(change: dict[str, str], tmp_path: Path) -> None:
    answers = all_passed(tmp_path / "published.csv")
    last = answers.get("0.9.1", "cfg", "no feature")
    assert last is not None
    answers.put(replace(last, **change))
    assert not answers.proven("0.9.1", CRATES)
    assert proven(answers, Answers(tmp_path / "none.csv"), CRATES).versions == ()


def test_a_port_that_was_not_type_checked_with_its_feature_is_not_proven(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "published.csv")
    answers.put(PASSED)
    assert not answers.proven("0.9.1", LIBRARIES)
    answers.put(replace(PASSED, question="no feature", crates=" ".join(CRATES)))
    assert not answers.proven("0.9.1", LIBRARIES)
    answers.put(replace(PASSED, question="rocm", crates="candle-core"))
    assert not answers.proven("0.9.1", LIBRARIES)
    answers.put(replace(PASSED, question="rocm", crates=" ".join(LIBRARIES)))
    assert answers.proven("0.9.1", LIBRARIES)
    assert not answers.proven("0.9.1", CRATES)


def test_answers_about_another_port_are_forgotten(tmp_path: Path) -> None:
    answers = all_passed(tmp_path / "published.csv")
    answers.put(replace(PASSED, content="ffffffffffff"))
    assert answers.get("0.9.1", "dummy", "rocm") is None
    assert answers.get("0.9.1", "cfg", "rocm") is not None


def test_two_runs_keep_what_both_were_answered(tmp_path: Path) -> None:
    one, other = (Answers(tmp_path / "published.csv") for _ in range(2))
    one.put(PASSED)
    other.put(replace(PASSED, gating="cfg"))
    assert len(list(Answers(tmp_path / "published.csv"))) == 2


def test_versions_stand_in_their_order(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "published.csv")
    for version in ("0.10.0", "0.9.2", "0.9.2-alpha.1"):
        answers.put(replace(PASSED, name=version, version=version))
    assert answers.trees() == ("0.9.2-alpha.1", "0.9.2", "0.10.0")
    assert Answers(tmp_path / "published.csv").trees() == answers.trees()


def test_the_page_says_what_is_not_so_and_what_was_not_asked(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "commits.csv")
    commit = replace(PASSED, day="2025-05-15", name="92106c876")
    answers.put(commit)
    answers.put(replace(commit, question="rocm", result="failed", detail="error: a|b"))
    answers.put(replace(commit, question="no feature", crates=" ".join(LIBRARIES)))
    text = page("Commits", "Some.", answers, CRATES)
    assert text.startswith("# Commits\n\nSome.\n\n| commit | day | version | `dummy`: ported |")
    none = "not asked | not asked | not asked"
    assert (
        f"| `92106c876` | 2025-05-15 | 0.9.1 | yes | yes ¹ | **no** | {none} | 2026-11-22 |"
    ) in text
    assert "- 92106c876, `dummy`, with `rocm`: error: a\\|b\n" in text
