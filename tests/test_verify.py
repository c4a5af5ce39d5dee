"""The ladder itself, and `portkit verify` as a user meets it."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from apply_support import picture
from cli_support import PROGRAM, add_file, environment, invoke, make_candle
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
    valid,
    verify,
)

from portkit.errors import ToolError, VerificationError
from portkit.report.run_display import CargoProgress
from portkit.report.terminal import Terminal
from portkit.report.verify_report import render_step
from portkit.verify import (
    STEPS,
    InvalidOptionError,
    Options,
    Result,
    Shard,
    Step,
    Verdict,
    VerifiedTree,
    parse_shard,
    run_steps,
    select_steps,
    verify_tree,
)
from portkit.verify.options import parse_archs
from portkit.verify.step_runner import (
    LEFT_OUT,
    Outcome,
    Summary,
    fail_step,
    mark_inapplicable,
    pass_step,
    skip_step,
)


class Silent:
    """Watches, and keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def starts(self, steps: object) -> None:
        self.heard.append("starts")

    def begins(self, step: Step) -> None:
        self.heard.append(f"begins {step.name}")

    def line(self, text: str) -> None:
        self.heard.append(text)

    def ends(self, result: Result) -> None:
        self.heard.append(f"{result.verdict} {result.step}")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VerifiedTree:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return make_tree(make_candle(tmp_path / "candle"))


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return install_cargo(tmp_path, monkeypatch)


# --- the ladder --------------------------------------------------------------------------------

OUTCOMES = {
    Verdict.PASSED: pass_step("good"),
    Verdict.FAILED: fail_step("bad"),
    Verdict.SKIPPED: skip_step("no GPU"),
}


def steps_that(*verdicts: Verdict) -> tuple[Step, ...]:
    return tuple(
        Step(f"step{i}", "x", 60 + i, lambda tree, verdict=verdict: OUTCOMES[verdict])  # type: ignore[misc]
        for i, verdict in enumerate(verdicts)
    )


def taken(tree: VerifiedTree, *verdicts: Verdict) -> Summary:
    return run_steps(steps_that(*verdicts), tree, Silent())


def raising(error: BaseException) -> Step:
    def take(tree: VerifiedTree) -> Outcome:
        raise error

    return Step("one", "x", 60, take)


def test_a_failure_names_copies_of_an_older_version(tmp_path: Path) -> None:
    """What is wrong with them is seldom worth looking for."""
    candle = make_candle(tmp_path / "candle")
    upstream = "candle-core/src/cuda_backend/mod.rs"
    add_file(candle, upstream, b"pub fn cuda_one() -> u8 {\n    1\n}\n")
    assert invoke("apply", candle, "--no-format", "--allow-dirty").code == 0
    place = str(candle)

    def said(*verdicts: Verdict) -> str:
        steps = steps_that(*verdicts)
        return verify_tree(candle, Options(), Silent(), steps, consent=str).sentence(place)

    assert said(Verdict.FAILED).endswith(": mend what the evidence names and verify again")
    add_file(candle, upstream, b"pub fn cuda_one() -> u8 {\n    2\n}\n")
    remedy = f"`portkit apply {place} --regenerate`"
    copy = "candle-core/src/rocm_backend/mod.rs"
    assert f"does not pass step0, and {copy} is not what" in said(Verdict.FAILED)
    assert remedy in said(Verdict.FAILED)
    assert said(Verdict.PASSED) == ""
    # What is written anew is looked at in the same way.
    asked = " --gating dummy"
    steps, options = steps_that(Verdict.FAILED), Options(asked=asked)
    lost = verify_tree(candle, options, Silent(), steps, consent=str).sentence(place)
    assert f"`portkit apply {place}{asked} --regenerate`" in lost
    scanned = " ".join(invoke("scan", candle, *asked.split()).out.split())
    assert f"`portkit apply {place}{asked} --regenerate`" in scanned
    unported = make_candle(tmp_path / "unported")
    refused = invoke("verify", unported, *asked.split(), "--only", "parity")
    assert f"`portkit apply {unported}{asked}` first" in refused.err


