"""The step that runs the ported tests on a device, with stand-ins for cargo and the device."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import add_file, invoke
from verify_support import artifact, binary, install_cargo, make_ported, make_tree, stand_in, verify

from portkit.device.toolkit import Toolkit
from portkit.errors import ToolError
from portkit.verify import InvalidOptionError, device_choice
from portkit.verify.device import TestRun
from portkit.verify.device_choice import DeviceRun
from portkit.verify.device_log import DeviceLog, read_logs, unpack_log
from portkit.verify.options import DEVICES, parse_waves
from portkit.verify.test_binaries import summarize_failures
from tools.device_table import (
    find_called_tests,
    find_original_test,
    find_uncopied_tests,
    list_words,
    render_device_table,
)

if TYPE_CHECKING:
    from pathlib import Path

NAME = "candle_core unittests src/lib.rs"
OWN = "candle-core"


def report(kernels: dict[str, int], *findings: tuple[str, int, str]) -> str:
    """Return what the device writes as a process ends."""
    found = [
        {"kind": kind, "kernel": "k", "times": times, "message": message}
        for kind, times, message in findings
    ]
    document = {"arch": "gfx1100", "threads": 64, "calls": {}, "kernels": kernels}
    return json.dumps({**document, "findings": found})


class Machine:
    """A tree whose cargo builds a test binary that behaves as it is told."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = tmp_path
        self.cargo = install_cargo(tmp_path, monkeypatch)
        self.candle = make_ported(tmp_path)
        self.log = tmp_path / "log"
        self.ran = tmp_path / "ran"
        monkeypatch.setattr(device_choice, "build_toolkit", lambda: Toolkit(tmp_path / "device"))
        monkeypatch.setattr(device_choice, "compute_toolkit_key", lambda: "key")
        self.reports(report({"affine_f32": 3, "affine_f64": 0}))
        self.tests(a_rocm="ok", b="ok")

    def reports(self, text: str) -> None:
        add_file(self.folder, "report.json", text.encode())

    def tests(self, **behaviour: str) -> None:
        """Build a binary with these tests; `ok` launches kernels."""
        said = [
            f"cp {self.folder}/report.json $PORTKIT_DEVICE_REPORT/$$.json;"
            f'echo "$PORTKIT_DEVICE_ARCH $HIPCC" >> {self.ran}'
        ]
        commands = {
            name: f"{said[0]}; echo 'test {name} ... ok'" if what == "ok" else what
            for name, what in behaviour.items()
        }
        program = binary(self.folder / "tests", commands)
        add_file(self.folder, "message", artifact(self.candle, program).encode())
        variables = "$CANDLE_ROCM_KERNELS $CANDLE_ROCM_ARCHS $HIPCC"
        stand_in(
            self.cargo,
            f'echo "{variables} $*" >> {self.log}\n'
            f'case "$*" in "test --no-run"*) cat {self.folder}/message;; esac',
        )

    def step(self, *options: object) -> dict[str, Any]:
        return verify(self.candle, "--only", "device", *options)["device"]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_the_ported_tests_pass_on_the_cpu_device(machine: Machine) -> None:
    found = machine.step("--device", "cpu")
    assert found["verdict"] == "passed"
    assert found["evidence"][0] == (
        "2 tests pass on the CPU device (gfx1100, wave 32), 1 of them rocm's own;"
        " they launch 1 of 2 kernels"
    )
    assert found["evidence"][1].startswith("gfx1100, wave 32: 2 tests, 3 launches of 1 kernels, ")
    assert found["evidence"][2:] == [
        "1 of 2 kernels are launched by no test; the step crosscheck launches what Rust code asks"
        " for: affine_f64"
    ]
    assert found["figures"] == {
        "tests": 2,
        "passed": 2,
        "ignored": 0,
        "failed": 0,
        "on the device": 1,
        "kernels launched": 1,
        "kernels never launched": 1,
        "kernels that nothing asks for": 0,
        "defects": 0,
    }
    assert found["tests"] == [
        {"test": f"{NAME} {name}", "on": "gfx1100, wave 32", "result": "ok"}
        for name in ("a_rocm", "b")
    ]


