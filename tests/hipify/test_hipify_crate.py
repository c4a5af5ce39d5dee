"""The emitted kernels crate, from a CUDA kernels crate of the same layout that we wrote."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from kernel_support import SOURCE

from portkit.finding import Applicability
from portkit.hipify.crate import KernelsCrate, read_layout
from portkit.hipify.errors import KernelPatchError, KernelsCrateError
from portkit.hipify.profile import KernelProfile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def source() -> dict[str, bytes]:
    return {path: text.encode() for path, text in SOURCE.items()}


def emitted(source: dict[str, bytes]) -> dict[str, str]:
    return KernelsCrate(source, version="1.2.3", profile="").files


def test_the_layout_is_read(source: dict[str, bytes]) -> None:
    layout = read_layout(source)
    assert [(m.name, m.constant, m.id) for m in layout.modules] == [
        ("fill", "FILL", "Fill"),
        ("sort_all", "SORT_ALL", "SortAll"),
    ]
    assert layout.launchers == ("moe/moe_gemm",)
    assert "#[cfg" not in layout.declarations
    assert "moe_gemm.hip" in layout.declarations


def test_sources_are_translated_with_their_headers(source: dict[str, bytes]) -> None:
    files = emitted(source)
    assert files["src/fill.hip"].startswith('#include "hipx.h"\n#include "hip_shared.h"\n')
    assert "hipGetLastError" in files["src/moe/moe_gemm.hip"]
    assert {"src/hip_shared.h", "src/hipx.h", "src/hipx_warp.h"} <= files.keys()


def test_nothing_speaks_of_cuda_but_what_names_its_kernels(source: dict[str, bytes]) -> None:
    files = emitted(source)
    for path in ("Cargo.toml", "src/lib.rs", "src/ffi.rs", "build.rs"):
        # -fcuda-include-gpubinary is clang's own name for a flag.
        text = files[path].replace("-fcuda-include-gpubinary", "")
        assert "cuda" not in text.lower(), path
        assert "portkit" not in text.lower(), path


def test_a_crate_without_launchers_has_no_ffi(source: dict[str, bytes]) -> None:
    del source["src/ffi.rs"], source["src/moe/moe_gemm.cu"]
    source["build.rs"] = b"fn main() {}"
    files = emitted(source)
    assert "src/ffi.rs" not in files
    assert "mod ffi" not in files["src/lib.rs"]
    assert "LAUNCHERS: [&str; 0] = []" in files["build.rs"]


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("src/lib.rs", None, "no src/lib.rs"),
        ("src/lib.rs", "pub const AFFINE: &str = X;", "declares no module"),
        ("src/ffi.rs", "fn f() {}", 'no extern "C" block'),
    ],
)
def test_another_layout_is_an_error(
    source: dict[str, bytes], path: str, text: str | None, message: str
) -> None:
    if text is None:
        del source[path]
    else:
        source[path] = text.encode()
    with pytest.raises(KernelsCrateError, match=message):
        KernelsCrate(source, version="1.2.3").paths  # noqa: B018 (it raises)


def test_findings_have_paths_inside_the_crate(source: dict[str, bytes]) -> None:
    source["src/fill.cu"] += b'void f() { asm("trap;"); }\n'
    found = [
        finding
        for finding in KernelsCrate(source, version="1.2.3", profile="").findings
        if finding.applicability is Applicability.MANUAL
    ]
    assert [(finding.path, finding.code) for finding in found] == [("src/fill.cu", "PH203")]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A profile that knows how often the rules find something in version 1.2.3."""
    expected: dict[str, int] = {}
    known = KernelProfile("counted", expected={"1.2.3": expected})
    monkeypatch.setattr("portkit.hipify.crate.load_profile", lambda _: known)
    return expected


def test_another_number_of_hits_is_a_finding(
    source: dict[str, bytes], counted: dict[str, int]
) -> None:
    # Four files; cuda_runtime.h and, three times, the shared header; two names of the API.
    counted |= {"PH101": 4, "PH102": 4, "PH107": 9}
    messages = [
        finding.message
        for finding in KernelsCrate(source, version="1.2.3", profile="counted").findings
        if finding.construct == "number of hits"
    ]
    assert messages == ["PH107 finds 2 places in 1.2.3, not 9"]
    other = KernelsCrate(source, version="1.2.4", profile="counted").findings
    assert all(finding.construct != "number of hits" for finding in other)