def test_a_tree_that_cannot_be_ported_is_not_sent_to_apply(tmp_path: Path) -> None:
    crate = make_candle(tmp_path / "candle") / "candle-core"
    manifest = crate / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("candle-core", "other"))
    done = invoke("verify", crate.parent, "--only", "parity")
    assert done.code == 16
    assert "no profile for the codebase" in done.err
    assert "first" not in done.err
    scanned = " ".join(invoke("scan", crate.parent).out.split())
    assert "`portkit apply` refuses: portkit has no profile" in scanned
    assert "`portkit init` makes one of what the tree tells" in scanned
    assert "Next: `portkit apply" not in scanned


def test_the_ladder_ends_at_the_first_failure(tree: VerifiedTree) -> None:
    summary = taken(tree, Verdict.PASSED, Verdict.FAILED, Verdict.PASSED)
    assert [r.verdict for r in summary.results] == ["passed", "failed", "not taken"]
    assert summary.results[2].evidence == ("step1 failed",)
    assert (summary.verdict, summary.exit_code) == ("failed", 61)
    assert summary.sentence("here").startswith("here does not pass step1:")


def test_the_ladder_may_go_on_after_a_failure(tree: VerifiedTree) -> None:
    tree = VerifiedTree(tree.scan, Options(keep_going=True), tree.say)
    summary = taken(tree, Verdict.FAILED, Verdict.PASSED, Verdict.FAILED)
    assert [r.verdict for r in summary.results] == ["failed", "passed", "failed"]
    assert summary.exit_code == 60
    assert summary.sentence("here").startswith("here does not pass step0 and step2:")


def test_what_is_skipped_does_not_end_the_ladder(tree: VerifiedTree) -> None:
    summary = taken(tree, Verdict.SKIPPED, Verdict.PASSED)
    assert [r.verdict for r in summary.results] == ["skipped", "passed"]
    assert (summary.verdict, summary.exit_code, summary.sentence("here")) == ("passed", 0, "")
    assert summary.left_out == ("step0: no GPU",)


def test_nothing_but_skipped_is_no_success(tree: VerifiedTree) -> None:
    assert taken(tree, Verdict.SKIPPED, Verdict.SKIPPED).verdict is Verdict.SKIPPED


def test_what_a_codebase_has_nothing_for_is_not_left_out(tree: VerifiedTree) -> None:
    tree = VerifiedTree(tree.scan, Options(no_skip=True), tree.say)
    steps = [
        Step("first", "x", 60, lambda tree: mark_inapplicable("it has no kernels")),
        Step("last", "x", 61, lambda tree: pass_step("good")),
    ]
    summary = run_steps(steps, tree, Silent())
    assert [r.verdict for r in summary.results] == ["skipped", "passed"]
    assert (summary.verdict, summary.exit_code, summary.left_out) == ("passed", 0, ())


def test_the_user_may_want_everything_to_be_looked_at(tree: VerifiedTree) -> None:
    tree = VerifiedTree(tree.scan, Options(no_skip=True), tree.say)
    summary = taken(tree, Verdict.SKIPPED, Verdict.PASSED)
    assert (summary.verdict, summary.exit_code) == ("failed", 49)
    assert "step0: no GPU" in summary.sentence("here")
    partly = Step("part", "x", 60, lambda tree: pass_step("good", left_out=["cuda: no nvcc"]))
    summary = run_steps([partly], tree, Silent())
    assert (summary.exit_code, summary.left_out) == (49, ("part: cuda: no nvcc",))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ToolError("cargo is not on PATH: install it"), 19, "cargo is not on PATH: install it"),
        (VerificationError("there is no test"), 60, "there is no test"),
        (OSError(errno.ENOSPC, "No space", "/x"), 21, "the disk is full (/x): make room"),
        (KeyError("x"), 70, "this is a defect of portkit, please report it (KeyError: 'x')"),
        (OSError(errno.EACCES, "Denied"), 70, "this is a defect of portkit"),
    ],
)
def test_an_error_is_a_failure_of_its_step(
    tree: VerifiedTree, error: Exception, code: int, said: str
) -> None:
    watch = Silent()
    (result,) = run_steps([raising(error)], tree, watch).results
    assert (result.verdict, result.code) == (Verdict.FAILED, code)
    assert result.evidence[0].startswith(said)
    assert watch.heard == ["starts", "begins one", "failed one"]


