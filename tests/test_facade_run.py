"""The emitted bindings at run time, with stand-ins for ROCm's libraries built by ``cc``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest
from facade_support import SHARED, cargo, write_workspace

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="the stand-ins are ELF libraries"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]

FIXTURES = Path(__file__).parent / "fixtures" / "facade"
# The version that follows `.so` in each release of ROCm: SOVERSION in the libraries' CMake files.
VERSIONS = {
    "ROCm 6": {"amdhip64": "6", "rocblas": "4", "hiprand": "1", "hiprtc": "6"},
    "ROCm 7": {"amdhip64": "7", "rocblas": "5", "hiprand": "1", "hiprtc": "7"},
}


class Call(Protocol):
    """Runs an action of the probe and returns what the stand-ins logged."""

    def __call__(self, action: str, **variables: str) -> list[str]: ...


LIBRARIES = ["amdhip64", "rocblas", "hiprand", "hiprtc"]


def build(stem: str, file: Path, *flags: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    source = FIXTURES / "libraries" / f"{stem}.c"
    command = ["cc", "-shared", "-fPIC", "-w", "-o", str(file), str(source), *flags]
    subprocess.run(command, check=True)
    return file


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that uses the bindings."""
    root = tmp_path_factory.mktemp("workspace")
    crate = write_workspace(root, frozenset(SHARED))
    (crate / "examples").mkdir()
    shutil.copyfile(FIXTURES / "probe.rs", crate / "examples" / "probe.rs")
    built = cargo(crate, root / "target", "build", "--example", "probe")
    assert built.returncode == 0, built.stdout
    return root / "target" / "debug" / "examples" / "probe"


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stand-in for each library, under its plain name."""
    folder = tmp_path_factory.mktemp("libraries")
    for stem in LIBRARIES:
        build(stem, folder / f"lib{stem}.so")
    return folder


def run(probe: Path, action: str, **variables: str) -> str:
    """Run an action with nothing of ROCm but what the variables name, and return its output."""
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME")}
    done = subprocess.run(
        [str(probe), action],
        env=kept | {"ROCM_PATH": "/nowhere", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def call(probe: Path, libraries: Path, tmp_path: Path) -> Call:
    """Run an action with the stand-ins, and return what they logged."""

    def with_log(action: str, **variables: str) -> list[str]:
        log = tmp_path / f"{action}.log"
        run(probe, action, LD_LIBRARY_PATH=str(libraries), STAND_IN_LOG=str(log), **variables)
        return log.read_text().splitlines() if log.exists() else []

    return with_log


# What is found, and what is said where nothing is.


@pytest.mark.parametrize("release", sorted(VERSIONS))
def test_versioned_names_are_enough(probe: Path, tmp_path: Path, release: str) -> None:
    files = [f"lib{stem}.so.{version}" for stem, version in VERSIONS[release].items()]
    for stem, file in zip(VERSIONS[release], files, strict=True):
        build(stem, tmp_path / file)
    lines = run(probe, "load", LD_LIBRARY_PATH=str(tmp_path)).splitlines()
    assert lines == [*(str(tmp_path / file) for file in files), "2 devices"]


@pytest.mark.parametrize("variable", ["ROCM_PATH", "HIP_PATH"])
def test_an_installation_that_the_loader_does_not_know(
    probe: Path, tmp_path: Path, variable: str
) -> None:
    file = build("amdhip64", tmp_path / "rocm" / "lib" / "libamdhip64.so.6")
    lines = run(probe, "load", **{variable: str(tmp_path / "rocm")}).splitlines()
    assert lines[0] == str(file)
    assert lines[-1] == "2 devices"


def test_the_plain_name_goes_before_versions(probe: Path, tmp_path: Path) -> None:
    build("amdhip64", tmp_path / "libamdhip64.so", "-DDEVICES=5")
    build("amdhip64", tmp_path / "libamdhip64.so.7")
    lines = run(probe, "load", LD_LIBRARY_PATH=str(tmp_path)).splitlines()
    assert (lines[0], lines[-1]) == (str(tmp_path / "libamdhip64.so"), "5 devices")


@pytest.mark.parametrize("name", ["libamdhip64.so.5", "libamdhip64.so"])
def test_an_old_release_on_the_loader_s_path_is_passed_over(
    probe: Path, tmp_path: Path, name: str
) -> None:
    old, new = tmp_path / "old", tmp_path / "rocm/lib/libamdhip64.so.6"
    build("amdhip64", old / "libamdhip64.so.5.7.31921", "-DDEVICES=5")
    (old / name).symlink_to("libamdhip64.so.5.7.31921")
    build("amdhip64", new)
    asked = {"LD_LIBRARY_PATH": str(old)}
    lines = run(probe, "load", **asked, ROCM_PATH=str(tmp_path / "rocm")).splitlines()
    assert (lines[0], lines[-1]) == (str(new), "2 devices")
    if not Path("/opt/rocm").exists():
        assert "install ROCm 6.2 or newer" in run(probe, "load", **asked)


def test_what_is_configured_goes_before_the_loader_s_path(probe: Path, tmp_path: Path) -> None:
    build("amdhip64", tmp_path / "loader/libamdhip64.so.7", "-DDEVICES=5")
    new = build("amdhip64", tmp_path / "rocm/lib/libamdhip64.so.6")
    asked = {"LD_LIBRARY_PATH": str(tmp_path / "loader"), "ROCM_PATH": str(tmp_path / "rocm")}
    assert run(probe, "load", **asked).splitlines()[0] == str(new)


def test_libraries_of_two_releases_are_not_mixed(probe: Path, tmp_path: Path) -> None:
    rocm, loader = tmp_path / "rocm/lib", tmp_path / "loader"
    hip = build("amdhip64", rocm / "libamdhip64.so.6")
    other = build("rocblas", loader / "librocblas.so.5")
    build("rocblas", loader / "librocblas.so.4.4.60403")
    # AMD's packages say the release in each file's name.
    random = build("hiprand", rocm / "libhiprand.so.1.1.60403")
    random.with_name("libhiprand.so.1").symlink_to(random.name)
    asked = {"LD_LIBRARY_PATH": str(loader), "ROCM_PATH": str(tmp_path / "rocm")}
    lines = run(probe, "load", **asked).splitlines()
    assert lines[0] == str(hip)
    assert lines[1] == (
        f"rocBLAS could not be loaded: {other} is of another release of ROCm than {hip}, which is "
        "in use; set ROCM_PATH to the one release that you mean"
    )
    assert lines[2] == str(random.with_name("libhiprand.so.1"))
    same = loader / "librocblas.so.4"
    same.symlink_to("librocblas.so.4.4.60403")
    assert run(probe, "load", **asked).splitlines()[1] == str(same)


def test_nothing_is_said_to_be_missing_with_what_to_do(probe: Path) -> None:
    if Path("/opt/rocm").exists():
        pytest.skip("ROCm is installed")
    lines = run(probe, "load").splitlines()
    assert len(lines) == 5
    hip, rocblas, hiprand, hiprtc, devices = lines
    assert (
        hip
        == devices
        == (
            "the HIP runtime could not be loaded: no libamdhip64.so, libamdhip64.so.7, "
            "libamdhip64.so.6 on the loader's path or in /nowhere/lib or in "
            "/opt/rocm/lib; install ROCm 6.2 or newer (AMD's package hip-runtime-amd; Debian's and "
            "Ubuntu's libamdhip64-dev, Fedora's rocm-hip), or set "
            "LD_LIBRARY_PATH or ROCM_PATH to where it is"
        )
    )
    assert "librocblas.so.4" in rocblas and "package rocblas" in rocblas
    assert "libhiprand.so.1" in hiprand and "package hiprand" in hiprand
    assert "libhiprtc.so.7" in hiprtc


def test_a_library_that_lacks_another_is_not_called_missing(probe: Path, tmp_path: Path) -> None:
    needed = build("hiprand", tmp_path / "libneeded.so")
    build(
        "amdhip64", tmp_path / "libamdhip64.so.6", f"-L{tmp_path}", "-Wl,--no-as-needed", "-lneeded"
    )
    needed.unlink()
    hip = run(probe, "load", LD_LIBRARY_PATH=str(tmp_path)).splitlines()[0]
    assert hip.startswith("the HIP runtime could not be loaded: libneeded.so: ")


def test_a_machine_without_a_gpu_or_without_rocm_has_none(probe: Path, tmp_path: Path) -> None:
    if not Path("/opt/rocm").exists():
        assert run(probe, "available") == "false\n"
    for devices in (0, 2):
        build("amdhip64", tmp_path / str(devices) / "libamdhip64.so", f"-DDEVICES={devices}")
        there = run(probe, "available", LD_LIBRARY_PATH=str(tmp_path / str(devices)))
        assert there == ("true\n" if devices else "false\n")


def test_a_runtime_that_is_there_and_does_not_load_is_an_error(probe: Path, tmp_path: Path) -> None:
    (tmp_path / "libamdhip64.so").write_text("no library")
    said = run(probe, "available", LD_LIBRARY_PATH=str(tmp_path))
    assert "the HIP runtime could not be loaded" in said and "reinstall ROCm" in said


def test_a_missing_function_is_named(probe: Path, tmp_path: Path) -> None:
    build("amdhip64", tmp_path / "libamdhip64.so", "-DWITHOUT_FUNCTION_ATTRIBUTES")
    text = run(probe, "attribute", LD_LIBRARY_PATH=str(tmp_path))
    assert text == (
        f"the HIP runtime ({tmp_path / 'libamdhip64.so'}) lacks hipFuncGetAttribute: a newer ROCm "
        "is needed\n"
    )


# What is called.


def test_memory_of_a_pool_is_freed_once_and_nothing_is_no_call(call: Call) -> None:
    log = call("memory", HIPRC_ALLOCATOR="pool")
    allocated = [line for line in log if line.startswith("malloc")]
    freed = [line for line in log if line.startswith("free")]
    # The values, their copy, the zeros and the longer slice.
    assert len(allocated) == len(freed) == 4
    assert all(" on 1" in line for line in allocated + freed)
    assert not [line for line in log if " 0 on " in line or "null" in line]


@pytest.mark.parametrize("pools", ["0", "1"])
def test_memory_is_taken_once_and_given_back_in_the_end(call: Call, pools: str) -> None:
    log = call("memory", STAND_IN_POOLS=pools)
    assert [line for line in log if line.startswith(("malloc", "free"))] == [
        f"malloc {2 << 20}",
        "free",
    ]
    # One stream has nothing to wait for.
    assert not [line for line in log if "event" in line]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"HIPRC_ALLOCATOR": "arena"}, "HIPRC_ALLOCATOR is arena: it can be caching or pool"),
        (
            {"HIPRC_ALLOCATOR": "pool", "STAND_IN_POOLS": "0"},
            "HIPRC_ALLOCATOR is pool, and HIP has no memory pools for GPU 0: unset it",
        ),
        ({"HIPRC_MEMORY_LIMIT": "2G"}, "HIPRC_MEMORY_LIMIT is 2G: it is a number of MiB"),
    ],
    ids=["another", "no pools", "limit"],
)
def test_an_allocator_that_there_is_not_is_a_sentence(
    probe: Path, libraries: Path, variables: dict[str, str], said: str
) -> None:
    printed = run(probe, "context", LD_LIBRARY_PATH=str(libraries), **variables)
    assert printed == f"{said}\n"


def test_views(call: Call) -> None:
    call("views")


def test_streams_wait_for_each_other(call: Call) -> None:
    log = call("order")
    written = log.index("htod 1 on 1")
    read = log.index("dtoh 1 on 2")
    again = log.index("htod 1 on 1", read)
    write = recorded(log[written:read], on=1)
    assert f"wait 2 for event {write}" in log[written:read]
    seen = recorded(log[read:again], on=2)
    assert f"wait 1 for event {seen}" in log[read:again]


def test_a_stream_waits_for_a_kernel_that_may_write(call: Call) -> None:
    log = call("order")
    launched = next(number for number, line in enumerate(log) if line.startswith("launch "))
    read = log.index("dtoh 4 on 2")
    written = recorded(log[launched:read], on=1)
    assert f"wait 2 for event {written}" in log[launched:read]


def recorded(log: list[str], *, on: int) -> str:
    """The event that was recorded on a stream."""
    (event,) = [
        line.split()[2]
        for line in log
        if line.startswith("record event") and line.endswith(f" on {on}")
    ]
    return event


def test_without_tracking_there_are_no_events(call: Call) -> None:
    log = call("untracked")
    assert not [line for line in log if "event" in line]
    assert [line for line in log if "htod" in line or "dtoh" in line] == [
        "htod 1 on 1",
        "dtoh 1 on 2",
        "htod 1 on 1",
        "htod 4 on 1",
        "dtoh 4 on 2",
    ]


def test_a_copy_between_devices_waits_and_is_waited_for(call: Call) -> None:
    log = call("peer")
    copy = log.index("peer 2 from 0 to 1 on 2")
    assert [line for line in log[:copy] if line.startswith("wait 2 for")]
    assert [line for line in log[copy:] if line.startswith("wait 1 for")]


def test_launches(call: Call) -> None:
    log = call("launch")
    assert "launch 1x1x1 of 1024x1x1 with 0 on 1" in log
    # The image was alive until its module was unloaded.
    assert [line for line in log if line.startswith("unload")] == [
        "unload module 2 of 7f 45",
        "unload module 1 of 7f 45",
    ]


def test_devices(call: Call) -> None:
    assert call("device").count("device 1") == 2  # once for each thread


def test_graphs(call: Call) -> None:
    log = call("graph")
    kept = [line for line in log if "capture" in line or "graph" in line or "exec" in line]
    assert kept == [
        "begin capture 2",
        "end capture",
        "launch graph on 1",
        "destroy exec",
        "destroy graph",
    ]
    assert "instantiate 9" in log


def test_page_locked_memory(call: Call) -> None:
    log = call("pinned")
    assert log.count("free host") == 2
    assert "malloc host 4 4" in log  # hipHostMallocWriteCombined


def test_products(call: Call) -> None:
    log = call("gemm")
    # A new handle is told of both before it has a product.
    at = log.index("set stream")
    assert log[at : at + 2] == ["set stream", "no atomics"]
    products = [line for line in log if line.startswith("gemm")]
    rest = "in place 1 ld 2 2 stride 2 2 count 2 algo 0 solution 0 flags 0"
    # 150 and 168 are rocBLAS' f16 and bf16, 151 its f32.
    assert products == [
        f"gemm 2 1 3 types 150 150 150 150 compute 151 alpha 2 {rest}",
        f"gemm 2 1 3 types 168 168 168 168 compute 151 alpha 1 {rest}",
    ]


def test_random_numbers(call: Call) -> None:
    log = call("random")
    kept = [line for line in log if "generator" in line or "seed" in line or "offset" in line]
    assert kept == ["generator 400", "seed 7", "offset 8", "destroy generator"]


def test_compilation(call: Call) -> None:
    log = call("compile")
    assert [line for line in log if "option" in line] == ["option --offload-arch=gfx90a"]
    assert log.count("destroy program") == 2


# Kernels that a program carries.


@pytest.fixture
def with_kernels(probe: Path, libraries: Path, tmp_path: Path) -> Call:
    """Load kernels with the stand-ins and a cache, and return what they logged."""

    def loading(action: str, **variables: str) -> list[str]:
        log = tmp_path / "log"
        log.write_text("")
        printed = run(
            probe,
            action,
            LD_LIBRARY_PATH=str(libraries),
            STAND_IN_LOG=str(log),
            XDG_CACHE_HOME=str(tmp_path / "caches"),
            **variables,
        )
        assert printed == "loaded\n"
        return log.read_text().splitlines()

    return loading


def cached(folder: Path) -> list[str]:
    """The names of the files among the user's caches."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_kernels_of_the_build_are_loaded_as_they_are(with_kernels: Call, tmp_path: Path) -> None:
    log = with_kernels("kernels", STAND_IN_COVERED="1")
    assert not [line for line in log if "option" in line]
    assert cached(tmp_path / "caches") == []


