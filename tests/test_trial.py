"""``portkit trial``: stages that end whatever they do, and a file that tells of no person."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import environment, invoke, make_candle
from trial_support import SCHEMA, conducted, read, stage, trial
from verify_support import wait_until

from portkit.report.terminal import Terminal
from portkit.selftest.document import combine_verdicts, read_rates, read_trial
from portkit.selftest.page import render_page, write_atomically
from portkit.selftest.privacy import Scrub
from portkit.selftest.run_comparison import render_comparison
from portkit.selftest.stages import LIMITS, SelftestOptions, find_newest_spec, plan_stages

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]


def gone(number: str) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        return ") Z " in Path("/proc", number.strip(), "stat").read_text()
    except OSError:
        return True


# --- the stages --------------------------------------------------------------------------------


def test_a_stage_that_fails_ends_no_other(tmp_path: Path) -> None:
    found, kept = conducted(
        tmp_path,
        stage("one", "echo first; echo part; echo; echo second"),
        stage("two", "echo why >&2; exit 3"),
        stage("three", "kill -SEGV $$"),
        stage("four", "echo last"),
        stage("five", "exit 0", left_out="it is not wanted"),
    )
    assert [entry["verdict"] for entry in found] == [
        *("passed", "failed", "failed", "passed", "skipped"),
    ]
    assert [entry["evidence"] for entry in found] == [
        *(["first part"], ["why"], [], ["last"], ["it is not wanted"]),
    ]
    assert kept[0] == "interrupted not-taken not-taken not-taken not-taken"
    assert kept[1] == "passed not-taken not-taken not-taken not-taken"
    assert kept[-1] == "passed failed failed passed skipped"


def test_without_what_is_needed_the_others_are_not_taken(tmp_path: Path) -> None:
    found, _ = conducted(tmp_path, stage("build", "exit 1", needed=True), stage("tests", "echo on"))
    assert (found[1]["verdict"], found[1]["evidence"]) == ("not taken", ["build failed"])


def test_a_stage_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    body = (
        f"sleep 300 & echo $! >{tmp_path}/child; (trap '' TERM; sleep 300) & "
        f"echo $! >{tmp_path}/stubborn; echo 'test a ... ok'; echo 'test b ... FAILED'; "
        "while :; do echo on; sleep 0.1; done"
    )
    found, _ = conducted(tmp_path, stage("tests", body, limit=1.0), stage("next", "echo on"))
    assert found[0]["verdict"] == "failed"
    assert found[0]["evidence"][:3] == [
        "ended after 1 s, its limit",
        "tests until then: 1 FAILED, 1 ok; the last was b",
        "b FAILED",
    ]
    assert found[0]["figures"] == {"passed": 1, "failed": 1}
    assert found[1]["verdict"] == "passed"
    for name in ("child", "stubborn"):
        wait_until(lambda name=name: gone((tmp_path / name).read_text()))  # type: ignore[misc]


NESTED = """
import os, signal, sys
from pathlib import Path
from portkit.workspace.process import end_on_signals, run_process
if sys.argv[1] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
body = "echo $$ >pid; (trap '' TERM; sleep 300)"
where = {"folder": Path.cwd(), "environment": os.environ, "show": print}
if sys.argv[1] == "stubborn":
    run_process(["sh", "-c", body], **where)
with end_on_signals():
    run_process(["sh", "-c", body], **where)
