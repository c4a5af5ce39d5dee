"""Broken machines, each a folder, and the sentence that ``portkit doctor`` has for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from doctor_support import RENDER, Simulated, healthy

from portkit.doctor.complaints import Level
from portkit.doctor.diagnosis import diagnose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Case:
    """What is broken, and what is said.

    Attributes:
        breaks: makes the broken machine of the healthy one.
        name: of the one complaint.
        what: what it says.
        mend: a part of what it says to do.
        level: how much it weighs.
    """

    breaks: Callable[[Simulated], Simulated | None]
    name: str
    what: str
    mend: str
    level: Level = Level.PROBLEM


def no_gpu(m: Simulated) -> None:
    m.remove("/sys/bus/pci/devices")
    m.remove("/sys/class/kfd")
    m.remove("/dev")


def another_s_gpu(m: Simulated) -> None:
    """An NVIDIA GPU, and AMD's bridge, which is none."""
    no_gpu(m)
    m.write("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n")
    m.write("/sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n")
    m.write("/sys/bus/pci/devices/0000:00:01.0/vendor", "0x1002\n")
    m.write("/sys/bus/pci/devices/0000:00:01.0/class", "0x060400\n")


def without_driver(m: Simulated, driver: str = "") -> None:
    no_gpu(m)
    m.card("0000:03:00.0", driver)


def not_loaded(m: Simulated) -> None:
    without_driver(m)
    m.remove("/sys/module/amdgpu")


def nomodeset(m: Simulated) -> None:
    not_loaded(m)
    m.write("/proc/cmdline", "root=/dev/sda1 nomodeset quiet\n")


def denied(m: Simulated) -> None:
    not_loaded(m)
    m.write("/etc/modprobe.d/blacklist-amdgpu.conf", "# kept\nblacklist amdgpu\n")


def denied_by_the_kernel(m: Simulated) -> None:
    not_loaded(m)
    m.write("/proc/cmdline", "ro module_blacklist=nouveau,amdgpu\n")


def no_kfd(m: Simulated) -> None:
    m.remove("/dev/kfd")
    m.remove("/sys/class/kfd")


def in_docker(m: Simulated) -> None:
    m.remove("/dev")
    m.write("/.dockerenv")


def in_podman_without_render(m: Simulated) -> None:
    m.remove("/dev/dri")
    m.write("/run/.containerenv")


def refused(m: Simulated) -> None:
    m.remove("/sys/class/kfd/kfd/topology/nodes/1")


def no_render_node(m: Simulated) -> None:
    m.remove("/dev/dri")


def no_group(m: Simulated) -> Simulated:
    return Simulated(m.root, m.environment, frozenset({RENDER + 1}))


def not_taken_up(m: Simulated) -> Simulated:
    m.write("/etc/group", f"render:x:{RENDER}:bob,alice\n")
    return no_group(m)


def no_group_in_a_container(m: Simulated) -> Simulated:
    m.write("/.dockerenv")
    m.write("/etc/group", "root:x:0:\n")
    return no_group(m)


def for_root_alone(m: Simulated) -> None:
    m.place("/dev/kfd").chmod(0o600)


def old_gpu(m: Simulated) -> None:
    m.node(1, 80003)
    m.rocm(archs="gfx803")


def integrated(m: Simulated) -> None:
    m.node(2, 100306, 129)
    m.rocm(archs="gfx1036")


def no_kernels(m: Simulated) -> None:
    m.remove("/opt/rocm-6.2.4/lib/rocblas/library")
    m.rocm(archs="gfx90a gfx1030")


def no_kernels_at_all(m: Simulated) -> None:
    m.remove("/opt/rocm-6.2.4/lib/rocblas")


def no_rocm(m: Simulated) -> None:
    m.remove("/opt")


def no_rocblas(m: Simulated) -> None:
    m.remove("/opt/rocm-6.2.4/lib/librocblas.so.4")
    m.write("/etc/os-release", "ID=fedora\n")


def no_hiprtc(m: Simulated) -> None:
    m.remove("/opt/rocm-6.2.4/lib/libhiprtc.so.6")  # the plain name is a link that leads nowhere


def no_hipcc(m: Simulated) -> None:
    m.remove("/opt/rocm-6.2.4/bin/hipcc")
    m.write("/etc/os-release", "ID=arch\n")


def old_rocm(m: Simulated) -> None:
    m.write("/opt/rocm-6.2.4/.info/version", "5.7.1-98\n")


def new_rocm(m: Simulated) -> None:
    m.write("/opt/rocm-6.2.4/.info/version", "9.1.0\n")


def two_versions(m: Simulated) -> None:
    m.rocm("7.0.1")


