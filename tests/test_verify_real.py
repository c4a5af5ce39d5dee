"""The ladder with cargo itself: small trees of our own, and the real candle."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from cli_support import LIB, add_file, invoke, make_candle
from verify_support import make_tree, step, verify

from portkit.verify import test_binaries
from portkit.verify.type_check import check

pytestmark = pytest.mark.real


@pytest.fixture
def candle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a ported copy of the small candle, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in ("CARGO_TARGET_DIR", "CUDA_HOME", "CUDA_PATH", "NVCC"):
        monkeypatch.delenv(variable, raising=False)
    candle = make_candle(tmp_path / "candle")
    # Without the crates that the port adds, whose dependencies would have to be downloaded.
    assert invoke("apply", candle, "--skip", "PK103,PK203", "--allow-dirty").code == 0
    return candle


LADDER = ("format", "parity", "check", "lint", "regress")
STEPS = [word for name in LADDER for word in ("--only", name)]


def test_the_ladder_with_cargo(candle: Path) -> None:
    found = verify(candle, *STEPS)
    assert {name: each["verdict"] for name, each in found.items()} == dict.fromkeys(
        LADDER, "passed"
    )
    assert found["regress"]["evidence"][0].startswith("2 tests give the same results as ")
    again = verify(candle, *STEPS)
    remembered = {name for name, each in again.items() if each["remembered"]}
    # Cargo wrote the lock file after the first step, so that step is looked at once more.
    assert remembered == {"check", "lint", "regress"}
    assert verify(candle, "--only", "format")["format"]["remembered"]

    lib = candle / LIB
    ported = lib.read_text()
    lib.write_text(ported.replace('            Self::Rocm(_) => "rocm",\n', ""))
    found = verify(candle, "--only", "check")
    (error,) = found["check"]["diagnostics"]
    assert (found["check"]["verdict"], error["code"], error["path"]) == ("failed", "E0004", LIB)

    lib.write_text(ported.replace('Self::Rocm(_) => "rocm"', "Self::Rocm(_) => 1"))
    (error,) = verify(candle, "--only", "check")["check"]["diagnostics"]
    assert (error["code"], error["rule"]) == ("E0308", "PK301")
    assert error["origin"].endswith(" Device::name")

    lib.write_text(ported.replace('Self::Rocm(_) => "rocm"', 'Self::Rocm(_) => return "rocm"'))
    found = verify(candle, "--only", "lint")
    assert [(d["code"], d["rule"]) for d in found["lint"]["diagnostics"]] == [
        ("clippy::needless_return", "PK301")
    ]

    lib.write_text(ported.replace('=> "cpu"', '=> "CPU"'))
    verdict, evidence = step(candle, "regress")
    assert (verdict, evidence[0]) == ("failed", "2 of 2 tests do not give the same result")

    lib.write_text(ported.replace("=> ", "=>  "))
    assert step(candle, "format") == ("failed", ["rustfmt would change 1 files", LIB])


BAD_TESTS = b"""\
#[test]
fn good() {}
#[test]
#[ignore = "slow"]
fn slow() {}
#[test]
fn wrong() {
    panic!("wrong")
}
#[test]
#[should_panic]
fn panics() {
    panic!("as it should")
}
#[test]
fn hangs() {
    std::thread::sleep(std::time::Duration::from_secs(600));
}
#[test]
fn aborts() {
    std::process::abort();
}
#[test]
fn leaves() {
    std::process::exit(3);
}
#[test]
fn takes_all_memory() {
    let mut all = Vec::new();
    loop {
        all.push(vec![1u8; 64 << 20]);
    }
}
#[test]
fn overflows_the_stack() {
    fn deeper(n: u64) -> u64 {
        std::hint::black_box(if n == u64::MAX { 0 } else { 1 + deeper(n + 1) })
    }
    assert!(deeper(0) > 0);
}
#[test]
fn knows_where_it_runs() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    assert_eq!(std::env::current_dir().unwrap(), std::path::Path::new(&folder));
    assert!(std::path::Path::new("Cargo.toml").exists());
}
"""


def test_each_test_has_a_result_whatever_the_others_do(
    candle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portkit.verify.test_binaries.find_memory_limit", lambda: 1 << 29)
    add_file(candle, "candle-core/tests/bad.rs", BAD_TESTS)
    tree = make_tree(candle, test_seconds=10)
    (binary,) = test_binaries.build_binaries(tree, "--test", "bad")
    results = test_binaries.test_binary(tree, binary)
    found = {name.removeprefix("bad tests/bad.rs "): result for name, result in results}
    assert found == {
        "good": "ok",
        "slow": "ignored",
        "wrong": "FAILED (wrong, at candle-core/tests/bad.rs:8:5)",
        "panics": "ok",
        "hangs": "timed out after 10 s",
        "aborts": "crashed (Aborted)",
        "leaves": "ended with status 3",
        "takes_all_memory": "out of memory",
        "overflows_the_stack": "crashed (Aborted)",
        "knows_where_it_runs": "ok",
    }


def test_without_a_c_compiler_the_linker_is_named(
    candle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which("cargo")
    assert found is not None
    bare = tmp_path / "bare"
    bare.mkdir()
    for program in ("git", "sh"):
        (bare / program).symlink_to(shutil.which(program) or program)
    monkeypatch.setenv("PATH", f"{bare}{os.pathsep}{Path(found).parent}")
    verdict, evidence = step(candle, "regress")
    assert verdict == "failed"
    assert "linker `cc` not found" in evidence[0]


def test_a_complaint_inside_a_macro_stands_where_it_is_called(candle: Path) -> None:
    add_file(
        candle,
        "candle-core/tests/macro.rs",
        b'#[test]\nfn f() {\n    assert_eq!(1, "one");\n}\n',
    )
    found = check(make_tree(candle), "check", ()).found
    assert {(d.code, d.path, d.line) for d in found if d.level == "error"} == {
        ("E0277", "candle-core/tests/macro.rs", 3)
    }
