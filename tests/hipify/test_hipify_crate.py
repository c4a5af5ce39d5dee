"""The emitted kernels crate, from a CUDA kernels crate of the same layout that we wrote."""

from __future__ import annotations

import pytest
from kernel_support import SOURCE
from msgspec.structs import replace

from portkit.hipify.errors import KernelPatchError, KernelsCrateError
from portkit.hipify.kernel_profile import NO_PROFILE, KernelProfile
from portkit.hipify.kernels_crate import KernelsCrate, read_layout
from portkit.hipify.prelude import load_prelude_headers
from portkit.shipped import shipped
from portkit.workspace.finding import Applicability


@pytest.fixture
def source() -> dict[str, bytes]:
    return {path: text.encode() for path, text in SOURCE.items()}


def crate(
    source: dict[str, bytes], version: str = "1.2.3", profile: KernelProfile = NO_PROFILE
) -> KernelsCrate:
    return KernelsCrate(
        source,
        version=version,
        name="my-rocm-kernels",
        facade="my-hip",
        variables="MY_ROCM",
        profile=profile,
    )


def emitted(source: dict[str, bytes]) -> dict[str, str]:
    return crate(source).files


def test_plain_headers_go_with_the_sources(source: dict[str, bytes]) -> None:
    source |= {
        "src/fill.cu": b'#include "a.h"\n#include "b.h"\n#include "b.cuh"\n'
        + source["src/fill.cu"],
        "src/a.h": b"#include <cuda_fp16.h>\n",
        "src/b.h": b"#define B 1\n",
        "src/b.cuh": b"#define C 1\n",
    }
    files = emitted(source)
    assert files["src/a.h"] == '#include "hipx.h"\n#include <hip/hip_fp16.h>\n'
    assert (files["src/b.h"], files["src/hip_b.h"]) == (
        "#define B 1\n",
        '#include "hipx.h"\n#define C 1\n',
    )
    assert '#include "a.h"\n#include "b.h"\n#include "hip_b.h"\n' in files["src/fill.hip"]


def test_the_layout_is_read(source: dict[str, bytes]) -> None:
    layout = read_layout(source)
    assert [(m.name, m.constant) for m in layout.modules] == [
        ("fill", "FILL"),
        ("sort_all", "SORT_ALL"),
    ]
    assert layout.launchers == ("moe/moe_gemm",)
    assert "#[cfg" not in layout.declarations
    assert "moe_gemm.hip" in layout.declarations


CONSTANTS = """\
pub const FILL: &str = include_str!(concat!(env!("OUT_DIR"), "/fill.ptx"));
pub const SORT_ALL: &str = include_str!(concat!(env!("OUT_DIR"), "/sort_all.ptx"));
"""


def test_a_module_may_be_a_constant_with_its_ptx(source: dict[str, bytes]) -> None:
    source["src/lib.rs"] = CONSTANTS.encode()
    layout = read_layout(source)
    assert layout.plain
    assert [m.constant for m in layout.modules] == ["FILL", "SORT_ALL"]
    library = crate(source).text("src/lib.rs")
    assert 'FILL = "fill.hip",' in library
    assert "pub const $cst: &Kernels = &Kernels {" in library
    assert "Id" not in library
    assert "Module" not in library


def test_a_crate_without_a_module_is_refused(source: dict[str, bytes]) -> None:
    source["src/lib.rs"] = b'pub const FILL: &str = "fill";\n'
    with pytest.raises(KernelsCrateError, match="neither with mdl! nor as a constant"):
        read_layout(source)


def test_sources_are_translated_with_their_headers(source: dict[str, bytes]) -> None:
    files = emitted(source)
    assert files["src/fill.hip"].startswith('#include "hipx.h"\n#include "hip_shared.h"\n')
    assert "hipGetLastError" in files["src/moe/moe_gemm.hip"]
    assert {"src/hip_shared.h", "src/hipx.h", "src/hipx_warp.h"} <= files.keys()


def test_a_module_of_the_profile_is_one_of_the_crates(source: dict[str, bytes]) -> None:
    profile = KernelProfile(modules=(("own_kernels", "// ours\n"),))
    made = crate(source, profile=profile)
    assert made.text("src/own_kernels.hip") == "// ours\n"
    assert "src/own_kernels.hip" in made.paths
    library, build = made.text("src/lib.rs"), made.text("build.rs")
    named = ("FILL", "SORT_ALL", "OWN_KERNELS")
    lines = [f'    {name} = "{name.lower()}.hip",' for name in named]
    assert "\n".join(["modules! {", *lines, "}"]) in library
    assert 'const MODULES: &[&str] = &["fill", "sort_all", "own_kernels"];' in build