@pytest.mark.parametrize(("signal", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_an_interruption_ends_the_ladder(
    tree: VerifiedTree, signal: BaseException, code: int
) -> None:
    tree = VerifiedTree(tree.scan, Options(keep_going=True), tree.say)
    summary = run_steps([raising(signal), *steps_that(Verdict.PASSED)], tree, Silent())
    assert [r.verdict for r in summary.results] == ["interrupted", "not taken"]
    assert (summary.verdict, summary.exit_code) == ("interrupted", code)


# Further steps stand between and behind these: each has tests of its own.
LADDER = ["format", "coverage", "parity", "check", "lint", "regress"]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (Options(), LADDER),
        (Options(until="check"), LADDER[:4]),
        (Options(only=("coverage", "format")), ["format", "coverage"]),
        (Options(only=("coverage", "format"), until="parity"), ["format", "coverage"]),
        (Options(until="regress", shard=Shard(2, 3)), ["regress"]),
        (Options(until="check", shard=Shard(1, 3)), LADDER[:4]),
    ],
)
def test_a_part_of_the_ladder(options: Options, wanted: list[str]) -> None:
    found = [step.name for step in select_steps(STEPS, options)]
    assert [name for name in found if name in LADDER] == wanted
    assert not options.until or found[-1] == wanted[-1]
    assert not options.only or found == wanted


def test_a_shard_without_a_step_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match=r"shard 2/3 has no part in format and check"):
        select_steps(STEPS, Options(only=("format", "check"), shard=Shard(2, 3)))


def test_of_what_passed_only_the_beginning_is_shown() -> None:
    lines = [f"line {number}" for number in range(9)]
    for outcome, shown in (
        (pass_step(*lines[:7], left_out=["nvcc"]), [*lines[:7], "left out: nvcc"]),
        (
            pass_step(*lines, left_out=["nvcc"]),
            [*lines[:6], "and 3 lines more, which --json writes", "left out: nvcc"],
        ),
        (fail_step(*lines), lines),
    ):
        result = Result("names", "there", outcome, 1.0)
        assert [line.strip() for line in render_step(result, Terminal())][1:] == shown


def test_a_step_that_comes_too_late_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match=r"lint comes after format, until which"):
        select_steps(STEPS, Options(only=("lint",), until="format"))


@pytest.mark.parametrize("name", ["gfx1100", "gfx90a", "gfx906", "gfx9-4-generic", "gfx11-generic"])
def test_an_architecture_is_read(name: str) -> None:
    assert parse_archs([name]) == (name,)


@pytest.mark.parametrize("name", ["gfx1", "gfx9999", "foo", "gfx1100x", "sm_80"])
def test_what_is_no_architecture(name: str) -> None:
    with pytest.raises(InvalidOptionError, match="is no architecture: write one such as gfx1100"):
        parse_archs([name])


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shards_are_disjoint_and_hold_everything(count: int) -> None:
    work = [f"test {i}" for i in range(17)]
    parts = [Shard(index, count).part(work) for index in range(1, count + 1)]
    assert sorted(item for part in parts for item in part) == sorted(work)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_shard_is_read() -> None:
    assert parse_shard("2/3") == Shard(2, 3)
    assert parse_shard("") == Shard(1, 1)
    assert str(Shard(2, 3)) == "2/3"


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "1/3/5", "-1/3", "1 /3"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="is no shard: write I/N"):
        parse_shard(text)


def test_exit_codes_of_steps_are_their_own() -> None:
    codes = [step.code for step in STEPS]
    assert len(set(codes)) == len(codes)
    assert all(40 <= code <= 50 and code != LEFT_OUT for code in codes)


# --- the command -------------------------------------------------------------------------------