def test_a_rule_that_finds_nothing_where_it_must_is_an_error(
    source: dict[str, bytes], counted: dict[str, int]
) -> None:
    counted |= {"PH105": 1}
    with pytest.raises(KernelPatchError, match=r"PH105 finds 0 places in 1\.2\.3, not 1"):
        KernelsCrate(source, version="1.2.3", profile="counted").findings  # noqa: B018 (it raises)


def write(files: dict[str, str], folder: Path) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


MAIN = """use candle_rocm_kernels::{ffi, ALL_IDS, FILL, SORT_ALL};

fn main() {
    assert_eq!((FILL.index(), SORT_ALL.index()), (0, 1));
    assert_eq!(ALL_IDS.len(), 2);
    println!("{} {}", FILL.hsaco().len(), SORT_ALL.hsaco().len());
    let call: unsafe extern "C" fn(*const core::ffi::c_void, i32) -> i32 = ffi::launch_gemm;
    println!("{}", unsafe { call(std::ptr::null(), 1) });
}
"""


def cargo(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("CANDLE_")}
    return subprocess.run(
        ["cargo", *arguments],
        cwd=folder,
        env={**inherited, "CARGO_TARGET_DIR": str(folder / "target"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.real
def test_the_empty_mode_builds_lints_links_and_says_what_is_missing(
    source: dict[str, bytes], tmp_path: Path
) -> None:
    write(emitted(source), tmp_path)
    write({"examples/use.rs": MAIN}, tmp_path)
    empty = {"CANDLE_ROCM_KERNELS": "none"}
    assert cargo(tmp_path, "fmt", "--check").returncode == 0
    lint = cargo(tmp_path, "clippy", "--all-targets", "--", "-D", "warnings", **empty)
    assert lint.returncode == 0, lint.stderr
    ran = cargo(tmp_path, "run", "--example", "use", **empty)
    assert ran.stdout == "0 0\n"
    assert "launch_gemm: this build has no ROCm kernels" in ran.stderr


@pytest.mark.real
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
    ],
)
def test_what_cannot_be_built_says_why(
    source: dict[str, bytes], tmp_path: Path, environment: dict[str, str], message: str
) -> None:
    write(emitted(source), tmp_path)
    built = cargo(tmp_path, "build", **environment)
    assert built.returncode != 0
    assert message in built.stderr


@pytest.mark.real
@pytest.mark.hipcc
def test_kernels_are_compiled_once_bundled_and_linked(
    source: dict[str, bytes], tmp_path: Path
) -> None:
    write(emitted(source), tmp_path)
    write({"examples/use.rs": MAIN}, tmp_path)
    cache = tmp_path / "cache"
    environment = {
        "CANDLE_ROCM_ARCHS": "gfx90a,gfx1100",
        "CANDLE_ROCM_CACHE": str(cache),
        "LD_LIBRARY_PATH": "/nowhere",
    }
    ran = cargo(tmp_path, "run", "--example", "use", **environment)
    assert ran.returncode == 0, ran.stderr
    fill, result = ran.stdout.split()[0], ran.stdout.split()[-1]
    assert int(fill) > 4096
    # hipErrorSharedObjectInitFailed where ROCm is not installed, hipErrorNoDevice where it is.
    assert result in ("303", "100")
    bundle = next((tmp_path / "target").rglob("fill.hsaco")).read_bytes()
    assert bundle.startswith(b"__CLANG_OFFLOAD_BUNDLE__")
    for arch in (b"gfx90a", b"gfx1100"):
        assert b"hipv4-amdgcn-amd-amdhsa--" + arch in bundle
    objects = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    (tmp_path / "src" / "sort_all.hip").write_text(
        emitted(source)["src/sort_all.hip"] + "// more\n"
    )
    assert cargo(tmp_path, "build", **environment).returncode == 0
    fresh = [path.name for path in cache.iterdir() if path not in objects]
    assert len(fresh) == 2
    assert all(name.startswith("src_sort_all_hip") for name in fresh)
    assert all(path.stat().st_mtime_ns == time for path, time in objects.items())
