"""What is copied to the machine with the GPU, and what runs it there; programs stand in for cargo
and for what it builds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HARNESS = ROOT / "ci" / "nvidia"

# Notes how it is called and says that it built one program.
CARGO = """\
#!{python}
import json, os, sys
from pathlib import Path
here = Path(__file__).parent
with (here / "calls").open("a") as calls:
    print(json.dumps([sys.argv[1:], os.environ.get("CANDLE_ROCM_ARCHS")]), file=calls)
test = sys.argv[1] == "test"
manifest = Path.cwd() / ("candle-core" if test else "") / "Cargo.toml"
print(json.dumps({{"executable": str(here / "program"), "profile": {{"test": test}},
                  "manifest_path": str(manifest), "target": {{"name": "sort_tests"}}}}))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack, and in ``calls`` beside it how cargo was called."""
    place = tmp_path_factory.mktemp("nvidia")
    tree = place / "tree"
    for crate in ("candle-core", "candle-nn"):
        (tree / crate / "tests").mkdir(parents=True)
        (tree / crate / "examples").mkdir()
    (tree / "candle-core" / "tests" / "test.npz").write_bytes(b"numbers")
    tools = place / "cuda" / "bin"
    tools.mkdir(parents=True)
    (place / "cuda" / "include").mkdir()
    (place / "cuda" / "include" / "cuda.h").write_text("#define CUDA_VERSION 13000\n")
    (tools / "cargo").write_text(CARGO.format(python=sys.executable))
    (tools / "cargo").chmod(0o755)
    shutil.copy("/bin/true", tools / "program")
    output = place / "output"
    (output / "rocm" / "lib").mkdir(parents=True)
    (output / "rocm" / "lib" / "libamdhip64.so").write_text("stand-in")
    command = (sys.executable, str(HARNESS / "build.py"), "--tree", tree, "--output", output)
    environment = os.environ | {"CUDA_HOME": str(place / "cuda")}
    subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    shutil.move(tools / "calls", output / "calls")
    return output / "pack"


@pytest.fixture
def pack(built: Path, tmp_path: Path) -> Path:
    """A pack of its own for a test that puts other programs into it."""
    return shutil.copytree(built, tmp_path / "pack")


def test_all_that_runs_is_in_the_pack(built: Path) -> None:
    found = {path.relative_to(built).as_posix() for path in built.rglob("*") if path.is_file()}
    assert found == {
        "bench/cuda",
        "bench/rocm",
        "built.json",
        "crosscheck/cuda",
        "crosscheck/rocm",
        "lib/libamdhip64.so",
        "run.py",
        "tests/candle-core/cuda/sort_tests",
        "tests/candle-core/rocm/sort_tests",
        "tests/candle-core/tests/test.npz",
        "vendors/both",
    }
    assert json.loads((built / "built.json").read_text())["cuda"] == "13.0"


def test_each_backend_is_built_with_its_feature(built: Path) -> None:
    lines = (built.parent / "calls").read_text().splitlines()
    for words, archs in map(json.loads, lines):
        # What has no feature has both backends.
        assert ("--features=cuda" not in words) == (archs == "gfx1030")
    assert len(lines) == 7
    features = [word for line in lines for word in json.loads(line)[0] if "features=" in word]
    assert sorted(features) == ["--features=cuda"] * 3 + ["--features=rocm"] * 3


def run(pack: Path, *steps: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, str(pack / "run.py"), str(pack.parent / "results"), *steps)
    environment = {"PATH": str(pack.parent)}
    smi = pack.parent / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho a GPU\n")
    smi.chmod(0o755)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def program(place: Path, text: str) -> None:
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)


def test_a_failed_test_is_a_failure(pack: Path) -> None:
    tests = pack / "tests" / "candle-core" / "rocm" / "sort_tests"
    program(tests, "echo 'test sort_rocm ... ok'\necho 'test sort_cpu ... ok'")
    assert run(pack, "tests").returncode == 0
    # CUDA's own tests say nothing of the port.
    program(pack / "tests" / "candle-core" / "cuda" / "sort_tests", "exit 101")
    assert run(pack, "tests").returncode == 0
    program(tests, "echo 'test sort_rocm ... FAILED'\nexit 101")
    done = run(pack, "tests")
    assert done.returncode == 1
    assert "failed: sort_rocm" in done.stdout
    results = json.loads((pack.parent / "results" / "results.json").read_text())
    assert results["tests"]["rocm"]["candle-core/sort_tests"]["tests"] == {"sort_rocm": "FAILED"}


def test_a_crash_is_a_failure(pack: Path) -> None:
    program(pack / "tests" / "candle-core" / "rocm" / "sort_tests", "kill -SEGV $$")
    assert run(pack, "tests").returncode == 1


def test_backends_take_turns(pack: Path) -> None:
    for backend, us in (("rocm", 20), ("cuda", 10)):
        line = json.dumps({"backend": backend, "item": "add", "us": us})
        program(pack / "bench" / backend, f"echo '{line}'\necho {backend} >> {pack}/turns")
    done = run(pack, "bench")
    assert done.returncode == 0, done.stderr
    turns = (pack / "turns").read_text().split()
    assert turns[:4] == ["rocm", "cuda", "cuda", "rocm"]
    assert turns.count("rocm") == 15, "what is short, or slower, is taken again"
    assert done.stdout.splitlines()[-1].split() == ["add", "20.00", "10.00", "0.500"]


def test_what_is_long_and_as_fast_is_taken_once(pack: Path) -> None:
    for backend in ("rocm", "cuda"):
        line = json.dumps({"backend": backend, "item": "add", "us": 100})
        program(pack / "bench" / backend, f"echo '{line}'\necho {backend} >> {pack}/turns")
    run(pack, "bench")
    assert (pack / "turns").read_text().split().count("rocm") == 5


def test_the_crosscheck_is_shared_out(pack: Path) -> None:
    head, line = json.dumps({"version": "0.11.1"}), '{\\"part\\": \\"$6\\"}'
    program(pack / "crosscheck" / "rocm", f"echo '{head}'\necho \"{line}\"")
    program(pack / "crosscheck" / "cuda", f"echo '{head}'\nexit 3")
    assert run(pack, "crosscheck").returncode == 0
    results = pack.parent / "results"
    first, *others = (results / "crosscheck-rocm.jsonl").read_text().splitlines()
    assert first == head
    parts = os.cpu_count()
    assert [json.loads(each)["part"] for each in others] == [
        f"{part}/{parts}" for part in range(1, (parts or 1) + 1)
    ]
    found = json.loads((results / "results.json").read_text())["crosscheck"]
    assert set(found["cuda"]) == {3}


@pytest.mark.parametrize("status", [0, 101])
def test_both_backends_have_to_work_in_one_program(pack: Path, status: int) -> None:
    program(pack / "vendors" / "both", f'echo "$1 $ROCM_PATH"\nexit {status}')
    done = run(pack, "vendors")
    assert done.returncode == (1 if status else 0)
    results = json.loads((pack.parent / "results" / "results.json").read_text())
    assert results["vendors"] == {"status": status, "printed": [f"beside {pack}"]}


def test_what_was_not_built_is_not_run_unless_it_is_asked_for(pack: Path) -> None:
    for name in ("tests", "bench", "crosscheck", "vendors"):
        shutil.rmtree(pack / name)
    (pack / "tests").mkdir()
    assert run(pack).returncode == 0
    results = json.loads((pack.parent / "results" / "results.json").read_text())
    assert "vendors" not in results


def test_a_later_call_adds_to_the_results(pack: Path) -> None:
    run(pack, "tests")
    run(pack, "crosscheck")
    results = json.loads((pack.parent / "results" / "results.json").read_text())
    assert {"machine", "built", "tests", "crosscheck"} <= set(results)


def test_an_unknown_step_is_an_error(pack: Path) -> None:
    assert "the steps are" in run(pack, "test").stderr