"""


@pytest.mark.parametrize("middle", ["stubborn", "yielding"])
def test_what_a_stage_starts_in_groups_of_their_own_is_ended_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, middle: str
) -> None:
    """As cargo is, which a step of the ladder starts in a group of its own."""
    from dataclasses import replace

    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    command = (sys.executable, "-c", NESTED, middle)
    hanging = replace(stage("build", "", limit=3.0), command=command)
    (entry,), _ = conducted(tmp_path, hanging)
    assert entry["evidence"][0] == "ended after 3 s, its limit"
    number = (tmp_path / "pid").read_text()
    wait_until(lambda: gone(number))


def test_a_stage_that_floods_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portkit.selftest.stage_runner.MOST", 1 << 20)
    found, _ = conducted(tmp_path, stage("tests", "yes"), stage("next", "echo on"))
    assert found[0]["evidence"][0] == "ended after 1 MiB of output"
    assert found[1]["verdict"] == "passed"


def test_a_program_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    found, _ = conducted(tmp_path, stage("one", ""), stage("two", "echo on"))
    assert found[1]["verdict"] == "passed"
    from dataclasses import replace

    missing = replace(stage("one", ""), command=("no-such-program",))
    (entry,), _ = conducted(tmp_path, missing)
    assert (entry["verdict"], entry["evidence"]) == (
        "failed",
        ["no-such-program is not on PATH: install it, or add its folder to PATH"],
    )


def test_what_a_step_of_the_ladder_writes_is_taken(tmp_path: Path) -> None:
    step = {
        "step": "device",
        "verdict": "passed",
        "evidence": ["all well"],
        "left_out": [],
        "figures": {"tests": 2},
        "tests": [],
        "diagnostics": [{"message": "a line of source"}],
    }
    place = tmp_path / "tests.json"
    told = {"title": "candle 0.11.1", "sentence": "", "steps": [step]}
    body = f"cat >{place} <<'E'\n{json.dumps(told)}\nE\necho noise"
    (entry,), _ = conducted(tmp_path, stage("tests", body, document=place))
    assert (entry["step"], entry["verdict"], entry["evidence"]) == (
        *("tests", "passed"),
        ["all well"],
    )
    assert entry["figures"] == {"tests": 2}
    assert entry["diagnostics"] == []
    # A document of an earlier run is no word about this one, and half of one is none.
    (entry,), _ = conducted(tmp_path, stage("tests", "exit 1", document=place))
    assert entry["verdict"] == "failed"
    (entry,), _ = conducted(tmp_path, stage("t", f"echo '{{' >{place}; exit 1", document=place))
    assert entry["verdict"] == "failed"
    told["steps"] = [{**step, "verdict": "not taken"}]
    told["sentence"] = "there is no port"
    body = f"cat >{place} <<'E'\n{json.dumps(told)}\nE\nexit 20"
    (entry,), _ = conducted(tmp_path, stage("tests", body, document=place))
    assert (entry["verdict"], entry["evidence"]) == ("failed", ["there is no port"])


def test_what_the_doctor_finds_counts_on_a_gpu(tmp_path: Path) -> None:
    complaint = {"level": "problem", "what": "there is no GPU", "mend": "take one"}
    told = {"problems": 1, "facts": {"kernel": "6.8"}, "complaints": [complaint]}
    body = f"echo '{json.dumps(told)}'; exit 1"
    (entry,), _ = conducted(tmp_path, stage("doctor", body), device="gpu")
    assert entry["verdict"] == "failed"
    assert entry["evidence"] == ["problem: there is no GPU; take one", "kernel: 6.8"]
    (entry,), _ = conducted(tmp_path, stage("doctor", body), device="cpu")
    assert entry["verdict"] == "skipped"
    assert entry["evidence"][0] == "the CPU device needs nothing of what is missing"
    (entry,), _ = conducted(tmp_path, stage("doctor", body), device="emulator")
    assert entry["verdict"] == "skipped"
    assert entry["evidence"][0].startswith("the emulator needs no GPU")
    (entry,), _ = conducted(tmp_path, stage("doctor", "echo nonsense"), device="gpu")
    assert (entry["verdict"], entry["evidence"]) == ("failed", ["nonsense"])


def test_stages_are_processes_of_their_own(tmp_path: Path) -> None:
    made = plan_stages(SelftestOptions(tmp_path, device="cpu", offline=True, limits={"tests": 5.0}))
    assert [each.name for each in made] == list(LIMITS)
    by_name = {each.name: each for each in made}
    assert by_name["fetch"].command[-1] == "--offline"
    assert by_name["tests"].limit == 5.0
    assert not by_name["doctor"].needed
    assert {each.name for each in made if each.needed} == {"fetch", "apply", "build"}
    assert plan_stages(SelftestOptions(tmp_path))[0].needed
    assert not plan_stages(SelftestOptions(tmp_path, keep_going=True))[0].needed
    words = ("--gpu", "gfx942", "--rocm", "/opt/rocm")
    emulated = plan_stages(SelftestOptions(tmp_path, device="emulator", emulator=words))
    command = " ".join(emulated[list(LIMITS).index("tests")].command)
    assert "--device emulator --gpu gfx942 --rocm /opt/rocm" in command
    assert [each.name for each in emulated if each.left_out] == ["throughput"]
    assert not emulated[0].needed
    given = plan_stages(SelftestOptions(tmp_path, given=True))
    assert [each.name for each in given if each.left_out] == ["fetch"]


SCRIPT = """
import sys
from pathlib import Path
from portkit.selftest.stage_runner import run_stages
from portkit.selftest.document import build_document
from portkit.selftest.page import render_page, write_atomically
from portkit.selftest.stages import SelftestOptions, Stage
from portkit.workspace.process import end_on_signals

