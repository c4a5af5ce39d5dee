"""The emitted kernels crate built by cargo, from a CUDA kernels crate that we wrote."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from facade_support import write_workspace
from kernel_support import PREFIX, SOURCE, defined, exported

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.device.toolkit import build_toolkit
from portkit.hipify.crate_sources import assemble_sources
from portkit.hipify.cuda_patch import render_patch
from portkit.hipify.hipcc import find_hipcc
from portkit.hipify.kernels_crate import KernelsCrate
from portkit.hipify.prelude import load_device_files
from portkit.shipped import shipped

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo"),
]

STAND_INS = Path(__file__).parent.parent / "fixtures" / "facade" / "libraries"

USE = """use candle_hip::driver::{result, sys, HipContext};
use candle_rocm_kernels::{
    ffi, launchers_are_for_others, launchers_run_on, ALL_IDS, FILL, SORT_ALL,
};

fn main() {
    assert_eq!((FILL.index(), SORT_ALL.index()), (0, 1));
    assert_eq!(ALL_IDS.len(), 2);
    match std::env::args().nth(1).as_deref() {
        Some("sizes") => {
            let sizes = [FILL, SORT_ALL].map(|module| module.hsaco().compiled.len());
            println!("{} {}", sizes[0], sizes[1]);
        }
        Some("launch") => {
            let call: unsafe extern "C" fn(*const core::ffi::c_void, i32) -> i32 = ffi::launch_gemm;
            println!("{}", unsafe { call(std::ptr::null(), 1) });
        }
        Some("ask") => {
            let context = HipContext::new(0).unwrap();
            let twice = [(); 2].map(|()| launchers_run_on(&context));
            println!("{} {}", twice[0], twice[1]);
        }
        Some("met") => {
            let context = HipContext::new(0).unwrap();
            unsafe { ffi::launch_Norm(std::ptr::null_mut(), 0) };
            let told = [(); 2].map(|()| context.check_err().map_err(|error| error.0 .0));
            println!("{:?} {:?}", told[0], told[1]);
            // What a launcher says itself is what it met, not what another did before.
            let gemm = || unsafe { ffi::launch_gemm(std::ptr::null(), 1) };
            println!("{} {}", gemm(), gemm());
            let told = context.synchronize().map_err(|error| error.0 .0);
            println!("{told:?} {:?}", context.synchronize().is_ok());
        }
        Some("memory") => {
            let context = HipContext::new(0).unwrap();
            let stream = context.new_stream().unwrap();
            let launch = |stream: sys::hipStream_t| {
                unsafe { ffi::launch_Norm(std::ptr::null_mut(), stream as i64) };
                let met = context.check_err().map_err(|error| error.0 .0);
                let stats = context.memory_stats();
                println!("{met:?} {} {}", stats.allocations, stats.in_use);
            };
            launch(stream.hip_stream());
            launch(stream.hip_stream());
            let other = result::stream::create(result::stream::StreamKind::NonBlocking);
            launch(other.unwrap());
        }
        Some("others") => {
            let context = HipContext::new(0).unwrap();
            println!("{}", launchers_are_for_others(&context));
        }
        Some("load") => {
            let context = HipContext::new(0).unwrap();
            println!("{}", context.load_module(FILL.hsaco().into()).unwrap_err());
        }
        Some(arch) => {
            let image = SORT_ALL.hsaco().compile(arch).unwrap();
            println!("{:?}", &image.as_bytes().unwrap()[..4]);
        }
        None => {}
    }
}
"""


@dataclass(frozen=True)
class Crate:
    """The crate, with the bindings beside it and a program that uses it.

    Attributes:
        folder: the crate.
        target: where cargo builds; the tests share it, for what the crate depends on.
    """

    folder: Path
    target: Path

    def cargo(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run cargo."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("CANDLE_")}
        return subprocess.run(
            ["cargo", *arguments],
            cwd=self.folder,
            env={**kept, "CARGO_TARGET_DIR": str(self.target), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def build(self, **environment: str) -> None:
        """Build the program."""
        done = self.cargo("build", "--example", "use", **environment)
        assert done.returncode == 0, done.stderr

    @property
    def program(self) -> Path:
        """The program that was built."""
        return self.target / "debug" / "examples" / "use"

    def run(self, *arguments: str, program: str = "use", **environment: str) -> str:
        """Run a program that was built, and return what it prints."""
        ran = subprocess.run(
            [self.program.with_name(program), *arguments],
            env={"LD_LIBRARY_PATH": "/nowhere", "ROCM_PATH": "/nowhere", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def made(self, name: str) -> Path:
        """What the build script wrote last under a name."""
        return max(self.target.rglob(name), key=lambda path: path.stat().st_mtime_ns)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("target")


def make_crate(root: Path, target: Path, shared: str = "", support: str = "") -> Crate:
    """Make the crate, with the CUDA crate beside it where it compiles the sources of that."""
    write_workspace(root, frozenset())
    manifest = root / "Cargo.toml"
    apart = '[workspace]\nexclude = ["candle-rocm-kernels"]\n'
    manifest.write_text(manifest.read_text().replace("[workspace]\n", apart, 1))
    files = KernelsCrate(
        {path: text.encode() for path, text in SOURCE.items()},
        version="0.11.1",
        name="candle-rocm-kernels",
        facade="candle-hip",
        variables="CANDLE_ROCM",
        support=support,
        shared=shared,
    ).files
    folder = root / "candle-rocm-kernels"
    written = {folder / path: text for path, text in {**files, "examples/use.rs": USE}.items()}
    if shared:
        written |= {folder / shared / path: text for path, text in SOURCE.items()}
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Crate(folder, target)


@pytest.fixture
def crate(tmp_path: Path, target: Path) -> Crate:
    return make_crate(tmp_path, target)


@pytest.fixture
def shared(tmp_path: Path, target: Path) -> Crate:
    return make_crate(tmp_path, target, "../candle-kernels")


@pytest.fixture
def apart(tmp_path: Path, target: Path) -> Crate:
    """One whose build is made by a dependency."""
    support = f'path = "{shipped("crates/build")}"'
    return make_crate(tmp_path, target, "../candle-kernels", support)


@pytest.fixture(params=["crate", "shared", "apart"])
def either(request: pytest.FixtureRequest) -> Crate:
    """The crate with translations, and those with the CUDA sources as they stand."""
    made: Crate = request.getfixturevalue(request.param)
    return made


@pytest.fixture
def stand_ins(tmp_path: Path) -> str:
    """A folder with a HIP runtime and a hipRTC that do as they are told."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path / "libraries"
    folder.mkdir()
    for stem in ("amdhip64", "hiprtc"):
        library = folder / f"lib{stem}.so"
        source = STAND_INS / f"{stem}.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, source], check=True)
    return str(folder)