def test_it_is_built_with_the_kernels_for_the_device(machine: Machine) -> None:
    machine.step("--device", "cpu", "--wave", "64,32")
    hipcc = machine.folder / "device" / "bin" / "hipcc"
    assert machine.log.read_text() == (
        f"all gfx1100,gfx90a {hipcc} test --no-run --message-format=json --tests --features=rocm"
        f" --package {OWN}\n"
    )
    assert machine.ran.read_text().split("\n")[:4] == [
        f"{arch} {hipcc}" for arch in ("gfx1100", "gfx1100", "gfx90a", "gfx90a")
    ]


def test_with_the_checker(machine: Machine) -> None:
    machine.step("--device", "cpu", "--check-memory")
    assert machine.ran.read_text().startswith(
        f"gfx1100 {machine.folder / 'device' / 'bin' / 'hipcc-checked'}\n"
    )


def test_what_is_ignored_is_named(machine: Machine) -> None:
    machine.tests(a_rocm="ok", b="ignored")
    found = machine.step("--device", "cpu")
    assert found["evidence"][0].startswith("1 tests pass on ")
    assert found["evidence"][-1] == f"ignored, as its source says: {NAME} b"
    assert found["figures"]["ignored"] == 1


def test_both_wavefronts(machine: Machine) -> None:
    found = machine.step("--device", "cpu", "--wave", "32,64")
    assert found["evidence"][0].startswith(
        "4 tests pass on the CPU device (gfx1100, wave 32; gfx90a, wave 64), 2 of them"
    )
    assert [test["on"] for test in found["tests"]] == ["gfx1100, wave 32"] * 2 + [
        "gfx90a, wave 64"
    ] * 2


FAILS = """\
echo "test a_rocm ... FAILED"; echo "failures:"; echo "---- a_rocm stdout ----"
echo "thread 'a_rocm' (7) panicked at candle-core/tests/t.rs:5:9:"
echo "assertion failed: x == y"; echo "note: run with RUST_BACKTRACE=1"; status=101"""


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (FAILS, "FAILED (assertion failed: x == y, at candle-core/tests/t.rs:5:9)"),
        ("sleep 60", "timed out after 1 s"),
        ("kill -SEGV $$", "crashed (Segmentation fault)"),
        ('echo "memory allocation of 8 bytes failed"; kill -ABRT $$', "out of memory"),
    ],
)
def test_a_bad_test_is_named_and_the_others_go_on(machine: Machine, what: str, said: str) -> None:
    machine.tests(a_rocm=what, b="ok", c_rocm="ok")
    found = machine.step("--device", "cpu", "--test-timeout", 1)
    assert found["verdict"] == "failed"
    assert found["evidence"][:2] == [
        "1 of 3 tests fail on the CPU device (gfx1100, wave 32)",
        f"gfx1100, wave 32: {NAME} a_rocm {said}",
    ]
    assert [test["result"] for test in found["tests"]] == [said, "ok", "ok"]
    done = invoke("verify", machine.candle, "--only", "device", "--test-timeout", 1)
    assert done.code == 48


def test_a_defect_that_the_device_sees_is_a_failure(machine: Machine) -> None:
    machine.reports(report({"k": 1}, ("shared-race", 2, "reads 4 bytes: kernel k")))
    found = machine.step("--device", "cpu", "--check-memory")
    assert (found["verdict"], found["evidence"][:2]) == (
        "failed",
        [
            "1 defects seen by the CPU device (gfx1100, wave 32)",
            "gfx1100, wave 32: shared-race: reads 4 bytes: kernel k (2 times)",
        ],
    )


def test_what_passed_is_remembered_with_its_tests(machine: Machine) -> None:
    first = machine.step("--device", "cpu")
    again = machine.step("--device", "cpu")
    assert again["remembered"]
    assert (again["evidence"], again["tests"]) == (first["evidence"], first["tests"])
    assert not machine.step("--device", "cpu", "--wave", "64")["remembered"]
    assert not machine.step("--device", "cpu", "--check-memory")["remembered"]
    assert not machine.step("--device", "cpu", "--no-cache")["remembered"]