folder, report = Path(sys.argv[1]), Path(sys.argv[2])
wanted = SelftestOptions(folder)
document = lambda found: build_document(wanted, found, 1.0, "2026-11-22", {})
stages = [
    Stage("one", "one works", ("sh", "-c", "echo well"), 60.0),
    Stage("two", "two works", ("sh", "-c", "echo $$ >pid; sleep 300"), 60.0),
    Stage("three", "three works", ("sh", "-c", "echo never"), 60.0),
]
with end_on_signals():
    run_stages(
        stages,
        wanted,
        lambda found: write_atomically(report, render_page(document(found))),
        lambda line: None,
    )
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_ended_leaves_what_it_knew(tmp_path: Path, number: signal.Signals) -> None:
    report, pid = tmp_path / "report.html", tmp_path / "pid"
    running = subprocess.Popen([sys.executable, "-c", SCRIPT, tmp_path, report], env=environment())
    wait_until(lambda: pid.is_file() and pid.read_text().strip())
    running.send_signal(number)
    running.wait(60)
    found = read_trial(report)
    assert [step["verdict"] for step in found["steps"]] == ["passed", "interrupted", "not taken"]
    assert found["verdict"] == "interrupted"
    assert list(tmp_path.glob("*.part")) == list(tmp_path.glob(".*.part")) == []
    wait_until(lambda: gone(pid.read_text()))


# --- what is taken out -------------------------------------------------------------------------


def test_nothing_tells_of_a_person_or_a_machine() -> None:
    scrub = Scrub(
        {"/home/alice/work": "WORK", "/home/alice": "$HOME", "/root": "$HOME"},
        {"alice": "USER", "deep-thought": "HOST"},
    )
    told = {
        "/home/alice/work/tree/src/lib.rs:3": "WORK/tree/src/lib.rs:3",
        "in /home/alice, or /home/alice/x": "in $HOME, or $HOME/x",
        "/home/alicent/x and /home/bob/y, /Users/Carol/z": "~/x and ~/y, ~/z",
        "/rooted /root/.cargo": "/rooted $HOME/.cargo",
        "Alice on deep-thought:22, malice": "USER on HOST:22, malice",
        "https://alice:secret@example.org/x": "https://example.org/x",
        "<bob.b@mail.example.org>": "<MAIL>",
        "candle@0.11.1 and ROCm 6.2.4, gfx90a": "candle@0.11.1 and ROCm 6.2.4, gfx90a",
        "10.0.0.7 answered": "ADDRESS answered",
        "0,GPU-4b2c1a9f-8d3e-6f7a": "0,GPU-NUMBER",
    }
    assert {text: scrub.text(text) for text in told} == told
    assert scrub.text("x" * 5000) == "x" * 599 + "…"
    document = scrub.document({"a": ["alice", 1, None, {"a": "/root/b"}] + ["y"] * 3000})
    assert document["a"][:4] == ["USER", 1, None, {"a": "$HOME/b"}]
    assert len(document["a"]) == 2000


@pytest.mark.parametrize("name", ["passed", "steps", "tests", "rocm", "trial", "title", "ok"])
def test_a_person_may_be_called_as_a_field_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("USER", name)
    found = trial()
    place = tmp_path / "a.html"
    place.write_text(render_page(Scrub.here({}).document(found)))
    read = read_trial(place)
    assert [s["verdict"] for s in read["steps"]] == [s["verdict"] for s in found["steps"]]
    assert [s["step"] for s in read["steps"]] == [s["step"] for s in found["steps"]]