def cpu_device() -> dict[str, str]:
    """What the environment says where programs run on the CPU device."""
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    return build_toolkit().environment(arch="gfx1100", base={})


EMPTY = {"CANDLE_ROCM_KERNELS": "none"}


def test_the_empty_mode_builds_lints_links_and_says_what_is_missing(
    either: Crate, stand_ins: str
) -> None:
    crate = either
    formatted = crate.cargo("fmt", "--", "--check")
    assert formatted.returncode == 0, formatted.stdout
    lint = crate.cargo("clippy", "--all-targets", "--", "-D", "warnings", **EMPTY)
    assert lint.returncode == 0, lint.stderr
    crate.build(**EMPTY)
    assert crate.run("sizes") == "0 0\n"
    ran = crate.cargo("run", "--example", "use", "launch", **EMPTY)
    assert "launch_gemm: this build has no ROCm kernels" in ran.stderr
    environment = {"LD_LIBRARY_PATH": stand_ins, "STAND_IN_COVERED": "1"}
    assert crate.run("load", **environment) == (
        "fill.hip: this program was built without kernels: CANDLE_ROCM_KERNELS=none was set; "
        "build it again without that, with hipcc installed\n"
    )
    assert crate.run("ask", **environment) == "false false\n"
    assert crate.run("others", **environment) == (
        "this program has launchers for no architecture, the device is gfx90a: "
        "CANDLE_ROCM_KERNELS=none was set; build it again without that, with hipcc installed\n"
    )


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"HIPCC": "/nowhere/hipcc"}, "cannot run /nowhere/hipcc"),
        ({"CANDLE_ROCM_KERNELS": "nothing"}, 'set it to "all"'),
        pytest.param(
            {"CANDLE_ROCM_ARCHS": "sm_89"},
            "expected architectures such as gfx90a",
            marks=pytest.mark.hipcc,
        ),
        pytest.param(
            {"CANDLE_ROCM_ARCHS": "native,gfx90a"},
            "Linux knows no AMD GPU in this machine: name architectures",
            marks=[
                pytest.mark.hipcc,
                pytest.mark.skipif(Path("/dev/kfd").exists(), reason="there may be one"),
            ],
        ),
        pytest.param(
            {"CANDLE_ROCM_ARCHS": "gfx90a", "CANDLE_ROCM_COMPRESS": "yes"},
            'set it to "1" for compressed bundles',
            marks=pytest.mark.hipcc,
        ),
    ],
)
def test_what_cannot_be_built_says_why(
    crate: Crate, environment: dict[str, str], message: str
) -> None:
    done = crate.cargo("build", **environment)
    assert done.returncode != 0
    assert message in done.stderr