def mixed(m: Simulated) -> Simulated:
    m.rocm("7.0.1")
    return m.given(HIPCC="/opt/rocm-7.0.1/bin/hipcc", LD_LIBRARY_PATH="/opt/rocm-6.2.4/lib")


def several(m: Simulated) -> None:
    m.card("0000:83:00.0", kind="DMA-FQ")
    m.node(2, 110000, 129)


CASES = {
    "no GPU": Case(
        no_gpu, "no-gpu", "there is no AMD GPU on the PCI bus", "`portkit trial --device cpu`"
    ),
    "another vendor's GPU": Case(
        another_s_gpu, "no-gpu", "there is no AMD GPU on the PCI bus", "take a machine with one"
    ),
    "no driver": Case(
        not_loaded, "no-driver", "the driver amdgpu is not loaded", "`sudo modprobe amdgpu`"
    ),
    "driver without a GPU": Case(
        without_driver, "no-driver", "the driver amdgpu is loaded and has no GPU", "dmesg"
    ),
    "given to a virtual machine": Case(
        lambda m: without_driver(m, "vfio-pci"),
        "other-driver",
        "the driver vfio-pci has the GPU, not amdgpu",
        "vfio-pci holds it for a virtual machine",
    ),
    "nomodeset": Case(
        nomodeset,
        "driver-off",
        "the kernel was started with nomodeset, with which amdgpu does nothing",
        "GRUB_CMDLINE_LINUX",
    ),
    "denied": Case(
        denied,
        "driver-denied",
        "/etc/modprobe.d/blacklist-amdgpu.conf keeps the driver amdgpu from being loaded",
        "take it out there",
    ),
    "denied by the kernel": Case(
        denied_by_the_kernel,
        "driver-denied",
        "the kernel's command line keeps the driver amdgpu from being loaded",
        "take it out there",
    ),
    "no /dev/kfd": Case(
        no_kfd,
        "no-kfd",
        "the driver amdgpu is loaded and /dev/kfd is not there",
        "CONFIG_HSA_AMD",
    ),
    "container without devices": Case(
        in_docker,
        "container-without-devices",
        "this container was started without /dev/kfd",
        "`--device /dev/kfd --device /dev/dri`",
    ),
    "container without render nodes": Case(
        in_podman_without_render,
        "container-without-devices",
        "/dev/dri/renderD128 is not there",
        "--device /dev/dri",
    ),
    "GPU refused by the driver": Case(
        refused,
        "gpu-refused",
        "the driver amdgpu has the GPU at 0000:03:00.0, and does not offer it for computing",
        "PCIe atomics",
    ),
    "no render node": Case(
        no_render_node, "no-render-node", "/dev/dri/renderD128 is not there", "dmesg"
    ),
    "no group": Case(
        no_group,
        "no-group",
        "/dev/kfd cannot be opened (Permission denied); /dev/dri/renderD128 cannot be opened"
        " (Permission denied)",
        "`sudo usermod -a -G render $LOGNAME`",
    ),
    "group since the login": Case(
        not_taken_up,
        "groups-not-taken-up",
        "/dev/kfd cannot be opened (Permission denied); /dev/dri/renderD128 cannot be opened"
        " (Permission denied); you are in render since you logged in",
        "log out and in again",
    ),
    "container without groups": Case(
        no_group_in_a_container,
        "container-without-groups",
        "/dev/kfd cannot be opened (Permission denied); /dev/dri/renderD128 cannot be opened"
        " (Permission denied)",
        f"`--group-add {RENDER}`",
    ),
    "refused in spite of groups": Case(
        for_root_alone,
        "device-refused",
        "/dev/kfd cannot be opened (Permission denied)",
        "something else keeps them",
    ),
    "architecture": Case(
        old_gpu,
        "architecture",
        "the GPU is a gfx803, and kernels are compiled for gfx90a, gfx942, gfx1030,"
        " gfx1100, gfx1151, gfx1200, gfx1201, gfx9-4-generic, gfx10-3-generic, gfx11-generic,"
        " gfx12-generic",
        "take another GPU",
    ),
    "integrated GPU beside": Case(
        integrated,
        "integrated",
        "beside the gfx1100 the driver offers a gfx1036, which is part of the processor: the"
        " runtime may end programs then",
        "ROCR_VISIBLE_DEVICES",
        Level.DOUBT,
    ),
    "override": Case(
        lambda m: m.given(HSA_OVERRIDE_GFX_VERSION="9.0.10"),
        "override",
        "HSA_OVERRIDE_GFX_VERSION has the runtime take the gfx1100 for a gfx90a, for which a build"
        " on this machine compiles no kernels",
        "unset it",
    ),
    "override of one GPU, built for": Case(
        lambda m: m.given(HSA_OVERRIDE_GFX_VERSION_1="9.0.10", CANDLE_ROCM_ARCHS="gfx90a"),
        "override",
        "HSA_OVERRIDE_GFX_VERSION has the runtime take the gfx1100 for a gfx90a, for which a build"
        " on this machine compiles no kernels",
        "trust no result",
        Level.DOUBT,
    ),
    "override that is none": Case(
        lambda m: m.given(HSA_OVERRIDE_GFX_VERSION="gfx1030"),
        "override",
        "HSA_OVERRIDE_GFX_VERSION is 'gfx1030', which is no version, and the runtime ends",
        "unset it",
    ),
    "hidden": Case(
        lambda m: m.given(ROCR_VISIBLE_DEVICES=""),
        "hidden",
        "ROCR_VISIBLE_DEVICES is set to nothing, which hides every GPU",
        "unset ROCR_VISIBLE_DEVICES",
    ),
    "hidden by CUDA's variable": Case(
        lambda m: m.given(CUDA_VISIBLE_DEVICES="1"),
        "hidden",
        "CUDA_VISIBLE_DEVICES is 1, and there is one GPU, number 0",
        "unset CUDA_VISIBLE_DEVICES",
    ),
    "the CPU device's shell": Case(
        lambda m: m.given(PORTKIT_DEVICE_ARCH="gfx1100"),
        "cpu-device",
        "the environment is that of the CPU device, on which programs run in place of the GPU",
        "take another shell",
    ),
    "no ROCm": Case(
        no_rocm,
        "no-rocm",
        "ROCm is not installed: neither its libraries nor hipcc are found on the loader's path, on"
        " PATH, in ROCM_PATH or in /opt/rocm",
        "`sudo apt install hip-runtime-amd hiprand rocblas hipcc` (AMD's packages) or `sudo apt"
        " install libamdhip64-dev libhiprand-dev libhiprtc6 librocblas-dev hipcc`",
    ),
    "no rocBLAS": Case(
        no_rocblas,
        "no-library",
        "the library rocblas is not found: no librocblas.so, librocblas.so.5, librocblas.so.4 on"
        " the loader's path, in ROCM_PATH or in /opt/rocm",
        "run `sudo dnf install rocblas`",
    ),
    "a library that is a broken link": Case(
        no_hiprtc,
        "no-library",
        "the library hiprtc is not found: no libhiprtc.so, libhiprtc.so.7, libhiprtc.so.6 on the"
        " loader's path, in ROCM_PATH or in /opt/rocm",
        "hip-runtime-amd",
    ),
    "no compiler": Case(
        no_hipcc,
        "no-compiler",
        "hipcc, which compiles the kernels, is not found by HIPCC, in ROCM_PATH, on PATH or in"
        " /opt/rocm",
        "install AMD's packages hipcc",
    ),
    "old ROCm": Case(
        old_rocm, "old-rocm", "ROCm 5.7 in /opt/rocm-6.2.4 is older than 6.2", "a newer one"
    ),
    "ROCm that nobody tried": Case(
        new_rocm,
        "untried-rocm",
        "ROCm 9.1 in /opt/rocm-6.2.4 is newer than 7.2, the last whose declarations were compared",
        "go on",
        Level.DOUBT,
    ),
    "two versions": Case(
        two_versions,
        "two-versions",
        "there are several versions of ROCm: 6.2 in /opt/rocm-6.2.4, 7.0 in /opt/rocm-7.0.1"
        " (/opt/rocm-6.2.4 is used)",
        "set ROCM_PATH",
        Level.DOUBT,
    ),
    "parts of two versions": Case(
        mixed,
        "mixed-versions",
        "parts of two versions of ROCm are mixed: hipcc 7.0 in /opt/rocm-7.0.1, amdhip64 6.2 in"
        " /opt/rocm-6.2.4",
        "set ROCM_PATH",
    ),
    "no kernels of rocBLAS": Case(
        no_kernels,
        "no-rocblas-kernels",
        "rocBLAS has no kernels for gfx1100 in /opt/rocm-6.2.4/lib/rocblas/library: it has those"
        " of gfx1030, gfx90a",
        "install a release of rocBLAS that has them",
    ),
    "no kernels of rocBLAS at all": Case(
        no_kernels_at_all,
        "no-rocblas-kernels",
        "rocBLAS has no kernels for gfx1100 in /opt/rocm-6.2.4/lib/rocblas/library: the folder has"
        " none",
        "rocblas",
    ),
    "kernels of rocBLAS elsewhere": Case(
        lambda m: m.given(ROCBLAS_TENSILE_LIBPATH="/nowhere"),
        "no-rocblas-kernels",
        "rocBLAS has no kernels for gfx1100 in /nowhere: the folder has none",
        "rocblas",
    ),
    "several GPUs behind an IOMMU": Case(
        several,
        "iommu",
        "there are 2 GPUs, and the IOMMU translates their addresses, with which programs on"
        " several GPUs may hang",
        "iommu=pt",
        Level.DOUBT,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_broken_machine_has_its_sentence(tmp_path: Path, case: Case) -> None:
    made = healthy(tmp_path)
    broken = case.breaks(made) or made
    (complaint,) = diagnose(broken.machine()).complaints
    assert (complaint.name, complaint.level) == (case.name, case.level)
    assert complaint.what == case.what
    assert case.mend in complaint.mend
    assert complaint.source.startswith(("https://", "docs/"))


def test_nothing_is_said_of_a_healthy_machine(tmp_path: Path) -> None:
    found = diagnose(healthy(tmp_path).machine())
    assert found.complaints == ()
    assert found.facts == {
        "system": "Ubuntu 24.04.1 LTS",
        "kernel": "6.8.0-45-generic",
        "driver amdgpu": "6.8.5",
        "GPUs on the bus": "1",
        "GPUs for computing": "gfx1100",
        "amdhip64": "/opt/rocm-6.2.4/lib/libamdhip64.so.6, ROCm 6.2",
        "hiprand": "/opt/rocm-6.2.4/lib/libhiprand.so.1, ROCm 6.2",
        "hiprtc": "/opt/rocm-6.2.4/lib/libhiprtc.so.6, ROCm 6.2",
        "MIOpen": "not found",
        "hipblaslt": "not found",
        "rccl": "not found",
        "rocblas": "/opt/rocm-6.2.4/lib/librocblas.so.4, ROCm 6.2",
        "hipcc": "/opt/rocm-6.2.4/bin/hipcc, ROCm 6.2",
    }


def test_nothing_is_said_of_other_healthy_machines(tmp_path: Path) -> None:
    """Debian's own packages, whose parts differ in version; a container with all it needs; GPUs."""
    debian = healthy(tmp_path / "debian")
    debian.remove("/opt")
    libs = "/usr/lib/x86_64-linux-gnu"
    for file in (
        "libamdhip64.so.6.4.43484",
        "libhiprtc.so.6",
        "librocblas.so.4",
        "libhiprand.so.1",
    ):
        debian.write(f"{libs}/{file}")
    debian.link(f"{libs}/libamdhip64.so.6", "libamdhip64.so.6.4.43484")
    debian.link("/lib", "usr/lib")
    debian.write(f"{libs}/rocblas/4.4.1/library/TensileLibrary_lazy_gfx1100.dat")
    debian.write("/usr/bin/hipcc", mode=0o755)
    debian.write("/usr/share/hip/version", "HIP_VERSION_MAJOR=7\nHIP_VERSION_MINOR=0\n")
    container = healthy(tmp_path / "container")
    container.write("/.dockerenv")
    container.node(2, 90402, 129)
    container.rocm(archs="gfx942")
    container.remove("/dev/dri/renderD129")  # one of two GPUs is handed over
    two = healthy(tmp_path / "two").given(HIP_VISIBLE_DEVICES="1", ROCR_VISIBLE_DEVICES="0,1")
    two.card("0000:83:00.0", kind="DMA")
    two.node(2, 120001, 129)
    two.rocm(archs="gfx1201")
    two.write("/proc/cmdline", "ro iommu=pt\n")
    only_the_apu = healthy(tmp_path / "apu")
    only_the_apu.node(1, 110501)
    only_the_apu.rocm(archs="gfx1151")
    told_the_truth = healthy(tmp_path / "told").given(HSA_OVERRIDE_GFX_VERSION="11.0.0")
    for each in (debian, container, two, only_the_apu, told_the_truth):
        found = diagnose(each.machine())
        assert found.complaints == (), each.root.name


def test_problems_come_before_doubts(tmp_path: Path) -> None:
    made = healthy(tmp_path)
    no_kernels(made)
    made.card("0000:83:00.0", kind="DMA-FQ")
    two_versions(made)
    found = diagnose(made.given(ROCR_VISIBLE_DEVICES="-1").machine())
    assert [c.name for c in found.complaints] == [
        *("hidden", "no-rocblas-kernels"),
        *("two-versions", "iommu"),
    ]
    assert found.problems == 2


def test_what_is_no_linux(tmp_path: Path) -> None:
    windows = Simulated(tmp_path / "none")
    assert diagnose(windows.machine()).complaints[0].name == "no-linux"
    wsl = healthy(tmp_path / "wsl")
    wsl.remove("/dev")
    wsl.remove("/sys/class/kfd")
    wsl.write("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n")
    assert [c.name for c in diagnose(wsl.machine()).complaints] == ["wsl"]