def test_what_is_taken_out_is_this_machine_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/wonder.land")
    monkeypatch.setenv("USER", "red_queen")
    monkeypatch.setenv("LOGNAME", "root")
    monkeypatch.setattr("socket.gethostname", lambda: "tulgey.example.org")
    scrub = Scrub.here({tmp_path: "WORK"})
    said = f"{tmp_path}/a by red_queen of wonder.land at tulgey, root of /home/wonder.land/b"
    assert scrub.text(said) == "WORK/a by USER of USER at HOST, root of $HOME/b"


# --- the file ----------------------------------------------------------------------------------


class Scripts(HTMLParser):
    """The scripts of a page: each its attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.found.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.found and self.lasttag == "script":
            self.found[-1] = (self.found[-1][0], self.found[-1][1] + data)


def test_the_schema_holds_what_may_occur() -> None:
    SCHEMA.check_schema(SCHEMA.schema)
    SCHEMA.validate(trial())
    step = trial()["steps"][0]
    for wrong in (
        {"more": 1},
        {"day": "today"},
        {"device": "tpu"},
        {"steps": [{**step, "limit": 0}]},
        {"steps": [{**step, "tests": [{"test": "a"}]}]},
        {"steps": [{**step, "verdict": "fine"}]},
    ):
        assert not SCHEMA.is_valid(trial(**wrong)), wrong


def test_the_page_holds_its_document(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script>"
    found = trial(title=hostile)
    found["steps"][3]["evidence"].append(hostile)
    text = render_page(found)
    ((attributes, data),) = Scripts(text).found
    assert attributes == {"type": "application/json", "id": "data"}
    assert json.loads(data) == found
    write_atomically(tmp_path / "a.html", text)
    (tmp_path / "a.json").write_text(json.dumps(found))
    assert read_trial(tmp_path / "a.html") == read_trial(tmp_path / "a.json") == found
    assert "1 test did not pass" in text
    assert "add f32" in text


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"[]", b"\xff\xfe", b"<html>", b'{"schema": 1, "kind": "trial"}'),
        b"[" * 100_000,
        b'<script type="application/json" id="data">{"schema": 1}</script>',
        json.dumps(trial(schema=2)).encode(),
        json.dumps(trial(steps=[{}])).encode(),
        json.dumps(trial(steps=None)).encode(),
        json.dumps(trial(programs="x")).encode(),
        json.dumps(trial(seconds="x")).encode(),
        json.dumps(trial(steps=[{**trial()["steps"][0], "tests": [1]}])).encode(),
        json.dumps(trial(steps=[{**trial()["steps"][0], "evidence": [1]}])).encode(),
    ],
)
def test_what_is_no_report_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "x.html"
    place.write_bytes(content)
    done = invoke("trial", "--compare", place, place)
    assert done.code == 24
    assert "portkit trial" in done.err
    assert "Traceback" not in done.err
    assert invoke("trial", "--compare", tmp_path / "none", place).code == 24


def test_how_a_run_went() -> None:
    assert combine_verdicts(["passed", "skipped"]) == "passed"
    assert combine_verdicts(["passed", "failed", "not taken"]) == "failed"
    assert combine_verdicts(["passed", "not taken"]) == "interrupted"
    assert combine_verdicts(["skipped"]) == "skipped"


def test_rates_are_read_from_the_evidence() -> None:
    rate, small = read_rates(trial())
    assert small.rate == 4.1e-05
    assert (rate.item, rate.us, rate.rate, rate.unit) == ("add f32", 12.5, 16.4, "GB/s")


def test_two_reports_beside_each_other(tmp_path: Path) -> None:
    one, other = trial(), trial(day="2026-11-23", programs={"rustc": "1.96.0"})
    other["steps"][0]["evidence"][1] = "kernel: 6.9.1"
    other["steps"][3]["tests"][1]["result"] = "ok"
    other["steps"][4]["evidence"][1] = "add f32: 25.0 us, 8.2 GB/s"
    del other["steps"][5]
    told = render_comparison(one, other, Terminal())
    rows = [re.sub(" {2,}", "  ", line).strip() for line in told.splitlines()]
    assert "tests  failed in 62 s  failed in 62 s" in rows
    assert "crosscheck  not taken in 62 s  not there" in rows
    assert "rustc  1.95.0  1.96.0" in rows
    assert "kernel  6.8.0  6.9.1" in rows
    assert "timed out after 120 s  ok  core b (gfx1100)" in rows
    assert "add f32  12.5 us  25.0 us  0.50" in rows
    assert "Tests: the same" in render_comparison(one, one, Terminal())
    places = [tmp_path / "a.html", tmp_path / "b.json"]
    places[0].write_text(render_page(one))
    places[1].write_text(json.dumps(other))
    assert invoke("trial", "--compare", *places).out == told


# --- the command -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "nothing"), "there is no stage"),
        (("--limit", "tests"), "is no limit"),
        (("--limit", "tests=-1"), "is no limit"),
        (("--limit", "tests=nan"), "is no limit"),
        (("--limit", "nothing=5"), "there is no stage"),
        (("a", "b"), "one tree at most"),
        (("--compare", "a"), "two reports"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    done = invoke("trial", *arguments)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def picture(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Give a way to run a trial of the small candle in a process of its own, without a network."""
    home = tmp_path / "home" / "white_rabbit"
    home.mkdir(parents=True)
    variables = environment() | {
        "HOME": str(home),
        "USER": "white_rabbit",
        "LOGNAME": "white_rabbit",
        "XDG_CACHE_HOME": str(home / "cache"),
        "PORTKIT_TRUST": "/",
        "http_proxy": "http://localhost:9",
        "https_proxy": "http://localhost:9",
        **{name: os.environ.get(name, str(Path.home() / folder)) for name, folder in _RUST},
    }

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "portkit", "trial", *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )

    return run