def test_kernels_for_other_devices_are_compiled_once(with_kernels: Call, tmp_path: Path) -> None:
    log = with_kernels("kernels")
    assert [line for line in log if line.startswith(("option", "header"))] == [
        "header a.h: // a",
        "option --offload-arch=gfx90a",
        "option -O3",
    ]
    (name,) = cached(tmp_path / "caches" / "candle-hip")
    assert name.startswith("twice.hip-gfx90a-") and name.endswith(".hsaco")
    again = with_kernels("kernels")
    assert not [line for line in again if "option" in line]
    # Another release of ROCm compiles for itself.
    assert "option -O3" in with_kernels("kernels", STAND_IN_VERSION="70000000")
    assert len(cached(tmp_path / "caches")) == 2


# Answers of HIP's releases to a bundle without code for the GPU (clr, hip_fatbin.cpp and
# hip_code_object.cpp): invalid value or image, no binary, kernel file, file, symbols and so on.
@pytest.mark.parametrize("status", [1, 200, 209, 218, 301, 302, 303, 801])
def test_each_answer_to_a_bundle_that_does_not_fit_leads_to_the_compiler(
    with_kernels: Call, status: int
) -> None:
    assert "option -O3" in with_kernels("kernels", STAND_IN_REFUSES=str(status))


