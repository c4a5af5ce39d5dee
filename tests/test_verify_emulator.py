"""AMD's emulator as a device: a stand-in for it, for hipcc's root file system and for cargo."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from cli_support import add_file, invoke
from test_verify_device import NAME, Machine
from verify_support import script

from portkit.doctor.machine import Machine as View
from portkit.errors import ToolError
from portkit.verify.emulator import find_emulator
from portkit.verify.options import EMULATED, Options
from tools.proof.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path

# Runs a program as the emulator does, in its own place, and answers for HIP whether it has a GPU.
STAND_IN = """\
test "$1" = --config && test "$3" = -- || { echo "what is $*?"; exit 2; }
echo "$(basename "$2") $ROCJITSU_RUNTIME_DIR" >> LOG
shift 3
case "$1" in PYTHON) BEHAVIOUR;; esac
exec "$@"
"""
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def describe_gpu(version: int, **more: object) -> bytes:
    """Return a description of a GPU, as the emulator has it."""
    count = {"num_gpus": more.pop("num_gpus")} if "num_gpus" in more else {}
    device = {"gfx_target_version": version, **more}
    return json.dumps({"vm": {"gpu": {"device": device, **count}}}).encode()


class Emulated:
    """A machine with an emulator of a few GPUs and a ROCm for it."""

    def __init__(self, folder: Path, path: pytest.MonkeyPatch) -> None:
        self.folder = folder / "emulated"
        self.log = self.folder / "log"
        for name, content in {
            "gfx1100.json": describe_gpu(110000, drm_render_minor=129),
            "gfx942.json": describe_gpu(90402),
            "gfx942_kmd.json": describe_gpu(90402, drm_render_minor=128),
            "gfx942_two.json": describe_gpu(90402, drm_render_minor=128, num_gpus=2),
            "guest.json": b'{"dbt_guest": {}}',
            "broken.json": b"{",
        }.items():
            add_file(self.folder, f"share/rocjitsu/configs/{name}", content)
        for name in (
            "libamdhip64.so.6.4.43484",
            "librocblas.so.4",
            "libhiprand.so.1",
            "libhiprtc.so.6",
        ):
            add_file(self.folder, f"rocm/root/{LIBRARIES}/{name}", b"")
        library = self.folder / "rocm" / "root" / LIBRARIES
        (library / "libamdhip64.so.6").symlink_to("libamdhip64.so.6.4.43484")
        for arch in ("gfx1100", "gfx90a-xnack-"):
            add_file(library, f"rocblas/4.4.1/library/TensileLibrary_{arch}.dat", b"")
        (self.folder / "rocm" / "bin").mkdir()
        (self.folder / "bin").mkdir()
        script(self.folder / "rocm" / "bin" / "hipcc", "exit 0")
        script(self.folder / "rocm" / "enter", 'exec "$@"')
        self.behaves("exit 0")
        path.setenv("HIPCC", str(self.folder / "rocm" / "bin" / "hipcc"))
        path.setenv("PORTKIT_EMULATOR", str(self.program))

    @property
    def program(self) -> Path:
        return self.folder / "bin" / "rocjitsu"

    def behaves(self, how: str, python: str = "*/python3") -> None:
        """Have it answer HIP in some way, which a Python asks."""
        parts = {"LOG": str(self.log), "BEHAVIOUR": how, "PYTHON": python}
        text = STAND_IN
        for name, part in parts.items():
            text = text.replace(name, part)
        script(self.program, text)

    def find(self, gpu: str = "gfx1100") -> tuple[str, ...]:
        """Return what is found for a GPU."""
        return find_emulator(gpu).notes


@pytest.fixture
def emulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Emulated:
    return Emulated(tmp_path, monkeypatch)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, emulated: Emulated) -> Machine:
    found = Machine(tmp_path, monkeypatch)
    found.tests(a_rocm="ok", b="ok")
    return found


def skipped(machine: Machine, *options: object) -> str:
    """Return why the step is left out."""
    found = machine.step("--device", "emulator", *options)
    assert found["verdict"] == "skipped"
    (said,) = found["evidence"]
    assert isinstance(said, str)
    return said


# --- the step ----------------------------------------------------------------------------------


def test_each_test_has_a_process_of_its_own(machine: Machine, emulated: Emulated) -> None:
    found = machine.step("--device", "emulator")
    assert found["verdict"] == "passed"
    assert found["evidence"] == [
        "2 tests pass on AMD's emulator (gfx1100), 1 of them rocm's own",
        f"the emulator is {emulated.program} with gfx1100.json",
        f"HIP 6.4 is that of {emulated.folder}/rocm/root ({emulated.folder}/rocm/enter)",
    ]
    assert [test["on"] for test in found["tests"]] == ["gfx1100", "gfx1100"]
    # The question for a GPU, and each test; not the list of the tests.
    started = [line.split() for line in emulated.log.read_text().splitlines()]
    assert [config for config, _ in started] == ["gfx1100.json"] * 3
    assert len({folder for _, folder in started}) == 2
    assert not machine.step("--device", "emulator")["remembered"]


def test_kernels_are_compiled_for_the_gpu(machine: Machine, emulated: Emulated) -> None:
    found = machine.step("--device", "emulator", "--gpu", "gfx942")
    assert machine.log.read_text().startswith("all gfx942 ")
    assert emulated.log.read_text().startswith("gfx942_kmd.json ")
    assert found["evidence"][-1] == (
        "its rocBLAS has no kernels for gfx942, but for gfx1100, gfx90a: tests that multiply"
        " matrices fail"
    )


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("sleep 60", "timed out after 1 s"),
        ("echo '  what():  std::bad_alloc' >&2; kill -ABRT $$", "out of memory"),
        (
            "echo memory allocation of 4096 bytes failed >&2; sleep 60",
            "out of memory after 1 s",
        ),
        ("kill -SEGV $$", "crashed (Segmentation fault)"),
        (
            'echo "  what():  Unimplemented instruction: v_foo" >&2; kill -ABRT $$',
            "crashed (Aborted: Unimplemented instruction: v_foo)",
        ),
    ],
)
def test_a_test_that_ends_badly_is_named(machine: Machine, what: str, said: str) -> None:
    machine.tests(a_rocm=what, b="ok")
    found = machine.step("--device", "emulator", "--test-timeout", 1)
    assert found["evidence"][:2] == [
        "1 of 2 tests fail on AMD's emulator (gfx1100)",
        f"gfx1100: {NAME} a_rocm {said}",
    ]


def test_nothing_is_left_running(machine: Machine, tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    machine.tests(a_rocm=f"(while sleep 0.1; do echo >> {beat}; done) & sleep 60")
    machine.step("--device", "emulator", "--test-timeout", 1)
    before = beat.stat().st_size
    time.sleep(0.5)
    assert beat.stat().st_size == before


# --- what is missing ---------------------------------------------------------------------------


def test_without_the_emulator(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PORTKIT_EMULATOR")
    assert skipped(machine) == (
        "AMD's emulator (rocjitsu) is not on PATH: AMD publishes it in"
        " https://github.com/ROCm/rocm-systems, emulation/rocjitsu; install it, or name it with"
        " --emulator or PORTKIT_EMULATOR"
    )
    assert not machine.log.exists()


def test_it_is_found_by_the_option_the_variable_and_on_path(
    emulated: Emulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTKIT_EMULATOR", "/no/such")
    assert find_emulator("gfx1100", str(emulated.program)).program == emulated.program
    with pytest.raises(ToolError, match=r"^/no/such is not a program: set --emulator"):
        emulated.find()
    monkeypatch.delenv("PORTKIT_EMULATOR")
    monkeypatch.setenv("PATH", str(emulated.program.parent))
    assert find_emulator("gfx1100").program == emulated.program


def test_a_gpu_that_it_does_not_have(machine: Machine, emulated: Emulated) -> None:
    assert skipped(machine, "--gpu", "gfx1201") == (
        f"{emulated.program} has no gfx1201, but gfx1100, gfx942: name one of these with --gpu"
    )
    done = invoke("verify", machine.candle, "--device", "emulator", "--gpu", "w7900")
    assert (done.code, "'w7900' is no architecture" in done.err) == (2, True)


def test_the_proof_names_what_is_missing(
    machine: Machine,
    emulated: Emulated,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("proof", "crosscheck", str(machine.candle), "--gpu", "gfx1201")
    monkeypatch.setattr(sys, "argv", list(words))
    assert main() == ToolError.exit_code
    assert f"error: {emulated.program} has no gfx1201, but gfx1100, " in capsys.readouterr().err


def test_a_shell_of_the_cpu_device(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its runtime would answer in place of AMD's, and every test would pass for nothing."""
    monkeypatch.setenv("PORTKIT_DEVICE_ARCH", "gfx1100")
    assert skipped(machine).startswith("this shell is set up for the CPU device (PORTKIT_DEVICE_A")
    assert not machine.log.exists()