NOTING_HIPCC = """#!/bin/sh
case "$1" in --version) echo stand-in; exit;; esac
echo "$@" >> {log}
case "$*" in *hip_runtime.cpp*) echo "no such header" >&2; exit 1;; esac
"""


def test_the_host_part_is_compiled_before_all_kernels(crate: Crate, tmp_path: Path) -> None:
    hipcc, log = tmp_path / "hipcc", tmp_path / "log"
    hipcc.write_text(NOTING_HIPCC.format(log=log))
    hipcc.chmod(0o755)
    asked = {"HIPCC": str(hipcc), "CANDLE_ROCM_ARCHS": "gfx90a"}
    done = crate.cargo("build", **asked)
    assert done.returncode != 0
    assert "no such header" in done.stderr
    (call,) = log.read_text().splitlines()
    # clang knows where HIP's headers are if the language is HIP, wherever ROCm is installed.
    assert "-x hip --offload-host-only" in call
    log.unlink()
    done = crate.cargo("build", **asked, OBJCOPY="/nowhere/objcopy")
    assert "/nowhere/objcopy" in done.stderr
    assert not log.exists()


@pytest.mark.parametrize("place", ["ROCM_PATH", "HIP_PATH", "PATH"])
def test_hipcc_is_found_where_programs_find_rocm(
    crate: Crate, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HIPCC", raising=False)
    places = {name: tmp_path / name for name in ("ROCM_PATH", "HIP_PATH", "PATH")}
    for name in list(places)[list(places).index(place) :]:
        hipcc = places[name] / "bin" / "hipcc"
        hipcc.parent.mkdir(parents=True)
        hipcc.write_text(f"#!/bin/sh\necho '{name} was asked' >&2; exit 1\n")
        hipcc.chmod(0o755)
    path = f"{places['PATH'] / 'bin'}:{os.environ['PATH']}"
    environment = {name: str(root) for name, root in places.items()} | {"PATH": path}
    done = crate.cargo("build", CANDLE_ROCM_ARCHS="gfx90a", **environment)
    assert done.returncode != 0
    assert f"{place} was asked" in done.stderr


SLOW_HIPCC = """#!/bin/sh
case "$1" in --version) echo stand-in; exit;; --print-prog-name*) exit 1;; esac
echo start >> {log}
sleep 0.3
echo end >> {log}
while [ "$1" != -o ]; do shift; done
cc -c -x c /dev/null -o "$2"
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_as_many_compilers_run_as_the_job_server_allows(
    crate: Crate, tmp_path: Path, jobs: int
) -> None:
    hipcc, log = tmp_path / "hipcc", tmp_path / "log"
    # What the other case has compiled is not compiled again.
    archs = ("gfx90a,gfx1100", "gfx942,gfx1030")[jobs - 1]
    hipcc.write_text(SLOW_HIPCC.format(log=log))
    hipcc.chmod(0o755)
    arguments = ["build", f"--jobs={jobs}"]
    # What the crate depends on is built first, so that nothing else asks for tokens.
    assert crate.cargo(*arguments, **EMPTY).returncode == 0
    done = crate.cargo(*arguments, HIPCC=str(hipcc), CANDLE_ROCM_ARCHS=archs)
    assert done.returncode == 0, done.stderr
    running = [0]
    for line in log.read_text().split():
        running.append(running[-1] + (1 if line == "start" else -1))
    assert max(running) == jobs


def objects(cache: Path) -> dict[str, int]:
    """The objects of a cache and when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in cache.glob("*.o")}


ASK_FOR_ARCHS = """
#[test]
fn asked() {
    let compiler = Compiler {
        program: env::var("HIPCC").unwrap().into(),
        version: std::env::var("VERSION").unwrap(),
        variables: "CANDLE_ROCM",
    };
    match compiler.archs() {
        Ok(archs) => println!("{}", archs.join(" ")),
        Err(said) => println!("{said}"),
    }
    let none = |_: &str| None;
    println!("{}", hipcc(none, Path::new("/default")).display());
    let rocm = PathBuf::from(env::var("ROCM").unwrap());
    println!("{}", hipcc(none, &rocm).display());
}
"""
HIPCC_OF_RELEASE = """#!/bin/sh
case "$*" in {unknown}) exit 1;; esac
"""
GENERIC = {"gfx90a", "gfx9-4-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic"}
EXACT = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201"}


