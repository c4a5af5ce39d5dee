from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from apply_support import git, picture
from cli_support import LIB, PROGRAM, add_file, commit, environment, invoke, make_candle
from jsonschema import Draft202012Validator

from portkit.errors import ToolError, VerificationError
from portkit.job import scan_tree
from portkit.verify import STEPS, Step, Tree, Verdict, climb, part_of
from portkit.verify.baseline import checked_out, default_revision, resolve, tree_of
from portkit.verify.check import errors
from portkit.verify.ladder import failed, passed
from portkit.verify.process import run
from portkit.verify.regress import results
from portkit.verify.settings import Settings, load_settings

if TYPE_CHECKING:
    from pathlib import Path

MARK = "candle-hip/Cargo.toml"

# Written by cargo 1.95 for a crate with these tests, then shortened.
CARGO_TEST = """\
   Compiling candle-core v0.11.1 (/tmp/candle/candle-core)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.46s
     Running unittests src/lib.rs (target/debug/deps/candle_core-4f209a62caddcc00)

running 4 tests
test tests::names ... ok
test tests::panics - should panic ... ok
test tests::slow ... ignored, takes a minute
test tests::wrong ... FAILED

failures:

---- tests::wrong stdout ----
test tests::fake ...

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/ops.rs (target/debug/deps/ops-0123456789abcdef)

running 1 test
test names ... ok

   Doc-tests candle_core

running 3 tests
test candle-core/src/lib.rs - Device::name (line 22) ... ok
test candle-core/src/lib.rs - Device::name (line 30) ... ok
test candle-core/src/lib.rs - Device::open (line 41) - compile fail ... ok
"""


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    scan = scan_tree(make_candle(tmp_path / "candle"), gating="dummy")
    return Tree(scan, "", lambda line: None)


# --- the ladder --------------------------------------------------------------------------------


def steps_that(*verdicts: Verdict) -> tuple[Step, ...]:
    outcomes = {Verdict.PASSED: passed("good"), Verdict.FAILED: failed("bad")}
    return tuple(
        Step(f"step{i}", "", lambda tree, verdict=verdict: outcomes[verdict])  # type: ignore[misc]
        for i, verdict in enumerate(verdicts)
    )


def test_the_ladder_ends_at_the_first_failure(tree: Tree) -> None:
    steps = steps_that(Verdict.PASSED, Verdict.FAILED, Verdict.PASSED)
    taken = [(r.step, r.verdict.value) for r in climb(steps, tree)]
    assert taken == [("step0", "passed"), ("step1", "failed")]


def test_the_ladder_may_go_on_after_a_failure(tree: Tree) -> None:
    steps = steps_that(Verdict.FAILED, Verdict.PASSED)
    taken = [r.verdict.value for r in climb(steps, tree, keep_going=True)]
    assert taken == ["failed", "passed"]


def test_an_error_is_a_failure_of_its_step(tree: Tree) -> None:
    def take(tree: Tree) -> None:
        raise ToolError("cargo cannot be run: install it")

    step = Step("one", "", take)  # type: ignore[arg-type]
    (result,) = climb([step], tree)
    assert (result.verdict, result.evidence) == (
        Verdict.FAILED,
        ("cargo cannot be run: install it",),
    )


@pytest.mark.parametrize(
    ("only", "until", "wanted"),
    [
        ((), "", ["format", "check", "regress", "coverage", "parity"]),
        ((), "check", ["format", "check"]),
        (("coverage", "format"), "", ["format", "coverage"]),
        (("coverage", "format"), "check", ["format"]),
    ],
)
def test_a_part_of_the_ladder(only: tuple[str, ...], until: str, wanted: list[str]) -> None:
    # Further steps may follow those of this version.
    found = [step.name for step in part_of(STEPS, only=only, until=until)]
    assert found[: len(wanted)] == wanted
    assert len(found) == len(wanted) or not (only or until)