def test_the_binaries_that_passed_are_not_run_again(machine: Machine) -> None:
    program = machine.folder / "more"
    binary(program, {"bad": "kill -SEGV $$"})
    with (machine.folder / "message").open("a") as file:
        file.write("\n" + artifact(machine.candle, program, "tests/more.rs", "test"))
    assert machine.step("--device", "cpu")["verdict"] == "failed"
    before = machine.ran.read_text()
    binary(program, {"bad": "echo 'test bad ... ok'"})
    found = machine.step("--device", "cpu")
    assert found["verdict"] == "passed"
    assert found["figures"]["kernels launched"] == 1
    assert machine.ran.read_text() == before


def test_one_crate(machine: Machine) -> None:
    add_file(machine.candle, "other/Cargo.toml", b'[package]\nname = "other"\nversion = "0.1.0"\n')
    machine.step("--device", "cpu", "--package", OWN)
    assert machine.log.read_text().endswith(f"--package {OWN}\n")
    found = machine.step("--device", "cpu", "--package", "candle-chore")
    assert (found["verdict"], "has no crate candle-chore" in found["evidence"][0]) == (
        "failed",
        True,
    )


def test_shares_hold_every_test_once(machine: Machine) -> None:
    machine.tests(a="ok", b="ok", c="ok")
    names = [
        test["test"].rpartition(" ")[2]
        for shard in ("1/2", "2/2")
        for test in machine.step("--device", "cpu", "--shard", shard)["tests"]
    ]
    assert names == ["a", "c", "b"]