def test_an_emulator_without_gpus(emulated: Emulated) -> None:
    for path in (emulated.folder / "share/rocjitsu/configs").iterdir():
        path.unlink()
    with pytest.raises(ToolError, match="has no descriptions of GPUs in "):
        emulated.find()


def test_without_rocm(emulated: Emulated) -> None:
    (emulated.folder / "rocm" / "enter").unlink()
    nothing = View(emulated.folder, {"PORTKIT_EMULATOR": str(emulated.program)})
    with pytest.raises(ToolError, match=r"^no HIP runtime \(libamdhip64.so\) is found"):
        find_emulator("gfx1100", machine=nothing)


def test_the_rocm_of_the_system(emulated: Emulated) -> None:
    (emulated.folder / "rocm" / "enter").unlink()
    system = View(emulated.folder / "rocm/root", {"PORTKIT_EMULATOR": str(emulated.program)})
    found = find_emulator("gfx1100", machine=system)
    assert found.notes[1] == "HIP 6.4 is that of this system"
    assert found.command[0] == str(emulated.program)


def test_the_rocm_that_the_user_names(emulated: Emulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes before that of hipcc; it is an installation, or a folder of ci/toolchain."""
    other = emulated.folder / "opt"
    add_file(other, "lib/libamdhip64.so.7.0.1", b"")
    (other / "lib" / "libamdhip64.so").symlink_to("libamdhip64.so.7.0.1")
    found = find_emulator("gfx1100", rocm_folder=str(other))
    assert found.notes[1] == f"HIP 7.0 is that of {other}"
    assert found.command[0] == str(emulated.program)
    assert found.userspace.environment == {"ROCM_PATH": str(other)}
    monkeypatch.setenv("ROCM_PATH", str(other))
    assert find_emulator("gfx1100").userspace == found.userspace
    made = emulated.folder / "rocm"
    entered = find_emulator("gfx1100", rocm_folder=str(made))
    assert entered.command[0] == str(made / "enter")
    assert entered.userspace.environment == {}
    # Tests run in their package's folder.
    monkeypatch.chdir(made)
    assert find_emulator("gfx1100", rocm_folder=".").command == entered.command


def test_a_named_rocm_without_hip(machine: Machine, tmp_path: Path) -> None:
    """That hipcc's has one changes nothing: the user named another."""
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (empty, tmp_path / "none"):
        assert skipped(machine, "--rocm", folder) == (
            f"{folder} has no HIP runtime (libamdhip64.so): name an installation of ROCm, or a"
            " folder that ci/toolchain --libraries made, with --rocm or ROCM_PATH"
        )
    assert not machine.log.exists()


def test_programs_find_the_named_rocm(machine: Machine, emulated: Emulated) -> None:
    other = emulated.folder / "opt"
    add_file(other, "lib/libamdhip64.so", b"")
    seen = emulated.folder / "seen"
    machine.tests(a_rocm=f"echo $ROCM_PATH > {seen}; echo 'test a_rocm ... ok'")
    # The installation has no Python, and the system's asks the stand-in.
    emulated.behaves("exit 0", python="*python*")
    assert machine.step("--device", "emulator", "--rocm", other)["verdict"] == "passed"
    assert seen.read_text() == f"{other}\n"


def test_a_rocm_without_rocblas(emulated: Emulated) -> None:
    (emulated.folder / "rocm" / "root" / LIBRARIES / "librocblas.so.4").unlink()
    assert emulated.find()[-1] == (
        "it lacks rocblas, and tests that need them fail: install ROCm, or run ci/toolchain"
        " --libraries in a checkout of portkit"
    )


def test_without_hipcc(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPCC", "/no/such/hipcc")
    monkeypatch.setattr("portkit.doctor.rocm_components.DEFAULT", "/no/such")
    assert skipped(machine).startswith(("hipcc is not found", "no HIP runtime"))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("exit 4", "ended with status 4; this HIP may be older than gfx1100"),
        ("echo no library; exit 3", "ended with status 3; no library"),
        ("kill -SEGV $$", "crashed (Segmentation fault)"),
    ],
)
def test_an_emulator_that_does_not_start(
    machine: Machine, emulated: Emulated, how: str, said: str
) -> None:
    emulated.behaves(how)
    command = f"{emulated.folder}/rocm/enter {emulated.program} --config "
    assert skipped(machine).startswith(
        f"HIP finds no GPU on the emulator ({said}): run a HIP program with `{command}"
    )
    assert not machine.log.exists()