# --- processes ---------------------------------------------------------------------------------


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended but was not waited for does not."""
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def test_output_is_shown_as_it_comes_and_kept(tmp_path: Path) -> None:
    shown: list[str] = []
    script = "echo one; echo two >&2; printf three; exit 7"
    done = run(["sh", "-c", script], folder=tmp_path, environment=os.environ, show=shown.append)
    assert (done.status, done.lines) == (7, ("one", "two", "three"))
    assert shown == ["one", "two", "three"]


def test_a_missing_program_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"no-such-program cannot be run .*: install it"):
        run(["no-such-program"], folder=tmp_path, environment=os.environ, show=print)


@pytest.mark.parametrize("stubborn", [False, True])
def test_an_interruption_ends_every_process(
    tmp_path: Path, stubborn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portkit.verify.process._GRACE", 0.2)
    trap = "trap '' TERM;" if stubborn else ""
    script = f"{trap} sh -c '{trap} sleep 60 & echo $!; wait' & echo $!; echo ready; wait"
    processes: list[int] = []

    def show(line: str) -> None:
        if line != "ready":
            processes.append(int(line))
        if len(processes) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", script], folder=tmp_path, environment=os.environ, show=show)
    wait_until(lambda: not any(map(alive, processes)))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_to_portkit_ends_cargo(
    tmp_path: Path, cargo: Path, number: int, code: int
) -> None:
    candle = make_candle(tmp_path / "candle")
    file = tmp_path / "process"
    script(cargo, f"echo $$ > {file}; exec sleep 60")
    process = subprocess.Popen(
        [*PROGRAM, "verify", "--only", "check"],
        cwd=candle,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: file.exists() and file.read_text().strip())
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in said
    wait_until(lambda: not alive(int(file.read_text())))


# --- the baseline ------------------------------------------------------------------------------


def test_before_a_commit_the_baseline_is_head(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle")
    head = resolve(root, "HEAD")
    add_file(root, MARK, b"")
    assert default_revision(root, MARK) == head


def test_after_it_the_baseline_is_the_commit_before_the_port(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle")
    pristine = resolve(root, "HEAD")
    for path in (MARK, "later.txt", "candle-hip/src/lib.rs"):
        add_file(root, path, b"")
        commit(root)
    assert default_revision(root, MARK) == pristine


def test_a_merged_port_is_compared_with_what_it_was_merged_into(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle")
    git(root, "checkout", "--quiet", "-b", "port")
    add_file(root, MARK, b"")
    commit(root)
    git(root, "checkout", "--quiet", "main")
    add_file(root, "upstream.txt", b"")
    commit(root)
    upstream = resolve(root, "HEAD")
    git(root, "merge", "--quiet", "--no-edit", "port")
    assert default_revision(root, MARK) == upstream


def test_a_port_that_was_taken_back_is_no_port(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle")
    add_file(root, MARK, b"")
    commit(root)
    (root / MARK).unlink()
    commit(root)
    assert default_revision(root, MARK) == resolve(root, "HEAD")


def test_a_repository_that_begins_with_the_port_has_no_baseline(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle", repository=False)
    add_file(root, MARK, b"")
    commit(root)
    with pytest.raises(VerificationError, match=r"holds the port already.*--baseline"):
        default_revision(root, MARK)


@pytest.mark.parametrize("revision", ["no-such-branch", "--all", "HEAD^"])
def test_a_revision_that_git_does_not_know(tmp_path: Path, revision: str) -> None:
    root = make_candle(tmp_path / "candle")
    with pytest.raises(VerificationError, match="git knows no commit"):
        resolve(root, revision)


def test_a_tree_without_git_has_no_baseline(tmp_path: Path) -> None:
    root = make_candle(tmp_path / "candle", repository=False)
    with pytest.raises(VerificationError, match="git knows no commit HEAD"):
        default_revision(root, MARK)


@pytest.mark.parametrize("below", ["", "inner/"])
def test_the_baseline_is_checked_out_beside_the_tree(
    tmp_path: Path, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Neither a filter nor the index of a hook that runs portkit has a part in it.
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    top = tmp_path / "top"
    root = top / below
    make_candle(root, repository=False)
    (root / LIB).chmod(0o755)
    before = picture(root)
    with monkeypatch.context() as patch:
        patch.delenv("GIT_INDEX_FILE")
        patch.delenv("GIT_DIR")
        commit(top)
    (root / LIB).write_text("changed since")
    add_file(root, "new.rs", b"")
    now = picture(root)
    found = checked_out(root, tree_of(root, resolve(root, "HEAD")))
    assert found.is_relative_to(tmp_path / "cache" / "portkit")
    assert picture(found) == before
    assert picture(root) == now
    with monkeypatch.context() as patch:
        patch.delenv("GIT_INDEX_FILE")
        patch.delenv("GIT_DIR")
        assert git(top, "status", "--porcelain") == f" M {below}{LIB}\n?? {below}new.rs\n"


# --- what cargo writes -------------------------------------------------------------------------


def test_results_are_read_from_what_cargo_writes() -> None:
    assert results(CARGO_TEST.splitlines()) == Counter(
        {
            "candle_core unittests src/lib.rs tests::names ok": 1,
            "candle_core unittests src/lib.rs tests::panics - should panic ok": 1,
            "candle_core unittests src/lib.rs tests::slow ignored": 1,
            "candle_core unittests src/lib.rs tests::wrong FAILED": 1,
            "ops tests/ops.rs names ok": 1,
            "candle_core documentation candle-core/src/lib.rs - Device::name ok": 2,
            "candle_core documentation candle-core/src/lib.rs - Device::open - compile fail ok": 1,
        }
    )


def test_errors_are_read_with_their_places() -> None:
    written = """\