def test_a_module_without_its_kernels_leads_to_the_compiler_or_to_a_sentence(
    probe: Path, libraries: Path, with_kernels: Call, tmp_path: Path
) -> None:
    empty = {"STAND_IN_COVERED": "1", "STAND_IN_EMPTY": "bundles"}
    assert "option -O3" in with_kernels("kernels", **empty)
    everything = {"STAND_IN_COVERED": "1", "STAND_IN_EMPTY": "all"}
    place = {"LD_LIBRARY_PATH": str(libraries), "XDG_CACHE_HOME": str(tmp_path / "others")}
    assert run(probe, "kernels", **place, **everything) == (
        "twice.hip: HIP loads what hipRTC made of this source for gfx90a and finds no kernel twice "
        "in it: reinstall ROCm, of one release, or build it with CANDLE_ROCM_ARCHS naming the "
        "device's\n"
    )


def test_rocms_headers_are_found(with_kernels: Call, tmp_path: Path) -> None:
    headers = tmp_path / "rocm" / "include"
    headers.mkdir(parents=True)
    assert f"option -I{headers}" in with_kernels("kernels", ROCM_PATH=str(tmp_path / "rocm"))


def test_a_cached_file_that_is_no_code_object_is_replaced(
    with_kernels: Call, tmp_path: Path
) -> None:
    with_kernels("kernels")
    (file,) = (tmp_path / "caches" / "candle-hip").iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:20])
    assert "option -O3" in with_kernels("kernels")
    assert file.read_bytes() == whole