def test_a_build_is_for_every_machine_and_for_this_one(crate: Crate, tmp_path: Path) -> None:
    # What Linux's amdkfd says of a processor and of some GPUs (LLVM, "User Guide for AMDGPU
    # Backend", "Processors", has the names).
    versions = (0, 90010, 90402, 100300, 110000, 110501, 120001, 90006)
    for node, version in enumerate(versions):
        folder = tmp_path / "nodes" / str(node)
        folder.mkdir(parents=True)
        (folder / "properties").write_text(f"simd_count 4\ngfx_target_version {version}\nfw 1\n")
    here = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx906"}
    (tmp_path / "none").mkdir()
    folder = tmp_path / "build"
    shutil.copytree(crate.folder / "kernels", folder / "kernels")
    shutil.copy(crate.folder / "build.rs", folder)
    compiler = folder / "kernels/compiler.rs"
    text = compiler.read_text()
    place = 'Path::new("/sys/class/kfd/kfd/topology/nodes")'
    assert place in text
    nodes_here = text.replace(place, 'Path::new(&env::var("NODES").unwrap())')
    compiler.write_text(nodes_here + ASK_FOR_ARCHS)
    program = tmp_path / "asked"
    rustc = ["rustc", "--test", "--edition=2021", "-Awarnings"]
    subprocess.run([*rustc, "-o", program, folder / "build.rs"], check=True)

    (tmp_path / "rocm/bin").mkdir(parents=True)
    (tmp_path / "rocm/bin/hipcc").touch()

    def lines(
        nodes: str,
        archs: str = "",
        unknown: str = "nothing",
        hip: str = "6.4.43484-0",
        **more: str,
    ) -> list[str]:
        hipcc = tmp_path / "hipcc"
        hipcc.write_text(HIPCC_OF_RELEASE.format(unknown=unknown))
        hipcc.chmod(0o755)
        ran = subprocess.run(
            [program, "--nocapture", "--quiet"],
            env={
                "NODES": str(tmp_path / nodes),
                "VERSION": f"HIP version: {hip}",
                "HIPCC": str(hipcc),
                "CANDLE_ROCM_ARCHS": archs,
                "ROCM": str(tmp_path / "rocm"),
                **more,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout.splitlines()

    def asked(*arguments: str, **more: str) -> set[str]:
        words = " ".join(lines(*arguments, **more)).split()
        return {word for word in words if word.startswith("gfx")}

    assert asked("none") == GENERIC
    assert asked("none", unknown="*generic*") == EXACT
    assert asked("none", hip="7.0.51831-7c9236b16") == GENERIC | {"gfx950"}
    assert asked("nodes") == GENERIC | here
    # What this release's hipcc cannot compile for is no reason to build nothing.
    assert asked("nodes", unknown="*gfx906*") == GENERIC | here - {"gfx906"}
    assert asked("nodes", "native") == here
    assert asked("nodes", "native, gfx908") == here | {"gfx908"}
    assert asked("nodes", "gfx908") == {"gfx908"}
    # As ROCr takes the GPUs for others (libhsakmt, topology.c), programs load code for others.
    said = {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}
    assert asked("nodes", "native", **said) == {"gfx1030"}
    one = {"HSA_OVERRIDE_GFX_VERSION_1": "9.0.10", **said}
    assert asked("nodes", "native", **one) == {"gfx90a", "gfx1030"}
    assert asked("nodes", "native", HSA_OVERRIDE_GFX_VERSION="") == here
    for wrong in ("gfx1030", "10.3", "10.3.0.0", "10.30.0"):
        said = {"HSA_OVERRIDE_GFX_VERSION": wrong}
        assert f'HSA_OVERRIDE_GFX_VERSION is "{wrong}": expected' in "".join(
            lines("nodes", "native", **said)
        )
        assert asked("none", "gfx908", **said) == {"gfx908"}
    assert {"hipcc", str(tmp_path / "rocm/bin/hipcc")} <= set(lines("none"))


def test_another_system_than_linux_is_refused_in_a_sentence(crate: Crate, tmp_path: Path) -> None:
    program = tmp_path / "build"
    rustc = ["rustc", "--edition=2021", "-o", str(program), str(crate.folder / "build.rs")]
    subprocess.run(rustc, check=True)

    def built(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program],
            cwd=crate.folder,
            env={
                **os.environ,
                "OUT_DIR": str(tmp_path),
                "CARGO_CFG_TARGET_OS": "windows",
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    done = built()
    assert (done.returncode, done.stderr) == (
        1,
        "the ROCm kernels are built for Linux only, not for windows: build in WSL 2 on Windows, or "
        "set CANDLE_ROCM_KERNELS=none to build without kernels\n",
    )
    assert built(**EMPTY).returncode == 0


@pytest.mark.hipcc
def test_kernels_are_compiled_once_and_again_where_they_see_a_change(
    crate: Crate, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    environment = {"CANDLE_ROCM_ARCHS": "gfx90a,gfx1100", "CANDLE_ROCM_CACHE": str(cache)}
    source = crate.folder / "src" / "sort_all.hip"
    source.write_text('#include "extra.h"\n' + source.read_text())
    (crate.folder / "src" / "extra.h").write_text("// a header that one source sees\n")
    crate.build(**environment)
    before = objects(cache)
    with (crate.folder / "src" / "extra.h").open("a") as header:
        header.write("// more\n")
    crate.build(**environment)
    after = objects(cache)
    assert {name: after[name] for name in before} == before
    fresh = sorted(after.keys() - before.keys())
    assert [name.rpartition("-")[0] for name in fresh] == ["sort_all_hip"] * 2
    assert not list(cache.glob("*.part"))
    # Another build that shares the cache compiles nothing.
    assert crate.cargo("clean", "--package", "candle-rocm-kernels").returncode == 0
    crate.build(**environment)
    assert objects(cache) == after


@pytest.mark.hipcc
def test_code_objects_are_bundled_compressed_where_somebody_asks_for_it(
    crate: Crate, tmp_path: Path
) -> None:
    environment = {
        "CANDLE_ROCM_ARCHS": "gfx90a,gfx1100",
        "CANDLE_ROCM_CACHE": str(tmp_path / "cache"),
    }
    bundles = {}
    plain = b"__CLANG_OFFLOAD_BUNDLE__"
    for compress, magic in (("", plain), ("0", plain), ("1", b"CCOB")):
        crate.build(**environment, CANDLE_ROCM_COMPRESS=compress)
        place = crate.made("fill.hsaco")
        bundles[compress] = place.read_bytes()
        assert bundles[compress].startswith(magic)
        bundler = find_hipcc().with_name("clang-offload-bundler")
        listed = subprocess.run(
            [bundler, "-type=o", "-list", f"-input={place}"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert {line.rpartition("--")[2] for line in listed.stdout.split() if "hipv4" in line} == {
            "gfx90a",
            "gfx1100",
        }
    assert len(bundles["1"]) < len(bundles["0"]) / 2
    assert crate.run("sizes").split()[0] == str(len(bundles["1"]))


@pytest.mark.parametrize(
    ("failing", "lines"),
    [
        (0, ["Ok(()) Ok(())", "0 0", "Ok(()) true"]),
        (1, ["Err(719) Ok(())", "0 0", "Ok(()) true"]),
        (2, ["Ok(()) Ok(())", "719 0", "Err(719) true"]),
        (3, ["Ok(()) Ok(())", "0 719", "Err(719) true"]),
    ],
)
def test_what_a_launch_meets_is_told_whatever_its_launcher_gives_back(
    crate: Crate, failing: int, lines: list[str]
) -> None:
    device = cpu_device()
    crate.build(HIPCC=device["HIPCC"], CANDLE_ROCM_ARCHS="gfx1100")
    # 719 is hipErrorLaunchFailure.
    asked = {"PORTKIT_DEVICE_FAIL": f"hipLaunchKernel:{failing}:719"}
    assert crate.run("met", **device, **asked).splitlines() == lines


@pytest.mark.hipcc
def test_launchers_run_where_the_build_and_the_runtime_have_code(
    crate: Crate, stand_ins: str
) -> None:
    # The device of the stand-in is a gfx90a.
    crate.build(CANDLE_ROCM_ARCHS="gfx90a")
    # hipErrorSharedObjectInitFailed: there is no HIP runtime.
    assert crate.run("launch") == "303\n"
    assert crate.run("ask", LD_LIBRARY_PATH=stand_ins, STAND_IN_COVERED="1") == "true true\n"
    assert crate.run("ask", LD_LIBRARY_PATH=stand_ins) == "false false\n"
    assert crate.run("others", LD_LIBRARY_PATH=stand_ins) == (
        "HIP does not load the launchers that this program has for gfx90a: build it again with the "
        "device's architecture in CANDLE_ROCM_ARCHS, or install another release of ROCm\n"
    )
    crate.build(CANDLE_ROCM_ARCHS="gfx1100,gfx1030")
    assert crate.run("ask", LD_LIBRARY_PATH=stand_ins, STAND_IN_COVERED="1") == "false false\n"
    assert crate.run("others", LD_LIBRARY_PATH=stand_ins) == (
        "this program has launchers for gfx1030, gfx1100, the device is gfx90a: build it again "
        "with the device's architecture in CANDLE_ROCM_ARCHS\n"
    )


def test_launchers_of_the_cuda_sources_run_and_an_edit_of_those_is_compiled(
    shared: Crate, tmp_path: Path
) -> None:
    device = cpu_device()
    asked = {"HIPCC": device["HIPCC"], "CANDLE_ROCM_ARCHS": "gfx1100"}
    shared.build(**asked)
    assert shared.run("met", **device).splitlines() == ["Ok(()) Ok(())", "0 0", "Ok(()) true"]
    source = tmp_path / "candle-kernels/src/moe/moe_gemm.cu"
    source.write_text(source.read_text().replace("gemm<<<1, 32>>>(n);", "gemm<<<1, 4096>>>(n);"))
    shared.build(**asked)
    # 1 is hipErrorInvalidValue, 9 hipErrorInvalidConfiguration: a block has 1,024 threads at most.
    assert shared.run("met", **device).splitlines()[1] in ("1 1", "9 9")


def test_what_launchers_allocate_is_the_bindings_memory(shared: Crate, tmp_path: Path) -> None:
    """On a stream that the bindings know; HIP's pool has the others."""
    device = cpu_device()
    source = tmp_path / "candle-kernels/src/moe/moe_gemm.cu"
    launch = "gemm<<<1, 32, 0, (cudaStream_t)stream>>>(1);"
    assert launch in source.read_text()
    # In HIP's names: those of CUDA's that the sources had when they were ported are known alone.
    scratch = f"""void *scratch = nullptr;
  hipMallocAsync(&scratch, 1000, (cudaStream_t)stream);
  {launch}
  hipFreeAsync(scratch, (cudaStream_t)stream);"""
    source.write_text(source.read_text().replace(launch, scratch))
    shared.build(HIPCC=device["HIPCC"], CANDLE_ROCM_ARCHS="gfx1100")
    kept = ["Ok(()) 1 0", "Ok(()) 2 0"]
    assert shared.run("memory", **device).splitlines() == [*kept, "Ok(()) 2 0"]
    # 2 is hipErrorOutOfMemory.
    asked = {"PORTKIT_DEVICE_FAIL": "hipMallocAsync:1:2"}
    assert shared.run("memory", **device, **asked).splitlines() == [*kept, "Err(2) 2 0"]
    pool = {"HIPRC_ALLOCATOR": "pool"}
    assert shared.run("memory", **device, **asked, **pool).splitlines()[0] == "Err(2) 0 0"


def texts(folder: Path) -> dict[str, str]:
    """The files below a folder, by their path there."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


@pytest.mark.parametrize("form", ["shared", "apart"])
def test_the_build_makes_what_portkit_looks_at(
    form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    crate: Crate = request.getfixturevalue(form)
    crate.build(**EMPTY)
    cuda = texts(tmp_path / "candle-kernels/src")
    made = assemble_sources(texts(crate.folder / "src"), cuda, "../candle-kernels/src")
    assert texts(crate.made("sources")) == made


def test_the_crate_that_compiles_kernels_is_built_from_its_package(tmp_path: Path) -> None:
    home = tmp_path / "build"
    shutil.copytree(shipped("crates/build"), home, ignore=shutil.ignore_patterns("target"))
    target = {"CARGO_TARGET_DIR": str(tmp_path / "target")}
    # Cargo unpacks what it has packed, and builds that.
    packed = subprocess.run(
        ["cargo", "package", "--allow-dirty", "--offline"],
        cwd=home,
        env={**os.environ, **target},
        capture_output=True,
        text=True,
        check=False,
    )
    assert packed.returncode == 0, packed.stderr
    assert "Verifying hiprc-build" in packed.stderr
    unpacked = next((tmp_path / "target/package").glob("hiprc-build-*/"))
    device = {path.name for path in (unpacked / "src/device").iterdir()}
    assert device == set(load_device_files())
    assert f'include_str!("device/{min(device)}")' in (unpacked / "src/device.rs").read_text()


MODULE = """\
[package]
name = "toy"
version = "0.1.0"
edition = "2021"
[build-dependencies]
hiprc-build = {{ path = {crate} }}
[workspace]
"""
MODULE_BUILD = """\
fn main() {
    let module = hiprc_build::module("TOY", "kernels/fill.hip".as_ref());
    let module = module.unwrap_or_else(|e| panic!("{e}"));
    println!("cargo::warning=made {}", module.display());
}
"""


def test_a_source_of_an_example_is_compiled_with_the_headers(tmp_path: Path) -> None:
    device = cpu_device()
    crate = tmp_path / "toy"
    for path, text in {
        "Cargo.toml": MODULE.format(crate=json.dumps(str(shipped("crates/build")))),
        "build.rs": MODULE_BUILD,
        "src/lib.rs": "",
        "kernels/fill.hip": '#include "hipx.h"\n#include "more.h"\n'
        'extern "C" __global__ void fill(float *y) { y[threadIdx.x] = MORE; }\n',
        "kernels/more.h": "#define MORE 1.0f\n",
    }.items():
        (crate / path).parent.mkdir(parents=True, exist_ok=True)
        (crate / path).write_text(text)

    def built(**more: str) -> tuple[str, list[Path]]:
        done = subprocess.run(
            ["cargo", "build", "--offline"],
            cwd=crate,
            env={**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target"), **more},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr, sorted((tmp_path / "target").rglob("fill.hsaco"))

    hipcc = {"HIPCC": device["HIPCC"], "TOY_ARCHS": "gfx1100,gfx90a"}
    said, (module,) = built(**hipcc)
    assert f"made {module}" in said
    first = module.read_bytes()
    assert first.count(b"amdhsa--gfx1100") == first.count(b"amdhsa--gfx90a") == 1
    (crate / "kernels/more.h").write_text("#define MORE 2.0f\n")
    built(**hipcc)
    assert module.read_bytes() != first
    built(TOY_KERNELS="none")
    assert module.read_bytes() == b""
    said, _ = built(HIPCC="/nowhere/hipcc")
    assert "cannot run /nowhere/hipcc" in said
    assert "TOY_KERNELS=none" in said


def test_launchers_run_that_a_dependency_compiles(apart: Crate) -> None:
    device = cpu_device()
    apart.build(HIPCC=device["HIPCC"], CANDLE_ROCM_ARCHS="gfx1100")
    assert apart.run("met", **device).splitlines() == ["Ok(()) Ok(())", "0 0", "Ok(()) true"]


def test_a_part_of_the_patch_that_meets_an_edit_ends_the_build_with_a_sentence(
    shared: Crate, tmp_path: Path
) -> None:
    old, new = SOURCE["src/fill.cu"], SOURCE["src/fill.cu"].replace("threadIdx.x", "0")
    (shared.folder / "src/cuda.patch").write_text(render_patch({"fill.cu": (old, new)}))
    shared.build(**EMPTY)
    assert "x[0] = twice(v)" in (shared.made("sources") / "fill.hip").read_text()
    (tmp_path / "candle-kernels/src/fill.cu").write_text(f"// first\n{old}")
    shared.build(**EMPTY)
    assert "x[0] = twice(v)" in (shared.made("sources") / "fill.hip").read_text()
    (tmp_path / "candle-kernels/src/fill.cu").write_text(old.replace("twice(v)", "v"))
    done = shared.cargo("build", **EMPTY)
    assert done.returncode != 0
    said = "src/cuda.patch, line 3: fill.cu has 0 places like this instead of one"
    assert said in done.stderr


def test_a_package_of_the_crate_builds_from_the_sources_it_brings(
    shared: Crate, tmp_path: Path
) -> None:
    (shared.folder / "cuda").mkdir()
    (tmp_path / "candle-kernels/src").rename(shared.folder / "cuda/src")
    listed = shared.cargo("package", "--list", "--allow-dirty", "--offline")
    brought = {"cuda/src/fill.cu", "src/cuda.patch", "sources.rs", "kernels/mod.rs"}
    assert brought <= set(listed.stdout.split())
    shared.build(**EMPTY)


def test_without_the_sources_the_build_says_where_they_are_looked_for(
    shared: Crate, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "candle-kernels")
    done = shared.cargo("build", **EMPTY)
    assert "the CUDA sources are neither in cuda nor in ../candle-kernels" in done.stderr


def toolchain() -> list[str | Path]:
    """What runs a program where hipRTC is installed: ci/toolchain's, or nothing."""
    enter = find_hipcc().parent.parent / "enter"
    return [enter] if enter.exists() else []


@pytest.mark.hipcc
def test_hiprtc_compiles_the_embedded_sources(crate: Crate) -> None:
    crate.build(CANDLE_ROCM_ARCHS="gfx90a")
    for arch in ("gfx1030", "gfx942"):
        ran = subprocess.run(
            [*toolchain(), crate.program, arch], capture_output=True, text=True, check=False
        )
        if "hipRTC could not be loaded" in ran.stderr:
            pytest.skip("hipRTC is not installed")
        assert (ran.returncode, ran.stdout) == (0, "[127, 69, 76, 70]\n"), ran.stderr


@pytest.mark.hipcc
def test_the_library_has_the_functions_that_are_declared(crate: Crate) -> None:
    crate.build(CANDLE_ROCM_ARCHS="gfx90a")
    library = crate.made("libcandle_rocm_launchers.a")
    assert exported(library) == {
        "launch_gemm",
        "launch_Norm",
        "launchers_failure",
        "launchers_memory",
        "launchers_present",
    }


BOTH = """use candle_rocm_kernels::ffi;
use core::ffi::c_void;

extern "C" {
    fn launch_gemm(x: *const c_void, n: i32) -> i32;
    fn launch_Norm(x: *mut f32, stream: i64);
}

fn main() {
    let mut x = 0f32;
    unsafe {
        println!("{} {}", launch_gemm(std::ptr::null(), 1), ffi::launch_gemm(std::ptr::null(), 1));
        ffi::launch_Norm(&mut x, 0);
        print!("{x} ");
        launch_Norm(&mut x, 0);
    }
    println!("{x}");
}
"""
# What the linker sees of nvcc's objects: there a kernel is a function of the host, which is weak
# where the kernel is a template (CUDA's `nvcc --keep` shows it in the .cudafe1.cpp).
CUDA_SIDE = """void gemm(int) {}
template <typename T> __attribute__((noinline)) void each(T *x) { *x = 7; }
extern "C" int launch_gemm(const void *, int n) { gemm(n); return 4000 + n; }
extern "C" void launch_Norm(float *x, long long) { each(x); }
"""


@pytest.mark.parametrize(
    ("compiler", "launched"),
    # 719 is what the device is told to answer; hipErrorSharedObjectInitFailed: there is no runtime.
    [("device", 719), pytest.param("hipcc", 303, marks=pytest.mark.hipcc)],
)
def test_in_a_program_for_both_vendors_each_side_has_its_own(
    crate: Crate, tmp_path: Path, compiler: str, launched: int
) -> None:
    launchers = crate.folder / "src" / "moe" / "moe_gemm.hip"
    kernel = "template <typename T> __global__ void each(T *x) {}\n"
    text = launchers.read_text().replace("__global__", f"{kernel}__global__", 1)
    launch = "gemm<<<1, 32, 0, (hipStream_t)stream>>>(1)"
    assert text.count(launch) == 1
    launchers.write_text(text.replace(launch, "each<<<1, 1>>>(x)"))
    source, cuda = tmp_path / "cuda_side.cpp", tmp_path / "cuda_side.o"
    source.write_text(CUDA_SIDE)
    subprocess.run(["c++", "-c", "-fPIC", "-o", cuda, source], check=True)
    (crate.folder / "examples" / "both.rs").write_text(BOTH)
    environment = cpu_device() if compiler == "device" else {}
    build = ["rustc", "--example", "both", "--", f"-Clink-arg={cuda}"]
    hipcc = {name: path for name, path in environment.items() if name == "HIPCC"}
    done = crate.cargo(*build, CANDLE_ROCM_ARCHS="gfx1100", **hipcc)
    assert done.returncode == 0, done.stderr
    names = defined(crate.made("libcandle_rocm_launchers.a"))
    assert {name for name in names if not name.startswith(PREFIX)} == set()
    # Both kernels are among them, so that the linker had what to confuse.
    assert {f"{PREFIX}_Z4gemmi", f"{PREFIX}_Z4eachIfEvPT_"} <= names
    asked = {"PORTKIT_DEVICE_FAIL": "hipLaunchKernel:1:719"}
    ran = crate.run(program="both", **environment, **asked)
    assert ran == f"4001 {launched}\n0 7\n"
