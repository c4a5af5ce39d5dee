"""A second codebase, ported from a profile outside the package, from scan to a run on the device.

tarn (``fixtures/codebases/tarn``) has nothing of candle's: crates without a common layout, an enum
of engines, cudarc 0.19 with ``launch_builder`` and 0.11 with ``LaunchAsync``, kernels as embedded
PTX, through NVRTC and in a static library of launchers, a product by cuBLAS.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import commit, environment, invoke

from portkit.cache import cache_folder
from portkit.codebases.directory import Directory
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.hipify.hipcc import find_hipcc
from portkit.profiles.profile import load_codebase

pytestmark = pytest.mark.real

TARN = Path(__file__).parents[1] / "fixtures" / "codebases" / "tarn"
PROFILE = TARN / "profile"
ON_THE_DEVICE = {
    "every_engine_steps_as_the_host_does",
    "every_level_is_counted_in_its_bin",
    "a_wave_is_found_at_its_frequency",
    "projection_is_a_product",
}
"""Tests that run on each engine there is, and fail where it does not open: one of each crate, and
the one of cuBLAS."""
KERNELS = {"count", "drain", "even_out", "power", "volume"}


@pytest.fixture(scope="module")
def tarn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a tarn of its own, committed to a git repository."""
    root = tmp_path_factory.mktemp("second") / "tarn"
    shutil.copytree(TARN / "tree", root)
    commit(root)
    return root


@pytest.fixture(scope="module")
def ported(tarn: Path) -> Path:
    """Give the port; not to be written to."""
    root = tarn.with_name("ported")
    shutil.copytree(tarn, root)
    done = invoke("apply", root, "--profile", PROFILE)
    assert done.code == 0, done.err
    return root


def contents(root: Path) -> dict[str, bytes]:
    """Return the files of a tree, by their paths."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root).parts[0] not in (".git", "target")
    }


def cargo(root: Path, *arguments: str) -> str:
    """Run cargo without kernels and return what it wrote."""
    done = subprocess.run(
        ["cargo", *arguments],
        cwd=root,
        env=os.environ
        | {
            "TARN_KERNELS": "skip",
            "CARGO_TARGET_DIR": str(cache_folder() / "target" / "second"),
            "CARGO_TERM_COLOR": "never",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_every_place_is_known(tarn: Path) -> None:
    done = invoke("scan", tarn, "--profile", PROFILE, "--format", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    sites = document["sites"]
    assert {site["applicability"] for site in sites} == {"safe", "keep", "review"}
    # What a build script acts by, what is linked by its name, and what is true of ROCm where a
    # text or a name speaks of NVIDIA: no tree tells that.
    assert {(s["path"], s["code"]) for s in sites if s["applicability"] == "review"} == {
        ("gauge/build.rs", "PK402"),
        ("gauge/build.rs", "PK503"),
        ("gauge/src/cuda.rs", "PK101"),
        ("lake/src/engine.rs", "PK501"),
        ("lake/src/lib.rs", "PK501"),
        ("spectrum/src/lib.rs", "PK505"),
        ("lake/build.rs", "PK402"),
        ("lake/build.rs", "PK503"),
    }


def test_a_second_apply_writes_nothing(ported: Path) -> None:
    before = contents(ported)
    done = invoke("apply", ported, "--profile", PROFILE, "--allow-dirty", "--check")
    assert (done.code, done.err) == (0, ""), done.out
    assert contents(ported) == before


def test_nothing_bears_the_name_of_another_codebase(ported: Path) -> None:
    names = [path for path in contents(ported) if "candle" in path.lower()]
    texts = [path for path, data in contents(ported).items() if b"candle" in data.lower()]
    assert (names, texts) == ([], [])


def test_a_profile_in_the_tree_gives_the_same_port(
    tarn: Path, ported: Path, tmp_path: Path
) -> None:
    root = tmp_path / "tarn"
    shutil.copytree(tarn, root)
    shutil.copytree(PROFILE, root / "port")
    (root / "portkit.toml").write_text('profile = "port/"\n')
    commit(root)
    done = invoke("apply", root)
    assert done.code == 0, done.err
    found = {
        path: data
        for path, data in contents(root).items()
        if path != "portkit.toml" and not path.startswith("port/")
    }
    assert found == contents(ported)


def test_one_place_is_left_to_a_person_with_everything_behind_the_feature(
    tarn: Path, tmp_path: Path
) -> None:
    root = tmp_path / "tarn"
    shutil.copytree(tarn, root)
    done = invoke("apply", root, "--profile", PROFILE, "--gating", "cfg")
    assert done.code == 0, done.err
    assert "Manual: a person must write this (1 place)" in done.out
    assert "cli/src/main.rs:17" in done.out
    again = ("--allow-dirty", "--check", "--gating", "cfg")
    assert invoke("apply", root, "--profile", PROFILE, *again).code == 0
    cargo(root, "check", "--workspace", "--all-targets", "--features", "rocm")
    cargo(root, "check", "--workspace", "--all-targets")


def with_features(path: str, data: bytes, source: str, written: str) -> bytes:
    """Return a file of tarn's, ported or not, with other names of the features."""
    text = data.decode()
    forms = ['/{}"', "\n{} = ["] if path.endswith(".toml") else ['feature = "{}"', "feature {}"]
    for old, new in (("cuda", source), ("rocm", written)):
        for form in forms:
            text = text.replace(form.format(old), form.format(new))
        text = text.replace(f"FEATURE_{old.upper()}", f"FEATURE_{new.upper()}")
    return text.encode()


