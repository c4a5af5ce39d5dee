"""A port that compiles CUDA's kernels as they stand."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import add_file, commit, invoke
from kernels_tree_support import make_with_kernels

from portkit.errors import ConfigError, VerificationError
from portkit.hipify.cuda_patch import render_patch
from portkit.hipify.symbols import read_symbols
from portkit.shipped import shipped
from portkit.verify.hip_sources import list_hip_sources, open_hip_folder

if TYPE_CHECKING:
    from pathlib import Path

SHARED = b'kernels = "shared"\n'
TRANSLATED = b'kernels = "translated"\n'
BUILD = SHARED + b'build = { version = "0.1" }\n'


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_with_kernels(tmp_path / "candle")


def files(candle: Path) -> dict[str, bytes]:
    crate = candle / "candle-rocm-kernels"
    return {
        path.relative_to(crate).as_posix(): path.read_bytes()
        for path in sorted(crate.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("said", [SHARED, b""], ids=["said", "candle's default"])
def test_sources_are_compiled_as_they_stand_and_stay_so(candle: Path, said: bytes) -> None:
    add_file(candle, "portkit.toml", said)
    commit(candle)
    assert invoke("apply", candle).code == 0
    written = files(candle)
    assert "src/cuda.patch" in written
    assert not [path for path in written if path.endswith(("fill.hip", "sort_all.hip"))]
    assert b'"../candle-kernels"' in written["build.rs"]
    commit(candle)
    for now in (SHARED, b""):
        add_file(candle, "portkit.toml", now)
        again = invoke("apply", "--check", candle, "--allow-dirty")
        assert (again.code, files(candle)) == (0, written), again.out
    listed = invoke("scan", candle, "--kernels", "--all", "--select", "PH107").out
    assert "ported" in listed


def test_translations_are_a_setting_and_then_what_stands(candle: Path) -> None:
    add_file(candle, "portkit.toml", TRANSLATED)
    commit(candle)
    assert invoke("apply", candle).code == 0
    written = files(candle)
    assert [path for path in written if path.endswith(("fill.hip", "sort_all.hip"))]
    assert "src/cuda.patch" not in written
    commit(candle)
    for now in (TRANSLATED, b""):
        add_file(candle, "portkit.toml", now)
        again = invoke("apply", "--check", candle, "--allow-dirty")
        assert (again.code, files(candle)) == (0, written), again.out


def test_a_scan_translates_nothing_unless_asked(
    candle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def translate(*_: object) -> None:
        raise AssertionError("a kernel is translated")

    add_file(candle, "portkit.toml", SHARED)
    commit(candle)
    with monkeypatch.context() as patch:
        patch.setattr("portkit.hipify.translated_sources.translate", translate)
        assert invoke("scan", candle).code == 0
    assert invoke("apply", candle).code == 0
    monkeypatch.setattr("portkit.hipify.translated_sources.translate", translate)
    assert invoke("scan", candle).code == 0
    assert "a kernel is translated" in invoke("scan", candle, "--kernels").err


@pytest.mark.parametrize(
    ("standing", "said", "sentence"),
    [
        (b"", TRANSLATED, "are translated, and those in"),
        (TRANSLATED, b"# twice\n" + SHARED, "are shared, and those in"),
    ],
)
def test_the_other_form_than_stands_is_an_error(
    candle: Path, standing: bytes, said: bytes, sentence: str
) -> None:
    add_file(candle, "portkit.toml", standing)
    commit(candle)
    assert invoke("apply", candle).code == 0
    commit(candle)
    before = files(candle)
    add_file(candle, "portkit.toml", said)
    done = invoke("apply", candle, "--allow-dirty")
    line = said.count(b"\n")
    assert done.err.startswith(f"error: portkit.toml:{line}: the kernels {sentence}"), done.err
    assert done.code != 0
    assert files(candle) == before


def test_an_unknown_form_is_an_error_with_its_line(candle: Path) -> None:
    add_file(candle, "portkit.toml", b'kernels = "shard"\n')
    assert "portkit.toml:1: kernels is 'shard'" in invoke("scan", candle).err


@pytest.mark.parametrize("said", [SHARED, BUILD], ids=["copied", "dependency"])
def test_verify_looks_at_what_the_build_compiles(candle: Path, said: bytes) -> None:
    add_file(candle, "portkit.toml", said)
    commit(candle)
    assert invoke("apply", candle).code == 0
    crate, cuda = candle / "candle-rocm-kernels", candle / "candle-kernels"
    names = list_hip_sources(crate, cuda)
    assert names == (
        *("attention.hip", "decode.hip", "fill.hip", "launchers.hip"),
        *("moe/moe_gemm.hip", "sort_all.hip", "views.hip"),
    )
    with open_hip_folder(crate, cuda) as folder:
        texts = {
            path.relative_to(folder).as_posix(): path.read_text()
            for path in folder.rglob("*")
            if path.is_file()
        }
        assert {path for path in texts if path.endswith(".hip")} == set(names)
    assert not folder.exists()
    assert read_symbols(texts, ["fill.hip"])["fill.hip"].kernels == {"fill_f32"}
    launchers = read_symbols(texts, ["moe/moe_gemm.hip"])["moe/moe_gemm.hip"]
    assert launchers.functions == {"launch_gemm", "launch_Norm"}


@pytest.mark.parametrize("said", [b"", SHARED, BUILD], ids=["translated", "copied", "dependency"])
def test_nothing_in_the_crate_of_kernels_lacks_a_counterpart(candle: Path, said: bytes) -> None:
    add_file(candle, "portkit.toml", said)
    commit(candle)
    assert invoke("apply", candle).code == 0
    done = invoke("verify", candle, "--only", "parity", "--trust")
    assert "candle-rocm-kernels" not in done.out + done.err
    assert done.code == 0, done.out


def test_a_patch_that_meets_an_edit_fails_the_step_with_a_sentence(candle: Path) -> None:
    add_file(candle, "portkit.toml", SHARED)
    commit(candle)
    assert invoke("apply", candle).code == 0
    crate, cuda = candle / "candle-rocm-kernels", candle / "candle-kernels"
    (crate / "src/cuda.patch").write_text(render_patch({"fill.cu": ("int x;\n", "int y;\n")}))
    with (
        pytest.raises(VerificationError, match=r"cuda\.patch, line 3: fill\.cu has 0 places"),
        open_hip_folder(crate, cuda),
    ):
        pass


def test_what_compiles_them_is_a_copy_or_comes_from_elsewhere(candle: Path) -> None:
    add_file(candle, "portkit.toml", SHARED)
    commit(candle)
    assert invoke("apply", candle).code == 0
    copied = files(candle)
    git(candle, "stash", "--include-untracked", "--quiet")
    add_file(candle, "portkit.toml", BUILD)
    commit(candle)
    assert invoke("apply", candle).code == 0
    made = files(candle)
    support = shipped("crates/build")
    brought = {path.relative_to(support / "src") for path in (support / "src").rglob("*.*")}
    gone = {path.removeprefix("src/") for path in copied.keys() - made.keys()}
    assert gone <= {path.name if path.parts[0] == "device" else str(path) for path in brought}
    assert {"kernels/mod.rs", "sources.rs", "hipx.h", "launchers.hip"} <= gone
    assert not made.keys() - copied.keys()
    assert {path for path in made if made[path] != copied[path]} == {
        *("Cargo.toml", "README.md", "build.rs")
    }
    manifest = tomllib.loads(made["Cargo.toml"].decode())
    package = tomllib.loads((support / "Cargo.toml").read_text())["package"]
    assert manifest["build-dependencies"] == {package["name"]: {"version": "0.1"}}
    assert package["version"].startswith("0.1.")


def test_the_crate_of_kernels_remembers_what_compiles_it(candle: Path) -> None:
    add_file(candle, "portkit.toml", BUILD.replace(b'version = "0.1"', b'path = "../elsewhere"'))
    commit(candle)
    assert invoke("apply", candle).code == 0
    made = files(candle)
    assert b'hiprc-build = { path = "../../elsewhere" }' in made["Cargo.toml"]
    commit(candle)
    add_file(candle, "portkit.toml", b"")
    again = invoke("apply", "--check", candle, "--allow-dirty")
    assert (again.code, files(candle)) == (0, made), again.out


@pytest.mark.parametrize(
    ("before", "said", "sentence"),
    [
        (b"", TRANSLATED + b'build = { version = "0.1" }\n', "translations bring their own"),
        (SHARED, BUILD, "has a copy of it"),
        (BUILD, BUILD.replace(b"0.1", b"0.2"), "names another place"),
    ],
)
def test_another_word_on_what_compiles_them_is_a_sentence(
    candle: Path, before: bytes, said: bytes, sentence: str
) -> None:
    if before:
        add_file(candle, "portkit.toml", before)
        commit(candle)
        assert invoke("apply", candle).code == 0
    add_file(candle, "portkit.toml", said)
    done = invoke("scan", candle)
    assert done.code == ConfigError.exit_code
    assert f"portkit.toml:{1 + said.startswith(b'kernels')}: what compiles kernels" in done.err
    assert sentence in done.err
