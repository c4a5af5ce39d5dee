"""The steps that run cargo, with a stand-in for it; and once with cargo itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import (
    LIB,
    PROGRAM,
    add_file,
    commit,
    environment,
    invoke,
    make_candle,
)
from codebase_support import CANDLE
from msgspec.structs import replace
from verify_support import (
    artifact,
    binary,
    install_cargo,
    make_ported,
    make_tree,
    only,
    script,
    stand_in,
    step,
    verify,
)

from portkit.codebases.directory import Directory
from portkit.errors import ProfileError
from portkit.profiles.profile import load_codebase, parse_codebase
from portkit.verify.cargo_features import select_features
from portkit.verify.diagnostics import Diagnostic
from portkit.verify.lint import find_new_lints
from portkit.verify.regressions import find_regressions
from portkit.verify.settings import Settings, load_settings
from portkit.verify.test_binaries import find_memory_limit, unpack_results
from portkit.verify.type_check import parse_cargo_errors

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return install_cargo(tmp_path, monkeypatch)


def message(
    line: int, text: str, *, level: str = "error", code: str = "E0004", path: str = LIB
) -> str:
    """Return what cargo says about a line of the tree, as rustc's JSON has it."""
    span = {"file_name": path, "line_start": line, "column_start": 9, "is_primary": True}
    said = {"level": level, "code": {"code": code}, "message": text, "spans": [span]}
    return json.dumps({"reason": "compiler-message", "message": said})


def line_of(candle: Path, text: str) -> int:
    return 1 + next(
        i for i, line in enumerate((candle / LIB).read_text().splitlines()) if text in line
    )


def printing(folder: Path, name: str, *lines: str) -> str:
    """Return a command of sh that prints lines."""
    add_file(folder, name, "\n".join([*lines, ""]).encode())
    return f"cat {folder}/{name}"


# --- check -------------------------------------------------------------------------------------


