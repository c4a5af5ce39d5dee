"""The kernel of the custom-ops example: what its build script makes of what apply writes."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MANIFEST = """[package]
name = "custom-ops"
version = "0.1.0"
edition = "2021"

[features]
rocm = []
cuda = []
buildtime-download = []
"""
MAIN = """include!(concat!(env!("OUT_DIR"), "/rocm_kernels.rs"));

fn main() {
    std::io::Write::write_all(&mut std::io::stdout(), LAYERNORM_KERNELS).unwrap();
}
"""


@pytest.mark.real
def test_the_build_script_is_asked_as_that_of_the_kernels_is(
    ported: Callable[[str], Path], tmp_path: Path
) -> None:
    crate, script = ported("0.11.1") / "candle-examples", tmp_path / "build"
    compiled = [
        "rustc",
        "--edition",
        "2021",
        "--cfg",
        'feature="rocm"',
        "build.rs",
        "-o",
        str(script),
    ]
    subprocess.run(compiled, cwd=crate, check=True)
    values = {"OUT_DIR": str(tmp_path), "CARGO_CFG_TARGET_OS": "linux"}
    without = {"CANDLE_ROCM_KERNELS": "none"}
    done = subprocess.run(
        [script], cwd=crate, env=os.environ | values | without, stdout=subprocess.PIPE, check=True
    )
    for name in ("CANDLE_ROCM_KERNELS", "CANDLE_ROCM_ARCHS", "HIPCC", "ROCM_PATH"):
        assert f"cargo::rerun-if-env-changed={name}\n".encode() in done.stdout
    assert (tmp_path / "layernorm_kernels.hsaco").read_bytes() == b""
    assert "include_bytes!" in (tmp_path / "rocm_kernels.rs").read_text()
    asked = {"CANDLE_ROCM_KERNELS": "all", "CANDLE_ROCM_ARCHS": "gfx90a;amd", "HIPCC": "true"}
    wrong = subprocess.run(
        [script], cwd=crate, env=os.environ | values | asked, capture_output=True, check=False
    )
    assert b'CANDLE_ROCM_ARCHS names "amd"' in wrong.stderr


@pytest.mark.real
@pytest.mark.hipcc
def test_the_build_script_compiles_the_kernel(
    ported: Callable[[str], Path], tmp_path: Path
) -> None:
    """The example needs the whole of candle; its build script and its kernel need nothing."""
    tree, crate = ported("0.11.1"), tmp_path / "candle-examples"
    kernels = "candle-examples/examples/custom-ops/kernels"
    for folder in (kernels, "candle-rocm-kernels/kernels", "candle-rocm-kernels/src"):
        shutil.copytree(tree / folder, tmp_path / folder)
    shutil.copy(tree / "candle-examples/build.rs", crate)
    (crate / "Cargo.toml").write_text(MANIFEST)
    (crate / "src").mkdir()
    (crate / "src" / "main.rs").write_text(MAIN)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("CANDLE_")}
    made = subprocess.run(
        ["cargo", "run", "--quiet", "--features", "rocm"],
        cwd=crate,
        env=inherited
        | {"CARGO_TARGET_DIR": str(tmp_path / "target"), "CANDLE_ROCM_ARCHS": "gfx90a; gfx1100"}
        | {"CANDLE_ROCM_COMPRESS": "0"},
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr.decode()
    assert made.stdout.startswith(b"__CLANG_OFFLOAD_BUNDLE__")
    for wanted in (b"gfx90a", b"gfx1100", b"rms_f32.kd"):
        assert wanted in made.stdout