def test_an_emulator_that_was_built_without_the_gpu(machine: Machine, emulated: Emulated) -> None:
    """It describes the GPU, and the first kernel ends the program."""
    emulated.behaves("echo HIP finds a GPU; kill -ILL $$")
    assert skipped(machine, "--gpu", "gfx942").startswith(
        f"{emulated.program} runs no kernel for gfx942 (crashed (Illegal instruction)): build it"
        " with this GPU, or name another with --gpu; `"
    )
    assert not machine.log.exists()


def test_options_that_do_not_go_together(machine: Machine) -> None:
    for options, said in (
        (("--gpu", "gfx1100"), "need --device emulator"),
        (("--rocm", "/opt/rocm"), "need --device emulator"),
        (("--emulator", "rocjitsu", "--device", "cpu"), "need --device emulator"),
        (("--device", "emulator", "--wave", "64"), "are for the CPU device"),
        (("--device", "emulator", "--chaos", "3"), "do not work with --device emulator"),
        (("--device", "emulator", "--sandbox"), "do not work with --device emulator"),
    ):
        done = invoke("verify", machine.candle, *options)
        assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err


def test_the_default_gpu() -> None:
    assert Options().gpu == EMULATED == "gfx1100"


# --- a command of the user's -------------------------------------------------------------------