def test_cargo_is_run_as_the_profile_says(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    log = tmp_path / "log"
    stand_in(cargo, f'echo "$CANDLE_ROCM_KERNELS $CARGO_TARGET_DIR $PWD $*" >> {log}')
    verify(candle, "--only", "check")
    lines = [line.split(" ", 3) for line in log.read_text().splitlines()]
    assert [line[3] for line in lines] == [
        "check --workspace --all-targets --features= --message-format=json",
        "check --workspace --all-targets --features=rocm --message-format=json",
    ]
    for kernels, target, folder, _ in lines:
        assert (kernels, folder) == ("none", str(candle))
        assert target.startswith(str(tmp_path / "cache" / "portkit" / "target"))


@pytest.mark.parametrize("name", ["check", "lint"])
def test_crates_that_are_named_are_compiled_alone(tmp_path: Path, cargo: Path, name: str) -> None:
    candle = make_ported(tmp_path)
    log = tmp_path / "log"
    stand_in(cargo, f'echo "$*" >> {log}')
    assert step(candle, name, "--package", "candle-core")[0] == "passed"
    assert log.read_text().count("--package candle-core --all-targets") == 2
    assert "--workspace" not in log.read_text()
    # What was found of one crate says nothing of the whole.
    log.unlink()
    assert step(candle, name)[0] == "passed"
    assert log.read_text().count("--workspace --all-targets") == 2


@pytest.mark.parametrize("name", ["check", "lint"])
def test_a_feature_that_a_named_crate_lacks_is_not_asked_of_it(
    tmp_path: Path, cargo: Path, name: str
) -> None:
    candle = make_ported(tmp_path)
    manifest = '[package]\nname = "candle-words"\nversion = "0.1.0"\n'
    add_file(candle, "candle-words/Cargo.toml", manifest.encode())
    log = tmp_path / "log"
    stand_in(cargo, f'echo "$*" >> {log}')
    found = verify(candle, "--only", name, "--package", "candle-words")[name]
    assert found["verdict"] == "passed"
    assert "rocm" not in log.read_text()
    assert "rocm: candle-words has no feature rocm" in found["left_out"]


def test_what_needs_nvcc_is_left_out_where_there_is_none(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    found = verify(candle, "--only", "check")["check"]
    assert found["verdict"] == "passed"
    reason = "nvcc is not found: put it on PATH or set CUDA_HOME"
    assert found["left_out"] == [f"cuda: {reason}", f"cuda,rocm: {reason}"]


@pytest.mark.parametrize("place", ["PATH", "CUDA_HOME", "NVCC"])
def test_with_nvcc_cuda_is_checked_alone_and_with_rocm(
    tmp_path: Path, cargo: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    candle = make_ported(tmp_path)
    assert verify(candle, "--only", "check")["check"]["left_out"]
    folder = cargo.parent if place == "PATH" else tmp_path / "cuda" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    script(folder / "nvcc", "echo release 13.0")
    if place == "CUDA_HOME":
        monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    if place == "NVCC":
        monkeypatch.setenv("NVCC", str(folder / "nvcc"))
    found = verify(candle, "--only", "check")["check"]
    assert (found["left_out"], found["remembered"]) == ([], "")
    assert found["evidence"][2:] == [
        "cuda: type-checks, 0 warnings",
        "cuda,rocm: type-checks, 0 warnings",
    ]


def test_an_error_names_the_rule_and_the_site_that_wrote_the_line(
    tmp_path: Path, cargo: Path
) -> None:
    candle = make_ported(tmp_path)
    arm = line_of(candle, 'Self::Rocm(_) => "rocm"')
    own = line_of(candle, 'Self::Cpu => "cpu"')
    said = printing(tmp_path, "said", message(own, "its own"), message(arm, "no such variant"))
    stand_in(cargo, f'case "$*" in *=rocm*) {said}; exit 101;; esac')
    found = verify(candle, "--only", "check")["check"]
    first, second = found["diagnostics"]
    assert (first["rule"], first["line"], first["message"]) == ("PK301", arm, "no such variant")
    assert (second["rule"], second["site"], second["origin"]) == ("", "", "")
    scanned = json.loads(invoke("scan", candle, "--format", "json").out)
    sites = {site["id"]: site for site in scanned["sites"]}
    assert sites[first["site"]]["symbol"] == "Device::name"
    before = line_of(tmp_path / "candle", "match self")
    assert first["origin"].startswith(f"{LIB}:")
    assert first["origin"].endswith(" Device::name")
    assert abs(int(first["origin"].split(":")[1].split()[0]) - before) < 12
    assert found["evidence"][:2] == [
        "rocm: does not type-check",
        f"error[E0004]: no such variant ({LIB}:{arm}:9), written by {first['site']} for"
        f" {first['origin']}",
    ]


def test_without_a_library_that_upstream_needs_nothing_is_known(
    tmp_path: Path, cargo: Path
) -> None:
    candle = make_ported(tmp_path)
    fault = "error: failed to run custom build command for `{} v0.9.118`"
    openssl, other = fault.format("openssl-sys"), fault.format("cudarc")
    stand_in(cargo, f"echo '{openssl}' >&2; exit 101")
    assert step(candle, "check") == (
        "skipped",
        [
            f"rocm: {openssl}, as before the port: install what it looks for",
            "no feature: does not type-check, as before the port",
        ],
    )
    # What the port alone asks for is the port's.
    stand_in(
        cargo, f"case \"$*\" in *rocm*) echo '{other}';; *) echo '{openssl}';; esac >&2; exit 101"
    )
    assert step(candle, "check")[:2] == (
        "failed",
        ["rocm: does not type-check", other, "no feature: does not type-check, as before the port"],
    )


def test_what_failed_before_the_port_is_not_ours(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    said = printing(tmp_path, "said", message(1, "upstream's"))
    stand_in(cargo, f'case "$*" in *=\\ *) {said}; exit 101;; esac')
    verdict, evidence = step(candle, "check")
    assert (verdict, evidence[0]) == (
        "passed",
        "no feature: does not type-check, as before the port",
    )
    ours = printing(tmp_path, "ours", message(1, "upstream's"), message(2, "ours"))
    stand_in(
        cargo,
        f'case "$*" in *=\\ *) test "$PWD" = {candle} && {ours} || {said}; exit 101;; esac',
    )
    verdict, evidence = step(candle, "check", "--no-cache")
    assert (verdict, evidence[0]) == ("failed", "no feature: does not type-check")
    assert evidence[1].startswith("error[E0004]: ours")


def test_warnings_are_counted_once(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    unused = message(3, "unused variable", level="warning", code="unused_variables")
    note = message(3, "a note", level="note", code="")
    count = message(1, "1 warning emitted", level="warning", code="")
    stand_in(cargo, printing(tmp_path, "said", unused, "noise", "{}", unused, note, count))
    assert "no feature: type-checks, 1 warnings" in step(candle, "check")[1]


def test_errors_of_cargo_itself() -> None:
    written = """\
warning: unused variable: `a`
error: package `x` cannot be built
  --> Cargo.toml:3:1
error: no matching package
"""
    assert parse_cargo_errors(written.splitlines()) == [
        "error: package `x` cannot be built (Cargo.toml:3:1)",
        "error: no matching package",
    ]


# --- lint --------------------------------------------------------------------------------------


def lint(line: int, text: str) -> str:
    return message(line, text, level="warning", code="clippy::x")


def test_a_lint_that_the_baseline_has_is_not_new(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    before = printing(tmp_path, "before", lint(3, "old"))
    after = printing(tmp_path, "after", lint(5, "old"))
    stand_in(cargo, f'test "$PWD" = {candle} && {after} || {before}')
    verdict, evidence = step(candle, "lint")
    assert (verdict, evidence) == (
        "passed",
        [
            "1 with no feature, 1 with rocm: none that the tree before the port lacks, which has 1",
        ],
    )


def test_a_new_lint_fails_with_its_rule(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    arm = line_of(candle, 'Self::Rocm(_) => "rocm"')
    before = printing(tmp_path, "before", lint(3, "old"))
    after = printing(tmp_path, "after", lint(3, "old"), lint(arm, "old"), lint(1, "new"))
    stand_in(cargo, f'test "$PWD" = {candle} && {after} || {before}')
    found = verify(candle, "--only", "lint")["lint"]
    assert (found["verdict"], found["evidence"][0]) == ("failed", "2 lints are new")
    assert [(d["message"], d["rule"]) for d in found["diagnostics"]] == [
        ("old", "PK301"),
        ("new", ""),
    ]


def test_without_a_lint_the_baseline_is_not_asked(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, f'test "$PWD" = {candle} || exit 101')
    assert step(candle, "lint") == ("passed", ["clippy is clean"])


def test_lints_that_are_denied_do_not_end_their_crate(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, f'echo "$*" >> {tmp_path}/log')
    step(candle, "lint")
    assert all(
        line.endswith("--message-format=json -- --cap-lints=warn")
        for line in (tmp_path / "log").read_text().splitlines()
    )


def test_a_clippy_that_fails_is_no_success(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, "echo 'error: failed to load manifest' >&2; exit 101")
    verdict, evidence = step(candle, "lint")
    assert verdict == "failed"
    assert "clippy failed with no feature (error: failed to load manifest)" in evidence[0]


def test_the_last_of_a_kind_is_new() -> None:
    first, second, other = (
        Diagnostic("warning", "x", text, "a.rs", line)
        for text, line in (("same", 1), ("same", 2), ("other", 3))
    )
    assert find_new_lints(
        [first, second, other], [Diagnostic("warning", "x", "same", "b.rs", 9)]
    ) == [
        second,
        other,
    ]


# --- format ------------------------------------------------------------------------------------

FMT = """\
case "$*" in fmt*)
    for file in {files}; do test ! -e $file || echo "$PWD/$file"; done; exit 1
esac"""


def test_what_was_unformatted_before_does_not_count(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, FMT.format(files=LIB))
    assert step(candle, "format") == (
        "passed",
        ["rustfmt would change 1 files, all as before the port"],
    )
    stand_in(cargo, FMT.format(files=f"{LIB} new.rs"))
    add_file(candle, "new.rs", b"")
    assert step(candle, "format") == ("failed", ["rustfmt would change 1 files", "new.rs"])


def test_a_formatter_that_fails_is_no_success(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, "echo 'error: bad manifest'; exit 101")
    verdict, evidence = step(candle, "format")
    assert verdict == "failed"
    assert "error: bad manifest" in evidence[0]


def test_a_clean_tree_needs_nothing_to_compare_with(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle", repository=False)
    assert invoke("apply", candle, "--no-format", "--allow-no-vcs").code == 0
    found = verify(candle, "--keep-going", *only("format", "check", "lint", "regress"))
    assert [found[name]["verdict"] for name in ("format", "check", "lint")] == ["passed"] * 3
    assert found["regress"]["verdict"] == "failed"
    assert "there is no" in found["regress"]["evidence"][0]
    again = verify(candle, *only("format", "check"))
    assert not again["format"]["remembered"]
    assert again["check"]["remembered"]


# --- regress -----------------------------------------------------------------------------------

Behaviour = dict[str, str]


def regress(
    candle: Path,
    cargo: Path,
    before: Behaviour,
    after: Behaviour,
    *options: object,
    documentation: tuple[str, str] = ("", ""),
) -> tuple[str, list[str]]:
    """Verify a tree whose tests gave one thing before the port and give another now."""
    folder = cargo.parent
    for i, (name, behaviour) in enumerate((("before", before), ("after", after))):
        program = binary(folder / f"tests-{name}", behaviour)
        add_file(folder, name, artifact(candle, program).encode())
        add_file(folder, f"{name}-doc", documentation[i].encode())
    stand_in(
        cargo,
        f'test "$PWD" = {candle} && now={folder}/after || now={folder}/before\n'
        f'echo "$*" >> {folder}/log\n'
        'case "$*" in "test --no-run"*) cat $now;; "test --doc"*) cat $now-doc;; esac',
    )
    return step(candle, "regress", *options)


NAME = "candle_core unittests src/lib.rs"
GOOD = {"tests::names": "ok", "tests::slow": "ignored"}


def test_the_same_results_pass(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    verdict, evidence = regress(candle, cargo, GOOD, GOOD)
    head = git(candle, "rev-parse", "HEAD")[:12]
    assert (verdict, evidence) == ("passed", [f"2 tests give the same results as {head}"])


def test_a_result_that_changes_is_a_regression(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    assert regress(candle, cargo, GOOD, GOOD | {"tests::names": "FAILED"}) == (
        "failed",
        [
            "1 of 2 tests do not give the same result",
            f"before: {NAME} tests::names ok",
            f"now: {NAME} tests::names FAILED",
        ],
    )


def test_a_test_that_is_gone_is_a_regression(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    verdict, evidence = regress(candle, cargo, GOOD, {"tests::names": "ok"})
    assert (verdict, evidence[2]) == ("failed", f"now: {NAME} tests::slow none")


@pytest.mark.parametrize(("result", "verdict"), [("ok", "passed"), ("FAILED", "failed")])
def test_new_tests_must_pass(tmp_path: Path, cargo: Path, result: str, verdict: str) -> None:
    candle = make_ported(tmp_path)
    found, evidence = regress(candle, cargo, GOOD, GOOD | {"tests::rocm": result})
    assert found == verdict
    assert ("; 1 new tests pass or are ignored" in evidence[0]) is (verdict == "passed")


def test_what_failed_before_may_fail_or_be_mended(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    before = GOOD | {"tests::a": "FAILED", "tests::b": "FAILED"}
    after = GOOD | {"tests::a": "ok", "tests::b": "kill -SEGV $$"}
    verdict, evidence = regress(candle, cargo, before, after)
    assert (verdict, evidence[1:]) == (
        "passed",
        [f"failed before as well: {NAME} tests::b (crashed (Segmentation fault))"],
    )


HANG = "sleep 60"
CRASH = "kill -ABRT $$"
MEMORY = 'echo "memory allocation of 800 bytes failed" >&2; kill -ABRT $$'
KILLED = "kill -KILL $$"
LEAVES = "exit 3"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (HANG, "timed out after 1 s"),
        ("while :; do echo on; sleep 0.2; done", "timed out after 1 s"),
        (CRASH, "crashed (Aborted)"),
        (MEMORY, "out of memory"),
        (KILLED, "killed (SIGKILL), as the system does when memory runs out"),
        (LEAVES, "ended with status 3"),
    ],
)
def test_one_bad_test_does_not_hide_the_others(
    tmp_path: Path, cargo: Path, what: str, said: str
) -> None:
    candle = make_ported(tmp_path)
    # The others come after it in the binary: they have a result all the same.
    good = {"a": "ok", "b": "ok", "c": "FAILED", "d": "ok"}
    found = regress(candle, cargo, good, good | {"b": what}, "--test-timeout", "1")
    assert found == (
        "failed",
        [
            "1 of 4 tests do not give the same result",
            f"before: {NAME} b ok",
            f"now: {NAME} b {said}",
        ],
    )


def test_a_process_that_goes_wrong_after_its_tests(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    at_the_end = "trap 'kill -SEGV $$' EXIT; echo 'test b ... ok'"
    found = regress(candle, cargo, {"a": "ok", "b": "ok"}, {"a": "ok", "b": at_the_end})
    name = f"{NAME} after its tests"
    assert found == (
        "failed",
        [
            "1 of 2 tests do not give the same result",
            f"before: {name} none",
            f"now: {name} crashed (Segmentation fault)",
        ],
    )


DOCUMENTATION = """\
   Doc-tests candle_core

running 3 tests
test candle-core/src/lib.rs - Device::name (line 22) ... ok
test candle-core/src/lib.rs - Device::name (line 30) ... ok
test candle-core/src/lib.rs - Device::open (line 41) - compile fail ... ok
"""


def test_a_shifted_line_of_documentation_is_no_change(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    after = DOCUMENTATION.replace("(line 22)", "(line 27)").replace("(line 30)", "(line 35)")
    verdict, evidence = regress(candle, cargo, GOOD, GOOD, documentation=(DOCUMENTATION, after))
    assert verdict == "passed"
    assert evidence[0].startswith("5 tests give the same results")
    broken = DOCUMENTATION.replace("(line 30) ... ok", "(line 30) ... FAILED")
    verdict, evidence = regress(
        candle, cargo, GOOD, GOOD, "--no-cache", documentation=(DOCUMENTATION, broken)
    )
    name = "candle_core documentation candle-core/src/lib.rs - Device::name"
    assert (verdict, evidence[1:]) == (
        "failed",
        [f"before: {name} ok, ok", f"now: {name} FAILED, ok"],
    )


def test_tests_that_do_not_build_are_no_success(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    arm = line_of(candle, 'Self::Rocm(_) => "rocm"')
    said = printing(tmp_path, "said", message(arm, "no such macro"))
    stand_in(cargo, f'case "$*" in test*) {said}; exit 101;; esac')
    verdict, evidence = step(candle, "regress")
    assert verdict == "failed"
    assert (
        f"cannot be built (error[E0004]: no such macro ({LIB}:{arm}:9), written by PK301-"
        in (evidence[0])
    )


def test_a_binary_that_lists_nothing_is_no_success(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    program = script(tmp_path / "tests", "exit 1")
    add_file(tmp_path, "after", artifact(candle, program).encode())
    stand_in(cargo, f'case "$*" in "test --no-run"*) cat {tmp_path}/after;; esac')
    verdict, evidence = step(candle, "regress")
    assert verdict == "failed"
    assert "does not list its tests (ended with status 1)" in evidence[0]


def test_a_binary_without_a_harness_is_one_test(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    manifest = candle / "candle-core" / "Cargo.toml"
    with manifest.open("a") as file:
        file.write('\n[[test]]\nname = "own"\nharness = false\n')
    program = script(tmp_path / "tests", 'test -z "$*"')
    add_file(tmp_path, "after", artifact(candle, program, "tests/own.rs", "test").encode())
    stand_in(cargo, f'case "$*" in "test --no-run"*) cat {tmp_path}/after;; esac')
    found = verify(candle, "--only", "regress")["regress"]
    assert (found["verdict"], found["figures"]["passed"]) == ("passed", 1)


def test_a_shard_takes_its_share_of_the_tests(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    tests = {f"test{i}": "ok" for i in range(5)}
    shown = []
    for shard in ("1/3", "2/3", "3/3"):
        _, evidence = regress(
            candle, cargo, tests, tests, "--shard", shard, documentation=(DOCUMENTATION,) * 2
        )
        shown.append(evidence[0].split()[0])
    assert shown == ["5", "2", "1"]  # the documentation's three are the first shard's


def test_a_test_runs_as_cargo_would_run_it(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    variables = "$PWD $CARGO_MANIFEST_DIR $CARGO_PKG_NAME $CARGO_PKG_VERSION $LD_LIBRARY_PATH"
    shows = f'echo "{variables}" >> {tmp_path}/log; echo "test a ... ok"'
    regress(candle, cargo, {"a": "ok"}, {"a": shows})
    crate, program = candle / "candle-core", cargo.parent
    assert (tmp_path / "log").read_text().split()[:5] == [
        *(str(crate), str(crate), "candle-core", "0.11.1"),
        os.pathsep.join(filter(None, [str(program), str(program.parent)])),
    ]


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ([["a", "ok", 2]], [["a", "ok", 2]], []),
        ([["a", "ok", 2]], [["a", "ok", 1]], ["a"]),
        ([["a", "ok", 1]], [["a", "ignored", 1]], ["a"]),
        ([["a", "ignored", 1]], [["a", "ok", 1]], []),
        ([["a", "FAILED", 1]], [["a", "FAILED", 1]], []),
        ([["a", "FAILED", 1]], [["a", "FAILED", 1], ["b", "FAILED", 1]], ["b"]),
        ([["a", "FAILED", 1]], [], ["a"]),
    ],
)
def test_what_is_worse_than_before(
    before: list[list[object]], after: list[list[object]], lost: list[str]
) -> None:
    assert find_regressions(unpack_results(before), unpack_results(after)) == lost


def test_memory_of_tests_is_limited_below_that_of_the_machine() -> None:
    limit = find_memory_limit()
    assert limit is not None
    assert 0 < limit < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


# --- what an earlier run has found -------------------------------------------------------------


def test_unchanged_inputs_are_not_checked_again(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, f'echo "$*" >> {tmp_path}/log')

    def runs(*options: object) -> int:
        (tmp_path / "log").unlink(missing_ok=True)
        found = verify(candle, "--only", "check", *options)["check"]
        count = (
            len((tmp_path / "log").read_text().splitlines()) if (tmp_path / "log").exists() else 0
        )
        assert bool(found["remembered"]) is (count == 0)
        assert found["evidence"][0] == "no feature: type-checks, 0 warnings"
        return count

    assert [runs(), runs()] == [2, 0]
    assert runs("--no-cache") == 2
    add_file(candle, "new.rs", b"")
    assert [runs(), runs()] == [2, 0]
    (candle / "new.rs").unlink()
    assert runs() == 0, "as it was before"
    add_file(candle, "target/debug/product", b"")
    add_file(candle, ".gitignore", b"target\n")
    assert runs() == 2
    add_file(candle, "target/debug/product", b"another")
    assert runs() == 0, "what git ignores is no input"
    add_file(candle, "Cargo.lock", b"# written by cargo\n")
    assert [runs(), runs()] == [2, 0]
    add_file(tmp_path, ".cargo/config.toml", b"[build]\n")
    assert [runs(), runs()] == [2, 0], "cargo looks there as well"
    shutil.rmtree(candle / "target")
    commit(candle)
    assert runs() == 0, "a commit changes no file"


@pytest.mark.parametrize(
    ("name", "value", "again"),
    [("RUSTFLAGS", "-O", True), ("CANDLE_X", "1", True), ("TERM", "dumb", False)],
)
def test_the_environment_of_cargo_is_an_input(
    tmp_path: Path,
    cargo: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    again: bool,
) -> None:
    candle = make_ported(tmp_path)
    verify(candle, "--only", "check")
    monkeypatch.setenv(name, value)
    assert bool(verify(candle, "--only", "check")["check"]["remembered"]) is not again


def test_another_compiler_looks_again(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    verify(candle, "--only", "check")
    script(cargo.parent / "rustc", "echo rustc 9.9.9")
    assert not verify(candle, "--only", "check")["check"]["remembered"]


def test_a_failure_is_looked_at_again(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, "exit 101")
    assert step(candle, "check")[0] == "failed"
    stand_in(cargo, "exit 0")
    assert step(candle, "check")[0] == "passed"


def test_a_tree_that_changes_meanwhile_is_not_remembered(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, f'test "$1" != check || echo >> {candle}/README.md')
    assert step(candle, "check")[0] == "passed"
    assert not verify(candle, "--only", "check")["check"]["remembered"]


def test_the_report_is_no_part_of_the_tree(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    file = candle / "verify.json"
    for remembered in (False, True):
        assert invoke("verify", candle, "--only", "check", "--json", file).code == 0
        (found,) = json.loads(file.read_text())["steps"]
        assert bool(found["remembered"]) is remembered


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"])
def test_a_broken_entry_is_none(tmp_path: Path, cargo: Path, content: bytes) -> None:
    candle = make_ported(tmp_path)
    verify(candle, "--only", "check")
    (entry,) = (tmp_path / "cache" / "portkit" / "verified").glob("*.json")
    entry.write_bytes(content)
    found = verify(candle, "--only", "check")["check"]
    assert (found["verdict"], found["remembered"]) == ("passed", "")


def test_the_baseline_is_tested_once(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    assert regress(candle, cargo, GOOD, GOOD)[0] == "passed"
    add_file(candle, "new.txt", b"")  # the tree's own tests run again
    # Were the baseline tested again, it would differ.
    assert regress(candle, cargo, {}, GOOD)[0] == "passed"
    assert regress(candle, cargo, {"other": "ok"}, GOOD, "--no-cache")[0] == "failed"


def test_a_run_that_was_cut_goes_on_where_it_was(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    cuts = f"test -e {tmp_path}/second || {{ kill -TERM $PPID; sleep 60; }}"
    lines = []
    for name, more in (("one", "true"), ("two", cuts)):
        runs = f'echo {name} >> {tmp_path}/log; {more}; echo "test a ... ok"'
        program = binary(tmp_path / name, {"a": runs})
        lines.append(artifact(candle, program, f"tests/{name}.rs", "test"))
    said = printing(tmp_path, "after", *lines)
    stand_in(cargo, f'test "$PWD" = {candle} || exit 0; case "$*" in "test --no"*) {said};; esac')
    command = [*PROGRAM, "verify", str(candle), "--only", "regress"]

    def run() -> int:
        done = subprocess.run(command, env=environment(), capture_output=True, check=False)
        return done.returncode

    assert run() == 143
    assert (tmp_path / "log").read_text().split() == ["one", "two"]
    (tmp_path / "log").unlink()
    add_file(tmp_path, "second", b"")
    assert run() == 0
    assert (tmp_path / "log").read_text().split() == ["two"]
    (tmp_path / "log").unlink()
    assert run() == 0
    assert not (tmp_path / "log").exists()


def test_settings_of_a_codebase() -> None:
    candle = load_settings(load_codebase(CANDLE))
    assert candle.tested == ("candle-core", "candle-nn")
    assert candle.environment["CANDLE_ROCM_KERNELS"] == "none"
    assert candle.device == {"CANDLE_ROCM_KERNELS": "all"}
    assert candle.cpu_device == {"CANDLE_ROCM_ARCHS": "{archs}", "CANDLE_ROCM_CACHE": "{cache}"}


def test_settings_of_a_codebase_that_says_little(tmp_path: Path) -> None:
    said = {"name": "toy", "crate": "toy", "first_version": "1.0.0", "dependencies": {}}
    said |= {"names": {"words": {}}}
    assert load_settings(parse_codebase(said)) == Settings()  # there are no kernels to leave out
    (tmp_path / "verify.toml").write_text('[device.cpu]\nTOY_ROCM_CACHE = "x"\nMORE = "{archs}"\n')
    toy = parse_codebase({**said, "kernels": {"source": "toy-kernels"}}, Directory(tmp_path))
    assert load_settings(toy) == Settings(
        environment={"TOY_ROCM_KERNELS": "none"},
        device={"TOY_ROCM_KERNELS": "all"},
        cpu_device={"TOY_ROCM_ARCHS": "{archs}", "TOY_ROCM_CACHE": "x", "MORE": "{archs}"},
    )


def test_settings_of_a_codebase_on_top_of_another(tmp_path: Path) -> None:
    """The kernels below are built with it: without hipcc they are left out as well."""
    said = {"name": "toy", "crate": "toy", "first_version": "1.0.0", "dependencies": {}}
    said |= {"names": {"words": {}}, "uses": ["candle"]}
    (tmp_path / "verify.toml").write_text('[device]\nCANDLE_ROCM_KERNELS = "sort"\n')
    assert load_settings(parse_codebase(said, Directory(tmp_path))) == Settings(
        environment={"CANDLE_ROCM_KERNELS": "none"},
        device={"CANDLE_ROCM_KERNELS": "sort"},
        cpu_device={"CANDLE_ROCM_ARCHS": "{archs}", "CANDLE_ROCM_CACHE": "{cache}"},
    )


@pytest.mark.parametrize("text", ["environment = 1", "[names]", "tested = 1", "device = []"])
def test_malformed_settings_are_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "verify.toml").write_text(text)
    own = replace(load_codebase(CANDLE), directory=Directory(tmp_path))
    with pytest.raises(ProfileError, match=r"verify\.toml:1: "):
        load_settings(own)


def test_nothing_is_said_where_nobody_listens(tmp_path: Path, cargo: Path) -> None:
    said: list[str] = []
    tree = make_tree(make_ported(tmp_path), said.append)
    assert tree.read_version("no-such-program") == ""
    assert tree.read_version("cargo", "--version") == "cargo 1.95.0"
    assert said == []


def test_cuda_is_off_where_a_default_turns_it_on(tmp_path: Path) -> None:
    """With CUDA on by default each build would ask for nvcc, that of the port included."""
    candle = make_candle(tmp_path / "candle")
    tree = make_tree(candle)
    assert (select_features(tree), select_features(tree, "rocm")) == (
        ("--features=",),
        ("--features=rocm",),
    )
    manifest = candle / "candle-core" / "Cargo.toml"
    features = 'default = ["gpu", "fast", "dep:rand"]\ngpu = ["cuda"]\nfast = []\n'
    text = manifest.read_text()
    assert text.count("default = []\n") == 1
    manifest.write_text(text.replace("default = []\n", features))
    tree = make_tree(candle)
    assert select_features(tree) == ("--no-default-features", "--features=candle-core/fast")
    both = select_features(tree, "rocm", "cuda")
    assert both == ("--no-default-features", "--features=rocm,cuda,candle-core/fast")
    assert select_features(tree, "rocm", among=("another",)) == ("--features=rocm",)
    other = make_tree(candle, packages=("another",))
    assert select_features(other, "rocm") == ("--features=rocm",)