def test_without_a_compiler_it_is_left_out(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Toolkit:
        raise ToolError("the CPU device cannot be built: install g++")

    monkeypatch.setattr(device_choice, "build_toolkit", fail)
    found = machine.step("--device", "cpu")
    assert (found["verdict"], found["evidence"]) == (
        "skipped",
        ["the CPU device cannot be built: install g++"],
    )


def test_without_tests(machine: Machine) -> None:
    machine.tests()
    assert "there is no test in " in machine.step("--device", "cpu")["evidence"][0]


def test_the_two_wavefronts_do_the_work_of_streams_at_other_times(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f'echo "$PORTKIT_DEVICE_ARCH $PORTKIT_DEVICE_STREAMS" >> {machine.ran}'
    machine.tests(a_rocm=f"{command}; echo 'test a_rocm ... ok'")
    machine.step("--device", "cpu", "--wave", "32,64")
    assert machine.ran.read_text().splitlines() == ["gfx1100 eager", "gfx90a lazy"]
    # What the user says counts.
    monkeypatch.setenv("PORTKIT_DEVICE_STREAMS", "lazy")
    machine.ran.unlink()
    machine.step("--device", "cpu")
    assert machine.ran.read_text().splitlines() == ["gfx1100 lazy"]


# --- a GPU -------------------------------------------------------------------------------------


def test_without_a_gpu(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_choice, "explain_missing_gpu", lambda tree: "there is no AMD GPU")
    found = machine.step("--device", "gpu")
    assert (found["verdict"], found["evidence"]) == ("skipped", ["there is no AMD GPU"])
    found = machine.step()
    assert (found["verdict"], found["evidence"][1]) == ("passed", "there is no AMD GPU")


def test_on_a_gpu(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_choice, "explain_missing_gpu", lambda tree: "")
    monkeypatch.setattr(device_choice, "_list_driver_architectures", lambda: "gfx1100")
    monkeypatch.delenv("HIPCC", raising=False)
    found = machine.step("--device", "gpu")
    assert found["evidence"] == ["2 tests pass on the AMD GPU (gfx1100), 1 of them rocm's own"]
    # The build script takes the architecture of the GPU that it finds.
    assert machine.log.read_text().startswith("all   test --no-run")
    assert not machine.step("--device", "gpu")["remembered"]
    # The checker is the CPU device's.
    assert "on the CPU device" in machine.step("--check-memory")["evidence"][0]
    done = invoke("verify", machine.candle, "--device", "gpu", "--check-memory")
    assert (done.code, "are for the CPU device" in done.err) == (2, True)


def test_why_there_is_no_gpu(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = make_tree(machine.candle)
    driver = machine.folder / "kfd"
    assert (
        device_choice.explain_missing_gpu(tree, driver)
        == f"there is no AMD GPU: {driver} is not there"
    )
    driver.touch()
    monkeypatch.setenv("ROCM_PATH", str(machine.folder))
    said = device_choice.explain_missing_gpu(make_tree(machine.candle), driver)
    assert said.startswith("the HIP runtime (libamdhip64.so) cannot be loaded")


# --- its parts ---------------------------------------------------------------------------------


def test_wavefronts() -> None:
    assert parse_waves(()) == (32,)
    assert parse_waves(("64", "32", "64")) == (32, 64)
    with pytest.raises(InvalidOptionError, match="'48' is no wavefront"):
        parse_waves(("48",))
    done = invoke("verify", ".", "--wave", "48")
    assert (done.code, "it has 32 or 64 lanes" in done.err) == (2, True)


def test_the_choices_are_those_of_the_command() -> None:
    from portkit.cli.verify import Device

    assert tuple(Device) == DEVICES


def test_reports_are_added_up(tmp_path: Path) -> None:
    add_file(tmp_path, "1.json", report({"a": 2, "b": 0, "c": 0}, ("race", 1, "x")).encode())
    add_file(tmp_path, "2.json", report({"b": 1}, ("race", 2, "x")).encode())
    add_file(tmp_path, "3.json", b'{"arch":')
    seen = read_logs(tmp_path)
    assert (seen.launches, seen.never_launched) == ({"a": 2, "b": 1, "c": 0}, ("c",))
    assert (seen.threads, seen.defects) == (128, {"race: x": 3})
    assert unpack_log(json.loads(json.dumps(seen.packed()))) == seen
    assert read_logs(tmp_path / "nothing").launches == {}


OUTPUT = """\
test wrong ... FAILED
test error ... FAILED
failures:

---- wrong stdout ----
it prints
thread 'wrong' panicked at tests/bad.rs:8:5:
assertion `left == right` failed
  left: 1
 right: 2
stack backtrace:
   0: rust_begin_unwind

---- error stdout ----
Error: shape mismatch

Caused by: nothing

---- should - should panic stdout ----
note: test did not panic as expected

---- long stdout ----
thread 'long' (123) panicked at a.rs:1:1:
LONG

failures:
    wrong
"""


def test_the_essence_of_a_failure() -> None:
    found = summarize_failures(OUTPUT.replace("LONG", "x" * 500).splitlines())
    assert found["wrong"] == (
        "assertion `left == right` failed; left: 1; right: 2, at tests/bad.rs:8:5"
    )
    assert found["error"] == "Error: shape mismatch"
    assert "should" not in found
    assert len(found["long"]) == 200


# --- the table ---------------------------------------------------------------------------------


def test_the_table_of_tests() -> None:
    def done(on: str, seen: DeviceLog, **results: str) -> TestRun:
        pairs = Counter({(f"t tests/t.rs {name}", result): 1 for name, result in results.items()})
        return TestRun(DeviceRun(on), pairs, seen)

    runs = (
        done("wave 32", DeviceLog(Counter(k=2, other=0)), add_rocm="ok", b="ok"),
        done("wave 64", DeviceLog(Counter(k=0, other=0)), add_rocm="FAILED (a | b)", b="ignored"),
    )
    text = render_device_table(
        "candle 1", "Today.", runs, "rocm", {"t tests/t.rs add_rocm": "add_gpu"}
    )
    assert "- `t tests/t.rs add_rocm`: the reason is not known." in text
    text = render_device_table(
        "candle 1",
        "Today.",
        runs,
        "rocm",
        {"t tests/t.rs add_rocm": "add_gpu"},
        why={"add_rocm": "it adds"},
    )
    rows = [line for line in text.splitlines() if line.startswith(("|", "- "))]
    assert rows == [
        "|  | wave 32 | wave 64 |",
        "| --- | ---: | ---: |",
        "| tests | 2 | 2 |",
        "| passed | 2 | 0 |",
        "| ignored | 0 | 1 |",
        "| failed | 0 | 1 |",
        "| on the device | 1 | 1 |",
        "| on the device, passed | 1 | 0 |",
        "| kernels launched | 1 | 0 |",
        "| kernels of loaded modules | 2 | 2 |",
        "| defects seen | 0 | 0 |",
        "- `t tests/t.rs add_rocm`: it adds.",
        "- `other`",
        "- on wave 64 alone: `k`",
        "| test | CUDA's | wave 32 | wave 64 |",
        "| --- | --- | --- | --- |",
        "| t tests/t.rs add_rocm | add_gpu | ok | FAILED (a \\| b) |",
        "| test | wave 32 | wave 64 |",
        "| --- | --- | --- |",
        "| t tests/t.rs b | ok | ignored |",
    ]


def test_the_test_that_a_test_is_the_copy_of() -> None:
    words = list_words(["test_device!(add, add_cpu, add_gpu, add_rocm);", "fn cuda_basics() {}"])
    calls = find_called_tests(
        ["test_device!(mul, mul_cpu, mul_on_gpu);", "other!(sub, x); f!(a, b_gpu, c_gpu)"]
    )
    assert calls == {"mul": "mul_on_gpu"}
    assert find_original_test("t tests/t.rs add_rocm", "rocm", words, calls) == "add_gpu"
    assert (
        find_original_test("lib src/lib.rs a::rocm_basics", "rocm", words, calls) == "cuda_basics"
    )
    assert find_original_test("t tests/t.rs rocm_add", "rocm", words | {"add"}, calls) == "add"
    assert find_original_test("t tests/t.rs sub_rocm", "rocm", words, calls) == ""
    assert find_original_test("t tests/t.rs mul::rocm", "rocm", words, calls) == "mul_on_gpu"
    assert find_original_test("t tests/t.rs sub::rocm", "rocm", words, calls) == ""


def test_tests_without_a_copy() -> None:
    macro = "macro_rules! t { ($f: ident, $f_cuda: ident) => { other!($f_cuda); } }"
    texts = [
        macro,
        "test_device!(add, add_cpu, add_gpu, add_rocm);\ntest_device!(\n  sub, sub_cpu, sub_gpu);",
        "#[test]\n#[ignore]\nfn cuda_basics() {}\n#[test]\nfn rocm_basics() {}",
        "#[test]\nfn cuda_only() {}",
    ]
    assert find_uncopied_tests(texts, "rocm", ()) == ["cuda_only", "sub_gpu"]
    assert find_uncopied_tests(texts, "rocm", ["sub_gpu"]) == ["cuda_only"]


# --- a command of the user's -------------------------------------------------------------------


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("portkit.device.toolkit.build_toolkit", lambda: Toolkit(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/it's")
    return tmp_path


def test_the_environment_of_the_device(toolkit: Path) -> None:
    done = invoke("device", "--wave", 64)
    assert done.out.splitlines() == [
        "export CANDLE_ROCM_ARCHS=gfx90a",
        f"export CANDLE_ROCM_CACHE={toolkit}/cache/portkit/device-objects",
        "export CANDLE_ROCM_KERNELS=all",
        "export DFDX_ROCM_ARCHS=gfx90a",
        f"export HIPCC={toolkit}/bin/hipcc",
        f"export LD_LIBRARY_PATH='{toolkit}/lib:/opt/it'\"'\"'s'",
        "export PORTKIT_DEVICE_ARCH=gfx90a",
        f"export ROCM_PATH={toolkit}",
    ]
    done = invoke("device", "--check-memory")
    assert f"export HIPCC={toolkit}/bin/hipcc-checked\n" in done.out
    assert "export PORTKIT_DEVICE_CHECK=1\n" in done.out


def test_a_command_on_the_device(toolkit: Path) -> None:
    place = toolkit / "said"
    done = invoke("device", "--", "sh", "-c", f"echo $HIPCC > {place}; exit 7")
    assert (done.code, place.read_text()) == (7, f"{toolkit}/bin/hipcc\n")
    assert invoke("device", "--", "sh", "-c", "kill -TERM $$").code == 143
    done = invoke("device", "--", "no-such-program")
    assert (done.code, "no-such-program cannot be run in " in done.err) == (19, True)
    assert "it has 32 or 64 lanes" in invoke("device", "--wave", 16).err


@pytest.mark.parametrize("options", [(), ("--check-memory",)])
def test_hipcc_is_the_compiler_of_the_device(toolkit: Path, options: tuple[str, ...]) -> None:
    name = "hipcc-checked" if options else "hipcc"
    (toolkit / "bin").mkdir()
    (toolkit / "bin" / name).write_text('#!/bin/sh\n[ "$*" = "-c a.hip" ] && exit 9\n')
    (toolkit / "bin" / name).chmod(0o755)
    assert invoke("device", *options, "--", "hipcc", "-c", "a.hip").code == 9