def test_a_command_runs_on_it(emulated: Emulated, tmp_path: Path) -> None:
    place = tmp_path / "said"
    words = ("sh", "-c", f"echo $CANDLE_ROCM_ARCHS > {place}; exit 7")
    done = invoke("device", "--device", "emulator", "--", *words)
    assert (done.code, place.read_text()) == (7, "gfx1100\n")
    assert f"the emulator is {emulated.program} with gfx1100.json\n" in done.err
    config, folder = emulated.log.read_text().split()
    assert (config, folder.startswith("/")) == ("gfx1100.json", True)


def test_cargo_starts_programs_on_it(
    emulated: Emulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    script(tools / "rustc", "echo 'host: x86_64-unknown-linux-gnu'")
    script(tools / "cargo", "exec $CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER sh -c 'exit 7'")
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    assert invoke("device", "--device", "emulator", "--", "cargo", "test").code == 7
    assert len(emulated.log.read_text().splitlines()) == 1
    done = invoke("device", "--device", "emulator", "--gpu", "gfx942")
    config = emulated.folder / "share/rocjitsu/configs/gfx942_kmd.json"
    command = f"{emulated.folder}/rocm/enter {emulated.program} --config {config} --"
    assert f"export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='{command}'\n" in done.out
    assert "export CANDLE_ROCM_ARCHS=gfx942\n" in done.out


def test_cargo_cannot_start_a_program_with_a_blank(emulated: Emulated) -> None:
    """Other commands can be started so."""
    place = emulated.folder.rename(emulated.folder.with_name("a b"))
    named = ("--emulator", place / "bin" / "rocjitsu", "--rocm", place / "rocm")
    done = invoke("device", "--device", "emulator", *named, "--", "cargo", "test")
    assert f"cargo starts no program by '{place}/rocm/enter', whose path has a blank" in " ".join(
        done.err.split()
    )
    assert done.code != 0


def test_a_command_ends_with_portkit(emulated: Emulated, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    words = ("sh", "-c", f"echo $$ > {pid}; exec sleep 60")
    command = (sys.executable, "-m", "portkit", "device", "--device", "emulator", "--", *words)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        while not (pid.is_file() and pid.read_text()):
            assert running.poll() is None
            time.sleep(0.05)
        running.terminate()
        assert running.wait(30) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_command_and_options_that_do_not_go_together(emulated: Emulated) -> None:
    done = invoke("device", "--device", "emulator", "--chaos", "3")
    assert (done.code, "are for the CPU device" in done.err) == (2, True)
    for name in ("device", "trial"):
        assert "need --device emulator" in invoke(name, "--gpu", "gfx1100").err
