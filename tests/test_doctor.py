"""``portkit doctor``: how a machine is read, and how it is told."""

from __future__ import annotations

import json
import os
import re
import socket
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from cli_support import invoke
from doctor_support import Simulated, healthy
from jsonschema import Draft202012Validator
from test_doctor_machines import CASES

from portkit.doctor.gpus import find_gpus
from portkit.doctor.libraries import OLDEST, TRIED
from portkit.doctor.machine import Machine
from portkit.doctor.packages import PACKAGES
from portkit.doctor.rocm_components import NAMES, find_compiler, find_library
from portkit.hipify.archs import ARCHS, FAMILY_ARCHS, is_supported_arch

if TYPE_CHECKING:
    from typing import Any

    import pytest

ROOT = Path(__file__).parents[1]
LOADER = (ROOT / "crates/hip/src/loader.rs").read_text()


def seen_as(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    monkeypatch.setattr(Machine, "here", lambda: machine)


# --- the command -------------------------------------------------------------------------------


def test_an_emulated_gpu_needs_no_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AMD's emulator is loaded into the program and shows it a GPU; nothing is on the bus."""
    made = healthy(tmp_path)
    for path in ("/sys/bus/pci/devices/0000:03:00.0", "/sys/module/amdgpu", "/dev/kfd"):
        made.remove(path)
    seen_as(monkeypatch, made.given(LD_PRELOAD="/opt/rocjitsu/lib/librocjitsu.so").machine())
    done = invoke("doctor", "--json")
    document = json.loads(done.out)
    assert (done.code, document["complaints"]) == (0, [])
    assert document["facts"]["GPUs for computing"] == "gfx1100 (AMD's emulator)"
    # Without a GPU of its own it stands for none.
    made.remove("/sys/class/kfd/kfd/topology/nodes/1")
    assert "no-gpu" in invoke("doctor", "--json").out


def test_what_is_missing_is_told_with_how_to_mend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = healthy(tmp_path)
    made.remove("/opt/rocm-6.2.4/bin/hipcc")
    seen_as(monkeypatch, made.machine())
    done = invoke("doctor")
    assert done.code == 1
    told = " ".join(done.out.split())
    assert "problem: hipcc, which compiles the kernels, is not found by HIPCC" in told
    assert "Run `sudo apt install hipcc`, or set HIPCC to where it is." in told
    assert "https://rocm.docs.amd.com/" in told
    assert done.out.endswith("\n1 problem: a port does not run on a GPU here yet.\n")


def test_a_doubt_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = healthy(tmp_path)
    made.rocm("7.0.1")
    seen_as(monkeypatch, made.machine())
    done = invoke("doctor")
    assert done.code == 0
    assert "doubt: there are several versions of ROCm" in done.out
    assert done.out.endswith("\n1 doubt, and nothing that keeps a port from running.\n")


def test_a_healthy_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen_as(monkeypatch, healthy(tmp_path).machine())
    done = invoke("doctor")
    assert done.code == 0
    assert "GPUs for computing  gfx1100" in done.out
    assert done.out.endswith("\nNothing is missing that can be seen from files.\n")


def test_the_document_is_as_its_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = json.loads((resources.files("portkit") / "report/doctor.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    for number, case in enumerate(CASES.values()):
        made = healthy(tmp_path / str(number))
        seen_as(monkeypatch, (case.breaks(made) or made).machine())
        done = invoke("doctor", "--json")
        document: dict[str, Any] = json.loads(done.out)
        Draft202012Validator(schema).validate(document)
        assert [each["name"] for each in document["complaints"]] == [case.name]
        assert done.code == document["problems"] == (case.level == "problem")


def test_what_a_file_says_does_not_act_on_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = healthy(tmp_path)
    made.write("/etc/os-release", 'PRETTY_NAME="\x1b[2J"\n')
    seen_as(monkeypatch, made.given(ROCR_VISIBLE_DEVICES="0\x1b[2J").machine())
    assert "\x1b" not in invoke("doctor").out


def test_this_machine_is_looked_at() -> None:
    done = invoke("doctor", "--json")
    assert done.code in (0, 1)
    assert json.loads(done.out)["facts"]["kernel"] == os.uname().release


# --- the view of a machine ---------------------------------------------------------------------


def test_links_are_followed_within_the_machine(tmp_path: Path) -> None:
    made = Simulated(tmp_path)
    made.write("/opt/rocm-7/lib/a", "x\n")
    made.link("/etc/alternatives/rocm", "/opt/rocm-7")
    made.link("/opt/rocm", "../etc/./alternatives/rocm")
    made.link("/loop", "loop")
    made.link("/out", "../../../../etc/passwd")
    machine = made.machine()
    assert machine.resolved("/opt/rocm/lib/a") == "/opt/rocm-7/lib/a"
    assert machine.resolved("/opt/rocm/nothing/b") == "/opt/rocm-7/nothing/b"
    assert machine.text("/opt/rocm/lib/a") == "x"
    assert machine.text("/loop") == ""
    assert machine.resolved("/out") == "/etc/passwd"
    assert not machine.has("/out")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * (2 << 20))
    machine = Machine(tmp_path)
    assert machine.text("/pipe") == ""
    assert machine.text("/nothing") == ""
    assert machine.names("/large") == ()
    assert len(machine.text("/large")) == 1 << 20


def test_this_machine_s_device_files_are_opened(tmp_path: Path) -> None:
    """A socket has bits that allow it, and the system refuses it."""
    place = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(place))
        place.chmod(0o666)
        assert Machine().refusal(str(place)) == "No such device or address"
    (tmp_path / "file").touch()
    assert Machine().refusal(str(tmp_path / "file")) == ""


def test_architectures_of_the_driver(tmp_path: Path) -> None:
    made = Simulated(tmp_path)
    for number, version in enumerate((0, 90010, 110000, 90402)):
        made.node(number, version)
    made.node(10, 120001, 0)
    made.write("/sys/class/kfd/kfd/topology/nodes/11/properties", "gfx_target_version\n")
    found = find_gpus(made.machine())
    assert [gpu.arch for gpu in found] == ["gfx90a", "gfx1100", "gfx942", "gfx1201"]
    assert found[-1].render == ""


def test_libraries_are_found_in_the_port_s_order(tmp_path: Path) -> None:
    made = healthy(tmp_path).given(LD_LIBRARY_PATH=":relative:/a:/b")

    def where(**variables: str) -> str:
        found = find_library(made.given(**variables).machine(), "rocblas")
        return found.path if found else ""

    assert where() == "/opt/rocm-6.2.4/lib/librocblas.so.4"
    made.write("/usr/lib/x86_64-linux-gnu/librocblas.so")
    assert where() == "/opt/rocm-6.2.4/lib/librocblas.so.4"  # nobody knows of which release that is
    made.write("/usr/lib/x86_64-linux-gnu/librocblas.so.5")
    assert where() == "/usr/lib/x86_64-linux-gnu/librocblas.so.5"
    made.write("/b/librocblas.so.5")
    assert where() == "/b/librocblas.so.5"
    made.write("/a/librocblas.so.4")
    assert where() == "/a/librocblas.so.4"
    made.write("/hip/lib/librocblas.so.5")
    assert where(HIP_PATH="/hip") == "/hip/lib/librocblas.so.5"
    assert where(HIP_PATH="/hip", ROCM_PATH="/opt/rocm") == "/opt/rocm-6.2.4/lib/librocblas.so.4"


def test_a_library_of_an_old_release_is_passed_over(tmp_path: Path) -> None:
    made = healthy(tmp_path).given(LD_LIBRARY_PATH="/old")
    made.write("/old/libamdhip64.so.5.7.31921")
    made.link("/old/libamdhip64.so", "libamdhip64.so.5.7.31921")
    found = find_library(made.machine(), "amdhip64")
    assert found is not None and found.path.startswith("/opt/rocm-6.2.4/lib/libamdhip64.so.6")


def test_the_compiler_is_found_as_builds_find_it(tmp_path: Path) -> None:
    made = healthy(tmp_path)
    made.write("/usr/bin/hipcc")

    def where(**variables: str) -> str:
        found = find_compiler(made.given(**variables).machine())
        return found.path if found else ""

    assert where() == "/usr/bin/hipcc"
    assert where(ROCM_PATH="/opt/rocm") == "/opt/rocm-6.2.4/bin/hipcc"
    assert where(HIPCC="/usr/bin/hipcc", ROCM_PATH="/opt/rocm") == "/usr/bin/hipcc"
    assert where(PATH="relative:/nowhere") == "/opt/rocm-6.2.4/bin/hipcc"


# --- what is declared twice --------------------------------------------------------------------


def test_families_are_those_of_the_bindings() -> None:
    """The bindings know one family more, which a port does not promise."""
    table = (ROOT / "crates/hip/src/arch.rs").read_text().partition("const GENERIC")[2]
    table = table.partition("];")[0]
    rows = re.findall(r'"(gfx[\w-]+-generic)",\s*&\[(.*?)\]', table, re.DOTALL)
    theirs = {name: tuple(re.findall(r'"(\w+)"', covered)) for name, covered in rows}
    assert {name: theirs[name] for name in FAMILY_ARCHS} == FAMILY_ARCHS
    assert set(theirs) - set(FAMILY_ARCHS) == {"gfx9-generic", "gfx10-1-generic"}
    assert all(map(is_supported_arch, ARCHS))
    assert is_supported_arch("gfx1036")
    assert not is_supported_arch("gfx906")


def test_libraries_and_packages_are_those_of_the_bindings() -> None:
    parts = re.findall(
        r'packages: &\[(.*?)\],\s*stem: "(\w+)",\s*versions: &\[(.*?)\],', LOADER, re.DOTALL
    )
    theirs = {
        stem: (re.findall(r'"([\w-]+)"', packages), re.findall(r"\((\d+), \d\)", said))
        for packages, stem, said in parts
    }
    del theirs["no_such_library"]  # of the bindings' own tests
    assert theirs.keys() == NAMES.keys()
    for name, (packages, versions) in theirs.items():
        own = PACKAGES[name]
        assert [own.amd, own.debian, own.fedora] == packages
        assert list(NAMES[name]) == versions


def test_the_releases_are_those_that_the_pages_name() -> None:
    said = (ROOT / "crates/hip/README.md").read_text()
    assert f"ROCm {OLDEST[0]}.{OLDEST[1]} or newer" in said
    first, last = (".".join(map(str, release)) for release in TRIED)
    assert f"one build for ROCm {first} to {last}" in (ROOT / "docs/bindings.md").read_text()


def test_the_page_names_every_complaint() -> None:
    page = (ROOT / "docs/doctor.md").read_text()
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    code = "".join(place.read_text() for place in (ROOT / "portkit/doctor").glob("*.py"))
    table = tomllib.loads((ROOT / "portkit/doctor/complaints.toml").read_text())
    assert set(re.findall(r'make_complaint\(\s*"([a-z-]+)"', code)) == table.keys()
    known = {row.get("name", key) for key, row in table.items()}
    assert rows == known
    assert {case.name for case in CASES.values()} == known - {"no-linux", "wsl"}