def test_without_a_cache_kernels_are_compiled_all_the_same(
    with_kernels: Call, tmp_path: Path
) -> None:
    (tmp_path / "caches").write_text("a file where the folder should be")
    assert "option -O3" in with_kernels("kernels")


def test_programs_that_compile_at_once_do_not_disturb_each_other(
    probe: Path, libraries: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    environment = {
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": str(libraries),
        "ROCM_PATH": "/nowhere",
        "STAND_IN_LOG": str(log),
        "STAND_IN_PAUSE": "300",
        "XDG_CACHE_HOME": str(tmp_path / "caches"),
    }
    started = [
        subprocess.Popen([str(probe), "kernels"], env=environment, stdout=subprocess.PIPE)
        for _ in range(8)
    ]
    assert [each.communicate()[0] for each in started] == [b"loaded\n"] * 8
    # They were at it together, and one file is left, whole.
    assert log.read_text().count("option -O3") > 1
    (name,) = cached(tmp_path / "caches")
    assert name.endswith(".hsaco")
    assert (tmp_path / "caches" / "candle-hip" / name).stat().st_size == 64


def test_a_program_that_is_killed_leaves_nothing_that_is_taken_for_kernels(
    probe: Path, libraries: Path, with_kernels: Call, tmp_path: Path
) -> None:
    environment = {
        "LD_LIBRARY_PATH": str(libraries),
        "STAND_IN_PAUSE": "60000",
        "XDG_CACHE_HOME": str(tmp_path / "caches"),
    }
    with subprocess.Popen([str(probe), "kernels"], env=environment) as started:
        with pytest.raises(subprocess.TimeoutExpired):
            started.wait(0.5)
        started.kill()
    assert cached(tmp_path / "caches") == []
    assert "option -O3" in with_kernels("kernels")


def test_kernels_that_nothing_can_make_say_what_to_do(
    probe: Path, libraries: Path, tmp_path: Path
) -> None:
    if Path("/opt/rocm").exists():
        pytest.skip("ROCm is installed")
    build("amdhip64", tmp_path / "libamdhip64.so")
    begin = (
        "twice.hip: this program has kernels for gfx1030 and gfx1100, the device is gfx90a, and "
        "they could not be compiled for it: "
    )
    end = "; or build it with CANDLE_ROCM_ARCHS naming the device's\n"
    without = run(probe, "kernels", LD_LIBRARY_PATH=str(tmp_path), HOME="/nowhere")
    assert without.startswith(begin + "hipRTC could not be loaded: no libhiprtc.so, ")
    assert without.endswith(end)
    broken = run(probe, "broken kernels", LD_LIBRARY_PATH=str(libraries), HOME="/nowhere")
    reason = "hipRTC: HIPRTC_ERROR_COMPILATION, kernel.hip:1:1: error: so it says"
    assert broken == begin + reason + end
    assert run(probe, "no kernels", LD_LIBRARY_PATH=str(libraries)) == (
        "twice.hip: this program was built without kernels: "
        "build it with CANDLE_ROCM_ARCHS naming the device's\n"
    )