@pytest.mark.parametrize("shared", ["", "../my-kernels"])
def test_a_module_of_the_profile_brings_the_headers_that_it_includes(
    source: dict[str, bytes], shared: str
) -> None:
    profile = KernelProfile(modules=(("own_kernels", '#include "hipx_wmma.h"\n'),))
    made = replace(crate(source, profile=profile), shared=shared)
    plain = replace(crate(source), shared=shared)
    assert "src/hipx_wmma.h" not in plain.paths
    assert set(made.paths) - set(plain.paths) >= {"src/own_kernels.hip", "src/hipx_wmma.h"}
    assert made.text("src/hipx_wmma.h") == load_prelude_headers()["hipx_wmma.h"]


def test_a_module_of_the_profile_takes_no_name_of_the_cuda_crate(source: dict[str, bytes]) -> None:
    made = crate(source, profile=KernelProfile(modules=(("fill", ""),)))
    with pytest.raises(KernelsCrateError, match="has a module fill"):
        made.text("src/lib.rs")


def test_nothing_speaks_of_cuda_but_what_names_its_kernels(source: dict[str, bytes]) -> None:
    files = emitted(source)
    for path in ("Cargo.toml", "src/lib.rs", "src/ffi.rs", "build.rs"):
        # -fcuda-include-gpubinary is clang's own name for a flag.
        text = files[path].replace("-fcuda-include-gpubinary", "")
        assert "cuda" not in text.lower(), path
        assert "portkit" not in text.lower(), path


def test_what_the_linker_sees_has_a_prefix_of_its_own(source: dict[str, bytes]) -> None:
    files = emitted(source)
    # The build puts it before every name that the sources define.
    assert 'variables: "MY_ROCM",' in files["build.rs"]
    assert 'format!("{}_", variables.to_lowercase())' in files["kernels/mod.rs"]
    assert 'launchers! {\n    "my_rocm_", crate::built::ARCHS,' in files["src/ffi.rs"]
    macro = (shipped("crates/hip") / "src/launchers.rs").read_text()
    assert "#[link_name = concat!($prefix, stringify!($name))]" in macro
    for name in ("present", "failure"):
        assert f" launchers_{name}() {{" in files["src/launchers.hip"]
        assert f'#[link_name = concat!($prefix, "launchers_{name}")]' in macro
    # The sources keep theirs, and so do the functions that Rust code calls.
    assert "int launch_gemm(" in files["src/moe/moe_gemm.hip"]
    assert "pub fn launch_gemm(" in files["src/ffi.rs"]


def test_a_crate_without_launchers_has_no_ffi(source: dict[str, bytes]) -> None:
    del source["src/ffi.rs"], source["src/moe/moe_gemm.cu"]
    source["build.rs"] = b"fn main() {}"
    files = emitted(source)
    assert "src/ffi.rs" not in files
    assert "mod ffi" not in files["src/lib.rs"]
    assert "LAUNCHERS: &[&str] = &[]" in files["build.rs"]
    assert not {"src/launchers.hip", "src/hip_runtime.cpp"} & {*files}


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
        crate(source).paths  # noqa: B018 (it raises)


def test_findings_have_paths_inside_the_crate(source: dict[str, bytes]) -> None:
    source["src/fill.cu"] += b'void f() { asm("trap;"); }\n'
    found = [
        finding
        for finding in crate(source).findings
        if finding.applicability is Applicability.MANUAL
    ]
    assert [(finding.path, finding.code) for finding in found] == [("src/fill.cu", "PH203")]


def counted(**hits: int) -> KernelProfile:
    """Return a profile that knows how often the rules find something in version 1.2.3."""
    return KernelProfile("counted", expected={"1.2.3": hits})


def test_another_number_of_hits_is_a_finding(source: dict[str, bytes]) -> None:
    # Four files; cuda_runtime.h and, three times, the shared header; two names of the API.
    hits = {"PH101": 4, "PH102": 4, "PH107": 9}
    messages = [
        finding.message
        for finding in crate(source, profile=counted(**hits)).findings
        if finding.construct == "number of hits"
    ]
    assert messages == ["PH107 finds 2 places in 1.2.3, not 9"]
    other = crate(source, "1.2.4", counted(**hits)).findings
    assert all(finding.construct != "number of hits" for finding in other)


def test_a_rule_that_finds_nothing_where_it_must_is_an_error(source: dict[str, bytes]) -> None:
    hits = {"PH105": 1}
    with pytest.raises(KernelPatchError, match=r"PH105 finds 0 places in 1\.2\.3, not 1"):
        crate(source, profile=counted(**hits)).findings  # noqa: B018 (it raises)