warning: unused variable: `a`
 --> src/lib.rs:1:9
error[E0004]: non-exhaustive patterns: `Device::Rocm(_)` not covered
  --> candle-core/src/lib.rs:23:15
   |
error: could not compile `candle-core` (lib) due to 1 previous error
"""
    assert errors(written.splitlines()) == [
        "error[E0004]: non-exhaustive patterns: `Device::Rocm(_)` not covered"
        " (candle-core/src/lib.rs:23:15)",
        "error: could not compile `candle-core` (lib) due to 1 previous error",
    ]


def test_settings_of_a_codebase() -> None:
    candle = load_settings("candle")
    assert candle.tested == ("candle-core", "candle-nn")
    assert candle.environment["CANDLE_ROCM_KERNELS"] == "none"
    assert load_settings("") == load_settings("another") == Settings()


# --- portkit verify ----------------------------------------------------------------------------


def script(place: Path, body: str) -> Path:
    place.write_text(f"#!/bin/sh\n{body}\n")
    place.chmod(0o755)
    return place


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a stand-in for cargo on PATH and the cache beside the trees."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    return script(folder / "cargo", "exit 0")


def verify(candle: Path, *options: str) -> dict[str, tuple[str, list[str]]]:
    done = invoke("verify", candle, "--json", *options)
    assert done.out, done.err
    document = json.loads(done.out)
    text = (resources.files("portkit") / "report" / "verify.schema.json").read_text()
    Draft202012Validator(json.loads(text)).validate(document)
    assert done.code == (0 if document["verdict"] == "passed" else 20)
    return {step["step"]: (step["verdict"], step["evidence"]) for step in document["steps"]}


def test_every_step_passes_on_a_good_tree(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    invoke("apply", candle, "--no-format")
    tested = tmp_path / "tested"
    tested.write_text(CARGO_TEST.replace("FAILED", "ok"))
    script(cargo, f'test "$1" != test || cat {tested}')
    found = verify(candle)
    assert {step: verdict for step, (verdict, _) in found.items()} == {
        step.name: "passed" for step in STEPS
    }


def test_a_failure_ends_with_a_sentence(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    script(cargo, "exit 101")
    done = invoke("verify", candle, "--keep-going")
    assert done.code == 20
    last = done.err.splitlines()[-1]
    assert last.startswith(f"error: {candle} does not pass format and check and regress")


def test_cargo_is_run_as_the_profile_says(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    log = tmp_path / "log"
    script(cargo, f'echo "$CANDLE_ROCM_KERNELS $CARGO_TARGET_DIR $PWD $*" >> {log}')
    before = picture(candle)
    verify(candle, "--only", "check")
    assert picture(candle) == before
    lines = [line.split(" ", 3) for line in log.read_text().splitlines()]
    assert [line[3] for line in lines] == [
        "check --workspace --all-targets --features=",
        "check --workspace --all-targets --features=rocm",
    ]
    for kernels, target, folder, _ in lines:
        assert (kernels, folder) == ("none", str(candle))
        assert target.startswith(str(tmp_path / "cache" / "portkit" / "target"))


def test_a_tree_that_does_not_type_check(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    script(
        cargo, 'case "$*" in *=rocm) echo "error: no field"; echo " --> a.rs:1:2"; exit 101; esac'
    )
    found = verify(candle, "--only", "check")
    assert found["check"] == (
        "failed",
        [
            "rocm: does not type-check",
            "error: no field (a.rs:1:2)",
            "no feature: type-checks, 0 warnings",
        ],
    )


def test_warnings_are_counted(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    script(
        cargo,
        'echo "warning: \\`candle-core\\` (lib) generated 2 warnings"\n'
        'echo "warning: \\`candle-core\\` (lib test) generated 1 warning (1 duplicate)"',
    )
    assert "no feature: type-checks, 3 warnings" in verify(candle, "--only", "check")["check"][1]


FMT = 'pwd=$(pwd -P); for file in {files}; do test ! -e $file || echo "$pwd/$file"; done; exit 1'


def test_what_was_unformatted_before_does_not_count(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    script(cargo, FMT.format(files=LIB))
    verdict, evidence = verify(candle, "--only", "format")["format"]
    assert (verdict, evidence) == (
        "passed",
        ["rustfmt would change 1 files, all as before the port"],
    )
    script(cargo, FMT.format(files=f"{LIB} new.rs"))
    add_file(candle, "new.rs", b"")
    verdict, evidence = verify(candle, "--only", "format")["format"]
    assert (verdict, evidence) == ("failed", ["rustfmt would change 1 files", "new.rs"])


def test_a_formatter_that_fails_is_no_success(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    script(cargo, "echo 'error: no such command: `fmt`'; exit 101")
    verdict, evidence = verify(candle, "--only", "format")["format"]
    assert verdict == "failed"
    assert "no such command: `fmt`" in evidence[0]


def regress(candle: Path, cargo: Path, before: str, after: str) -> tuple[str, list[str]]:
    """Verify a tree whose tests wrote one thing before the port and write another now."""
    for name, text in (("before", before), ("after", after)):
        add_file(cargo.parent, name, text.encode())
    script(
        cargo,
        f'test "$1" = test || exit 0\n'
        f'test "$(pwd -P)" = {candle} && cat {cargo.parent}/after || cat {cargo.parent}/before',
    )
    return verify(candle, "--only", "regress")["regress"]


def test_a_result_that_changes_is_a_regression(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    after = CARGO_TEST.replace("test tests::names ... ok", "test tests::names ... FAILED")
    verdict, evidence = regress(candle, cargo, CARGO_TEST, after)
    assert (verdict, evidence) == (
        "failed",
        [
            "1 of 8 tests do not give the same result",
            "before: candle_core unittests src/lib.rs tests::names ok",
            "now: candle_core unittests src/lib.rs tests::names FAILED",
        ],
    )


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("test tests::names ... ok\n", "failed"),  # one test less
        ("", "passed"),
    ],
)
def test_a_test_that_is_gone_is_a_regression(
    tmp_path: Path, cargo: Path, line: str, verdict: str
) -> None:
    candle = make_candle(tmp_path / "candle")
    assert regress(candle, cargo, CARGO_TEST, CARGO_TEST.replace(line, ""))[0] == verdict


@pytest.mark.parametrize(("result", "verdict"), [("ok", "passed"), ("FAILED", "failed")])
def test_new_tests_must_pass(tmp_path: Path, cargo: Path, result: str, verdict: str) -> None:
    candle = make_candle(tmp_path / "candle")
    new = CARGO_TEST.replace("test names ... ok\n", f"test names ... ok\ntest rocm ... {result}\n")
    found, evidence = regress(candle, cargo, CARGO_TEST, new)
    assert found == verdict
    assert ("1 new tests pass or are ignored" in evidence[0]) is (verdict == "passed")


def test_a_shifted_line_is_no_change(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    after = CARGO_TEST.replace("(line 22)", "(line 27)").replace("(line 30)", "(line 35)")
    verdict, evidence = regress(candle, cargo, CARGO_TEST, after)
    assert verdict == "passed"
    assert evidence[1:] == ["failed before as well: candle_core unittests src/lib.rs tests::wrong"]


def test_tests_that_do_not_run_are_no_success(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    verdict, evidence = regress(candle, cargo, CARGO_TEST, "error: cannot find macro `ok`\n")
    assert verdict == "failed"
    assert "cannot find macro `ok`" in evidence[0]


def test_the_baseline_is_tested_once(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    assert regress(candle, cargo, CARGO_TEST, CARGO_TEST)[0] == "passed"
    # Were it tested again, it would differ.
    assert regress(candle, cargo, "", CARGO_TEST)[0] == "passed"
    add_file(candle, "new.txt", b"")
    commit(candle)
    assert regress(candle, cargo, "", CARGO_TEST)[0] == "failed"


def test_an_unaccounted_mention_fails_coverage(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    assert verify(candle, "--only", "coverage")["coverage"][0] == "passed"
    # Inside what the parser does not understand, no rule can explain a mention.
    add_file(candle, "candle-core/src/broken.rs", b"pub fn cuda( {\n")
    verdict, evidence = verify(candle, "--only", "coverage")["coverage"]
    assert (verdict, evidence[1]) == ("failed", "candle-core/src/broken.rs:1")


def test_a_bad_tree_fails_before_the_first_step(tmp_path: Path, cargo: Path) -> None:
    done = invoke("verify", tmp_path)
    assert (done.code, done.out) == (10, "")
    assert done.err.count("\n") == 1


def test_verdicts_are_lines_and_cargo_s_output_is_apart(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    script(cargo, "echo noise")
    done = invoke("verify", candle, "--until", "check")
    first, second, third, *rest = done.out.splitlines()
    assert first.startswith("format     passed in 0.")
    assert second == "    `cargo fmt --all --check` is clean"
    assert third.startswith("check      passed in 0.")
    assert rest == [
        "    no feature: type-checks, 0 warnings",
        "    rocm: type-checks, 0 warnings",
    ]
    assert "noise" in done.err


@pytest.mark.real
def test_the_ladder_with_the_real_cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    candle = make_candle(tmp_path / "candle")
    add_file(candle, "Cargo.lock", b"# cargo writes it at the first command\n")
    # Without the crates that the port adds, whose dependencies would have to be downloaded.
    invoke("apply", candle, "--skip", "PK103,PK203", "--allow-dirty")
    found = verify(candle)
    assert {step: verdict for step, (verdict, _) in found.items()} == dict.fromkeys(
        ("format", "check", "regress", "coverage", "parity"), "passed"
    )
    assert found["regress"][1][0].startswith("2 tests give the same results as ")

    lib = candle / LIB
    ported = lib.read_text()
    lib.write_text(ported.replace('            Self::Rocm(_) => "rocm",\n', ""))
    verdict, evidence = verify(candle, "--only", "check")["check"]
    assert verdict == "failed"
    assert "error[E0004]" in evidence[1]
    lib.write_text(ported.replace('=> "cpu"', '=> "CPU"'))
    verdict, evidence = verify(candle, "--only", "regress")["regress"]
    assert (verdict, evidence[0]) == ("failed", "2 of 2 tests do not give the same result")
    lib.write_text(ported.replace("=> ", "=>  "))
    verdict, evidence = verify(candle, "--only", "format")["format"]
    assert (verdict, evidence) == ("failed", ["rustfmt would change 1 files", LIB])