_RUST = (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"))
QUICK = ("--only", "doctor,fetch,apply,coverage,parity")


def test_a_tree_that_is_given_is_not_written_to(tmp_path: Path, alone: Callable[..., Any]) -> None:
    candle = make_candle(tmp_path / "candle")
    (candle / "target").mkdir()
    (candle / "target" / "large").touch()
    (candle / "README.md").write_text("uncommitted\n")
    before = picture(candle)
    done = alone("candle", "--device", "cpu", *QUICK, "--report", "a.html")
    assert done.returncode == 0, done.stderr
    assert picture(candle) == before
    found = read(tmp_path / "a.html")
    assert found["title"] == "candle 0.11.1"
    assert {step["step"]: step["verdict"] for step in found["steps"]} == {
        "doctor": found["steps"][0]["verdict"],
        "fetch": "skipped",
        "apply": "passed",
        "coverage": "passed",
        "parity": "passed",
    }
    text = (tmp_path / "a.html").read_text()
    for private in ("white_rabbit", str(tmp_path), "uncommitted"):
        assert private not in text
    # A second trial in the same place, of a tree that is ported now, says the same.
    tree = next((tmp_path / "home").rglob("trial/*/tree"))
    assert not (tree / "target").exists()
    done = alone("candle", "--device", "cpu", "--only", "fetch,apply", "--report", "b.html")
    assert done.returncode == 0, done.stderr
    assert "Tests" not in alone("--compare", "a.html", "b.html").stdout


def test_a_problem_ends_a_run_on_a_gpu(tmp_path: Path, alone: Callable[..., Any]) -> None:
    if Path("/dev/kfd").exists():
        pytest.skip("this machine may have no problem")
    make_candle(tmp_path / "candle")
    done = alone("candle", *QUICK)
    assert done.returncode == 1
    found = read(tmp_path / "portkit-trial.html")
    assert [step["verdict"] for step in found["steps"]] == ["failed"] + ["not taken"] * 4
    done = alone("candle", "--only", "doctor,fetch,apply", "--keep-going")
    found = read(tmp_path / "portkit-trial.html")
    assert (found["steps"][2]["verdict"], done.returncode) == ("passed", 1)


def test_a_tree_that_is_none(
    tmp_path: Path, alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is said before anybody is asked whether it may be run."""
    monkeypatch.delenv("PORTKIT_TRUST", raising=False)
    for place, said in ((tmp_path, "has no Cargo.toml"), ("/nope", "does not exist")):
        done = alone(place)
        assert (done.returncode, said in done.stderr) == (10, True), done.stderr


def test_the_page_has_the_stages_with_their_limits() -> None:
    rows = re.findall(
        r"^\| (\w+) \| (.*) \| (\d+) \|$", (ROOT / "docs/trial.md").read_text(), re.MULTILINE
    )
    assert [(name, float(minutes) * 60) for name, _, minutes in rows] == list(LIMITS.items())
    shown = {
        each.name: each.shows for each in plan_stages(SelftestOptions(Path(), spec="the codebase"))
    }
    assert {name: shows for name, shows, _ in rows} == shown


def test_without_a_word_the_newest_version_is_fetched() -> None:
    makefile = (ROOT / "Makefile").read_text()
    version = re.search(r"^VERSION := (.*)$", makefile, re.MULTILINE)
    assert version is not None
    assert find_newest_spec() == f"candle@{version[1]}"


def test_one_trial_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from portkit.errors import BusyTreeError
    from portkit.selftest.work_folder import prepare_folders

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with prepare_folders(SelftestOptions(Path()), None) as ready:
        assert ready.folder.is_relative_to(tmp_path)
        with (
            pytest.raises(BusyTreeError, match="another trial works"),
            prepare_folders(ready, None),
        ):
            pass
    with prepare_folders(SelftestOptions(Path()), None):
        pass


def test_a_report_that_cannot_be_written(tmp_path: Path, alone: Callable[..., Any]) -> None:
    make_candle(tmp_path / "candle")
    done = alone("candle", "--device", "cpu", *QUICK, "--report", "none/a.html")
    assert done.returncode == 21
    assert "could not be written" in done.stderr


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("at 2001:db8::8a2e:370:7334 now", "at ADDRESS now"),
        ("fe80::1ff:fe23:4567:890a%eth0", "ADDRESS%eth0"),
        ("[fd12:3456:789a::1]:8080", "[ADDRESS]:8080"),
        ("::ffff:192.168.1.7.", "ADDRESS."),
        ("link/ether 3c:ec:ef:12:ab:9f brd ff:ff:ff:ff:ff:ff", "link/ether MAC brd MAC"),
        ("3C-EC-EF-12-AB-9F", "MAC"),
        ("Serial Number: 1A2B3C4D5E6F", "Serial Number: NUMBER"),
        ("card0 Unique ID: 0x8f3b2c1d9e", "card0 Unique ID: NUMBER"),
        ("uuid=4c4c4544-0042-3510-8053-b4c04f4d3132", "uuid=NUMBER"),
        ("/nfs/home/alice/x and /export/home/bob", "~/x and ~"),
        ("/mnt/data/users/carol/port, /home2/dan/a", "~/port, ~/a"),
        (f"push with ghp_{'a1B2' * 9}", "push with TOKEN"),
        (f"github_pat_{'a1B2_' * 9}", "TOKEN"),
        (f"hf_{'aB' * 17} glpat-{'x1' * 10}", "TOKEN TOKEN"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=TOKEN"),
        ('AWS_SESSION_TOKEN="a b" AKIAIOSFODNN7EXAMPLE', "AWS_SESSION_TOKEN=TOKEN TOKEN"),
        ("CARGO_REGISTRY_TOKEN: cio123", "CARGO_REGISTRY_TOKEN: TOKEN"),
        ("Authorization: Bearer abcdef012345", "Authorization: TOKEN TOKEN"),
        ("node7.lab.example.org and EXAMPLE.org", "DOMAIN and DOMAIN"),
        # Nothing of these tells of anybody.
        ("std::f32::consts::PI at 12:34:56", "std::f32::consts::PI at 12:34:56"),
        ("0000:03:00.0 gfx1100 ::1 a::b0", "0000:03:00.0 gfx1100 ::1 a::b0"),
        ("/work/candle/candle-core/src/lib.rs:12:5", "/work/candle/candle-core/src/lib.rs:12:5"),
        ("tokens per second: 41.5", "tokens per second: 41.5"),
    ],
)
def test_what_tells_of_a_machine_or_opens_a_door(said: str, left: str) -> None:
    assert Scrub({}, {"example.org": "DOMAIN"}).text(said) == left