def test_features_of_other_names_give_the_same_port(
    tarn: Path, ported: Path, tmp_path: Path
) -> None:
    # The name table makes `amd` of the module `nvidia`, and `rocm` of the engine `cuda`.
    root, profile, names = tmp_path / "tarn", tmp_path / "profile", ("nvidia", "radeon")
    shutil.copytree(PROFILE, profile)
    own = profile / "codebase.toml"
    said = 'source_feature = "{}"\nfeature = "{}"\n'.format(*names)
    own.write_text(own.read_text().replace("first_version", f"{said}first_version", 1))
    for path, data in contents(tarn).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(with_features(path, data, *names))
    commit(root)
    done = invoke("scan", root, "--profile", profile, "--format", "json")
    assert json.loads(done.out)["unaccounted"] == []
    done = invoke("apply", root, "--profile", profile)
    assert done.code == 0, done.err
    bindings = f"{load_codebase(Directory(profile)).bindings}/"  # which know no feature of tarn's
    wanted = {
        path: data if path.startswith(bindings) else with_features(path, data, *names)
        for path, data in contents(ported).items()
    }
    assert contents(root) == wanted
    again = invoke("apply", root, "--profile", profile, "--allow-dirty", "--check")
    assert (again.code, again.err) == (0, ""), again.out
    cargo(root, "check", "--workspace", "--all-targets", "--features", ",".join(names))


@pytest.mark.parametrize("features", ["", "rocm", "cuda", "cuda,rocm"])
def test_it_type_checks(ported: Path, features: str) -> None:
    output = cargo(ported, "check", "--workspace", "--all-targets", "--features", features)
    assert "warning" not in output, output


def test_the_host_computes_as_before(ported: Path) -> None:
    output = cargo(ported, "test", "--workspace")
    assert output.count("test result: ok") >= 3


def test_its_tests_pass_on_the_device_with_both_wavefronts(
    ported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("CARGO_TARGET_DIR", str(cache_folder() / "target" / "second"))
    report = tmp_path / "verify.json"
    options = ("--profile", PROFILE, "--only", "device", "--device", "cpu", "--wave", "32,64")
    done = invoke("verify", ported, *options, "--no-cache", "--json", report)
    assert done.code == 0, done.out + done.err
    (step,) = (s for s in json.loads(report.read_text())["steps"] if s["step"] == "device")
    passed = [
        t["test"].rpartition(" ")[2].rpartition("::")[2]
        for t in step["tests"]
        if t["result"] == "ok"
    ]
    assert {name: passed.count(name) for name in ON_THE_DEVICE} == dict.fromkeys(ON_THE_DEVICE, 2)
    assert step["figures"]["kernels launched"] == len(KERNELS)
    assert step["figures"]["defects"] == 0


def test_a_command_on_the_device_is_told_what_the_profile_says(
    ported: Path, tmp_path: Path
) -> None:
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    done = invoke("device", "--wave", "64", "--profile", PROFILE)
    assert "export TARN_ROCM_ARCHS=gfx90a\n" in done.out + "\n"
    # Told nothing, hipcc compiles for the GPU that is there.
    made = tmp_path / "stencil.hsaco"
    script = f'"$HIPCC" --genco -o {made} kernels/stencil.hip'
    program = (sys.executable, "-m", "portkit", "device", "--wave", "64", "--", "sh", "-c", script)
    subprocess.run(program, cwd=ported / "lake", env=environment(), check=True)
    assert b"gfx90a" in made.read_bytes()
    assert b"gfx1100" not in made.read_bytes()


@pytest.mark.hipcc
@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100"])
def test_hipcc_compiles_its_kernels(ported: Path, tmp_path: Path, arch: str) -> None:
    sources = ("lake/kernels/stencil", "lake/kernels/volume", "gauge/launchers/histogram")
    for source in sources:
        made = tmp_path / f"{Path(source).name}.hsaco"
        flags = ("--genco", "-O3", f"--offload-arch={arch}", "-o", made)
        subprocess.run([find_hipcc(), *flags, ported / f"{source}.hip"], check=True)
        assert arch.encode() in made.read_bytes()