def test_every_step_passes_on_a_good_tree(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    program = binary(tmp_path / "tests", {"names": "ok"})
    add_file(tmp_path, "message", artifact(candle, program).encode())
    stand_in(cargo, f'case "$*" in "test --no-run"*) cat {tmp_path}/message;; esac')
    found = verify(candle, *only(*LADDER))
    assert {name: step["verdict"] for name, step in found.items()} == dict.fromkeys(
        LADDER, "passed"
    )


def test_a_failure_ends_with_a_sentence_and_its_own_code(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, 'case "$*" in fmt*) exit 0;; esac; exit 101')
    done = invoke("verify", candle, "--keep-going", *only(*LADDER))
    assert done.code == 43
    last = done.err.splitlines()[-1]
    assert last.startswith(f"error: {candle} does not pass check, lint and regress: mend")


def test_a_summary_that_a_person_reads(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, 'test "$1" != check || exit 101; echo noise')
    done = invoke("verify", candle, *only(*LADDER[:5]))
    assert done.code == 43
    steps, _, summary = done.out.partition("\n\n")
    first, second, *_ = steps.splitlines()
    assert re.fullmatch(r"format     passed in \d+\.\d s", first)
    assert second == "    `cargo fmt --all --check` is clean"
    lines = [" ".join(line.split()) for line in summary.splitlines()]
    assert re.match(r"passed format \d+\.\d s", lines[0])
    assert re.match(r"FAILED check \d+\.\d s", lines[3])
    assert lines[4] == "not taken lint check failed"
    assert lines[-1].startswith("FAILED: 3 passed, 1 failed, 1 not taken in ")
    assert "(candle 0.11.1 against " in lines[-1]
    assert "noise" in done.err
    assert "noise" not in done.out


def test_a_skipped_step_says_why(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    script(cargo, 'test "$2" != --version; exit $?')  # neither rustfmt nor clippy
    done = invoke("verify", candle, "--only", "format", "--only", "lint", "--only", "coverage")
    assert done.code == 0
    assert "format     skipped\n    rustfmt is not installed: rustup component add" in done.out
    assert "left out   lint: clippy is not installed" in done.out
    assert "passed: 1 passed, 2 skipped in" in done.out
    done = invoke("verify", candle, "--only", "format", "--only", "coverage", "--no-skip")
    assert done.code == 49
    assert "rustfmt is not installed" in done.err.splitlines()[-1]


def test_without_cargo_the_ladder_says_so(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    bare = tmp_path / "bare"
    bare.mkdir()
    for program in ("git", "sh"):
        (bare / program).symlink_to(
            subprocess.run(
                ["which", program], check=True, capture_output=True, text=True
            ).stdout.strip()
        )
    done = subprocess.run(
        [*PROGRAM, "verify", str(candle), "--keep-going", *only(*LADDER[:4])],
        env=environment() | {"PATH": str(bare)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 19
    assert "cargo is not on PATH: install it" in done.stdout
    assert "FAILED: 2 passed, 2 failed" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_document_goes_where_it_is_wanted(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    file = tmp_path / "verify.json"
    done = invoke("verify", candle, "--only", "coverage", "--json", file)
    assert done.out.startswith("coverage   passed")
    in_file = valid(file.read_text())
    printed = valid(invoke("verify", candle, "--only", "coverage", "--json", "-").out)
    for document in (in_file, printed):
        document["seconds"] = document["steps"][0]["seconds"] = 0
    assert in_file == printed
    assert printed["shard"] == "1/1"
    assert printed["steps"][0]["figures"]["todo"] == 0
    assert [path.name for path in tmp_path.glob(".verify*")] == []


def test_a_bad_tree_is_a_sentence_and_a_document(tmp_path: Path, cargo: Path) -> None:
    file = tmp_path / "verify.json"
    done = invoke("verify", tmp_path, "--json", file)
    assert (done.code, done.out) == (10, "")
    assert done.err.count("\n") == 1
    document = valid(file.read_text())
    assert (document["verdict"], document["exit_code"]) == ("failed", 10)
    assert document["sentence"] in done.err
    assert {step["verdict"] for step in document["steps"]} == {"not taken"}


def test_a_tree_without_a_port_is_refused(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    done = invoke("verify", candle)
    assert (done.code, done.out) == (20, "")
    assert f"holds no port to ROCm: run `portkit apply {candle}` first" in done.err


def test_a_half_ported_tree_fails_coverage(tmp_path: Path, cargo: Path) -> None:
    candle = make_candle(tmp_path / "candle")
    assert invoke("apply", candle, "--no-format", "--skip", "PK301,PK201").code == 0
    verdict, evidence = step(candle, "coverage")
    assert (verdict, evidence[0]) == (
        "failed",
        "2 places are still to do: `portkit apply` writes them",
    )
    assert any(line.startswith("PK301 candle-core/src/lib.rs:") for line in evidence)


def test_an_unaccounted_mention_fails_coverage(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    assert step(candle, "coverage")[0] == "passed"
    # Inside what the parser does not understand, no rule can explain a mention.
    add_file(candle, "candle-core/src/broken.rs", b"pub fn cuda( {\n")
    verdict, evidence = step(candle, "coverage")
    assert (verdict, evidence[:2]) == (
        "failed",
        ["1 backend mentions are unaccounted for", "candle-core/src/broken.rs:1"],
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--until", "heaven"], "there is no step 'heaven'; the steps are format, "),
        (["--shard", "3"], "'3' is no shard"),
        (["--shard", "2/2", "--only", "format"], "shard 2/2 has no part in format"),
        (["--test-timeout", "0"], "0"),
    ],
)
def test_wrong_usage(tmp_path: Path, cargo: Path, options: list[str], said: str) -> None:
    done = invoke("verify", make_ported(tmp_path), *options)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_verify_writes_nothing_into_the_tree(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    before = picture(candle)
    verify(candle, *only(*LADDER))
    assert picture(candle) == before


# --- where there is no room --------------------------------------------------------------------

FULL = Path("/dev/full")  # full(4): every write fails as on a full disk


@pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")
def test_a_full_disk_behind_the_output(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    with FULL.open("w") as full:
        done = subprocess.run(
            [*PROGRAM, "verify", str(candle), "--only", "coverage", "--only", "parity"],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 21
    assert "error: the output could not be written (No space left on device)" in done.stderr
    assert "passed: 2 passed in" in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(("extra", "code"), [([], 21), (["--no-format"], 21)])
def test_a_full_disk_behind_the_document(
    tmp_path: Path, cargo: Path, extra: list[str], code: int
) -> None:
    candle = make_ported(tmp_path)
    done = invoke("verify", candle, "--only", "coverage", "--json", FULL)
    assert done.code == code
    assert done.err.count("the document could not be written to /dev/full") == 1
    assert "passed: 1 passed in" in done.out


def test_a_failure_counts_more_than_a_lost_document(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, 'test "$1" != check || exit 101')
    done = invoke("verify", candle, "--only", "check", "--json", tmp_path / "no" / "x.json")
    assert done.code == 43
    assert "the document could not be written" in done.err


def test_a_cache_that_cannot_be_written_does_not_matter(
    tmp_path: Path, cargo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    candle = make_ported(tmp_path)
    add_file(tmp_path, "file", b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    done = invoke("verify", candle, "--only", "check")
    assert done.code == 0
    assert "not remembered: the cache entry" in done.err


def test_a_full_disk_that_cargo_meets_is_named(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, 'echo "error: failed to write: No space left on device (os error 28)"; exit 1')
    verdict, evidence = step(candle, "check")
    assert verdict == "failed"
    assert evidence[1].startswith("the disk is full (error: failed to write")


IN_A_SMALL_DISK = """\
mount -t tmpfs -o size=40k tmpfs {cache} && head -c 39k /dev/zero > {cache}/full
exec "$@"
"""


def test_a_full_disk_behind_the_cache(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, 'case "$*" in fmt*) test ! -e new.rs || echo "$PWD/new.rs"; exit 1;; esac')
    add_file(candle, "new.rs", b"")
    cache = tmp_path / "cache"
    cache.mkdir(exist_ok=True)
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    inside += [IN_A_SMALL_DISK.format(cache=cache), "sh"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no name space of mounts can be made here")
    wanted = ["--keep-going", *only("format", "coverage", "check")]
    done = subprocess.run(
        [*inside, *PROGRAM, "verify", str(candle), *wanted],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    # The baseline does not fit; what was found cannot be remembered, which is no failure.
    assert done.returncode == 21, done.stderr
    assert "there is no room for the tree to compare with" in done.stdout
    assert "not remembered: " in done.stderr
    assert "FAILED: 2 passed, 1 failed in " in done.stdout


def test_two_runs_at_once(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, 'sleep 0.3; case "$*" in fmt*) test ! -e x.rs || echo "$PWD/x.rs";; esac')
    add_file(candle, "x.rs", b"")
    command = [*PROGRAM, "verify", str(candle), *only("format", "check"), "--keep-going"]
    runs = [
        subprocess.Popen(
            [*command, "--json", str(tmp_path / f"{i}.json")],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(3)
    ]
    said = [run.communicate(timeout=120)[1] for run in runs]
    documents = [valid((tmp_path / f"{i}.json").read_text()) for i in range(3)]
    # The tree has a file that is not formatted, and the baseline lacks it.
    assert [run.returncode for run in runs] == [40] * 3, said
    for document in documents:
        assert document["steps"][0]["evidence"][1:] == ["x.rs"]
    done = invoke("verify", candle, *only("check"), "--json", "-")
    assert valid(done.out)["steps"][0]["verdict"] == "passed"


# --- a terminal --------------------------------------------------------------------------------

DRIVER = """\
import os, pty, sys
code = pty.spawn(sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(code))
"""


def test_in_a_terminal_one_line_is_redrawn(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    stand_in(cargo, 'echo "   Compiling first"; sleep 1.2; echo "   Compiling second"')
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *PROGRAM, "verify", str(candle), "--only", "check"],
        env=environment() | {"TERM": "xterm", "COLUMNS": "60", "LINES": "24"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    written = done.stdout.decode()
    assert done.returncode == 0, written
    drawn = written.split("\r\x1b[K")
    times = set(re.findall(r"\r\x1b\[Kcheck ([\d.]+) s Compiling first", written))
    assert len(times) > 1, "the time goes on by itself"
    assert "Compiling first\r\n" not in written, "what cargo writes is no line of its own"
    assert "passed" in drawn[-1]


def test_of_lines_that_name_crate_after_crate_few_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr("portkit.report.run_display.time.monotonic", lambda: clock[0])
    crates = CargoProgress()

    def shown(text: str, seconds: float = 1.0) -> str:
        clock[0] += seconds
        return crates.told(text, each=False)

    assert shown("$ cargo check") == "$ cargo check"
    lines = [shown(f"    Checking some-crate v1.0.{i}", 4.0) for i in range(8)]
    assert [line for line in lines if line] == [
        "    Checking some-crate v1.0.3 (crate 4)",
        "    Checking some-crate v1.0.7 (crate 8)",
    ]
    assert shown("  Downloaded other v0.1.0") == ""
    assert shown("error[E0433]: cannot find module") == "error[E0433]: cannot find module"
    assert shown("    Checking is what rustc's message says") != ""
    shown("$ cargo check --features=rocm")
    assert shown("   Compiling other v0.1.0", 20.0) == "   Compiling other v0.1.0 (crate 1)"
    # Where the line is redrawn there is room for each.
    assert crates.told("   Compiling other v0.2.0", each=True).endswith("(crate 2)")


def test_steps_and_lines_are_told_in_their_order(tree: VerifiedTree) -> None:
    watch = Silent()
    tree = VerifiedTree(tree.scan, tree.options, watch.line)
    said = Step("one", "x", 60, lambda tree: tree.say("hello") or pass_step("good"))  # type: ignore[func-returns-value]
    run_steps([said, *steps_that(Verdict.FAILED, Verdict.PASSED)], tree, watch)
    assert watch.heard == [
        *("starts", "begins one", "hello", "passed one"),
        *("begins step0", "failed step0", "not taken step1"),
    ]


def test_the_document_of_a_defect(tmp_path: Path, cargo: Path) -> None:
    candle = make_ported(tmp_path)
    # A defect cannot be asked for, so one is made: the step's module loses what it needs.
    code = (
        "import portkit.verify.static_steps as c, sys\n"
        "c.Status = None\n"
        "from portkit.cli import load_program\n"
        f"sys.argv = ['portkit', 'verify', {str(candle)!r}, '--keep-going', '--only', 'coverage',"
        " '--only', 'parity', '--json', '-']\n"
        "load_program()()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 70
    assert "Traceback" not in done.stderr
    document = valid(done.stdout)
    assert [step["verdict"] for step in document["steps"]] == ["failed", "passed"]
    assert "this is a defect of portkit" in document["steps"][0]["evidence"][0]
    assert json.dumps(document) and os.environ  # the document is plain data
