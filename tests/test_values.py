"""Values that must differ or be unique: what a person is told about each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_support import invoke
from tree_support import MANIFEST, crate, scan_of

from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from pathlib import Path

REVIEW, SAFE, MANUAL = Applicability.REVIEW, Applicability.SAFE, Applicability.MANUAL
_MATCH = "fn f(d: &Device) -> u32 {{ match d {{ Device::Cuda(_) => {}, Device::Cpu => {} }} }}"
_ENUM = "enum Kind {{ Cpu, {}Cuda{}, Metal }}"
_NVRTC = 'fn cuda_options() -> Vec<&\'static str> {{ compile(&["{}"]) }}'

TABLE = [
    ("constant", "const CUDA_ID: u8 = 1;", REVIEW, "`ROCM_ID` repeats `1`"),
    ("constant", "static CUDA_MASK: u32 = 1 << 1;", REVIEW, "`ROCM_MASK` repeats `1`"),
    ("constant", 'static CUDA_LIB: &str = "gpu";', REVIEW, '`ROCM_LIB` repeats `"gpu"`'),
    ("constant", 'const CUDA_NAME: &str = "cuda";', SAFE, ""),
    ("constant", "static CUDA_CELL: Cell = Cell::new(None);", SAFE, ""),
    (
        "constant of an implementation",
        "impl Backend for CudaBackend { const ID: u8 = 1; }",
        REVIEW,
        "`ID` repeats `1`",
    ),
    ("discriminant", _ENUM.format("", " = 1"), REVIEW, "`Rocm` gets `3`, which is free"),
    ("discriminant", _ENUM.format("", " = 1 << 4"), REVIEW, "`Rocm` gets `18`"),
    ("discriminant", "enum F { A = 1 << 0, Cuda = 1 << 1 }", REVIEW, "`Rocm` gets `1 << 2`"),
    ("discriminant", "#[repr(u8)] enum F { A = 255, Cuda = 4 }", REVIEW, "`Rocm` gets `5`"),
    ("discriminant", "enum F { A = first(), Cuda = 4 }", MANUAL, "(E0081)"),
    ("discriminant", "#[repr(i8)] enum F { A = 126, Cuda }", REVIEW, "have numbers"),
    ("default", _ENUM.format("#[default] ", ""), REVIEW, "`Cuda` stays the default"),
    ("order", "#[repr(u8)] " + _ENUM.format("", ""), REVIEW, "`repr` numbers the variants"),
    ("order", "#[derive(Ord)] " + _ENUM.format("", ""), REVIEW, "`Ord` counts or orders"),
    ("order", "#[derive(Serialize)] " + _ENUM.format("", ""), REVIEW, "`Serialize` counts"),
    ("order", "#[derive(FromPrimitive)] " + _ENUM.format("", ""), REVIEW, "`FromPrimitive`"),
    ("order", _ENUM.format("", "") + " fn n(k: Kind) -> u8 { k as u8 }", REVIEW, "`k as u8`"),
    ("order", _ENUM.format("", "") + " fn n() -> u8 { Kind::Cpu as u8 }", REVIEW, "A cast"),
    ("order", "#[pyclass(eq_int)] " + _ENUM.format("", ""), REVIEW, "Another language"),
    ("order", _ENUM.format("", ""), SAFE, ""),
    ("option", "struct A { #[arg(short = 'c', long)] cuda: bool }", REVIEW, "`short = 'c'`"),
    ("option", 'struct A { #[arg(long = "gpu")] cuda: bool }', REVIEW, '`long = "gpu"`'),
    ("option", "struct A { #[arg(short)] run: u8, #[arg(short)] cuda: u8 }", REVIEW, "`short`"),
    ("option", "struct A { #[arg(long)] cuda: bool }", SAFE, ""),
    ("option", 'struct A { #[arg(env = "GPU")] cuda: bool }', REVIEW, '`env = "GPU"`'),
    ("option", 'struct A { #[arg(long = "cuda-id")] cuda: u8 }', SAFE, ""),
    ("field's key", 'struct A { #[serde(rename = "gpu")] cuda: u8 }', REVIEW, '`rename = "gpu"`'),
    ("field's key", "#[derive(Deserialize)] struct A { cuda: u8 }", REVIEW, "Documents without"),
    ("field's key", "#[derive(Deserialize)] struct A { cuda: Option<u8> }", SAFE, ""),
    ("field's key", '#[derive(Message)] struct A { #[prost(tag = "3")] cuda: u8 }', MANUAL, "uniq"),
    ("variant's name", _ENUM.format('#[serde(alias = "gpu")] ', ""), REVIEW, '`alias = "gpu"`'),
    ("variant's name", _ENUM.format('#[strum(serialize = "gpu")] ', ""), REVIEW, "`serialize ="),
    ("variant's name", _ENUM.format('#[value(alias = "gpu")] ', ""), REVIEW, '`alias = "gpu"`'),
    ("variant's name", _ENUM.format('#[serde(rename = "cuda")] ', ""), SAFE, ""),
    ("answer", _MATCH.format("32", "1"), REVIEW, "answers with `32`"),
    ("answer", _MATCH.format("Some(b'c')", "None"), REVIEW, "answers with `b'c'`"),
    ("answer", _MATCH.format("10 + i as u8", "0"), REVIEW, "answers with `10`"),
    ("answer", _MATCH.format('"gpu".to_string()', "a()"), REVIEW, 'answers with `"gpu"`'),
    ("answer", _MATCH.format("{ log(); 7 }", "0"), REVIEW, "answers with `7`"),
    ("answer", _MATCH.format("CUDA_ID", "0"), SAFE, ""),
    ("answer", _MATCH.format('"cuda"', '"cpu"'), SAFE, ""),
    ("answer", _MATCH.format("1", "1"), SAFE, ""),
    ("answer", _MATCH.format("d.take(1)", "0"), SAFE, ""),
    ("answer", "fn cuda_warps() -> u32 { 32 }", REVIEW, "`rocm_warps` returns `32`"),
    ("answer", _MATCH.format("P { warp: 32 }", "p()"), REVIEW, "answers with `32`"),
    (
        "answer",
        "fn f(d: &Device) -> u32 { if let Device::Cuda(i) = d { return 32 + i; } 0 }",
        REVIEW,
        "answers with `32`",
    ),
    ("argument", 'fn f() { backends::cuda::register("gpu", 3); }', REVIEW, 'is given `"gpu"`'),
    ("argument", "fn f() { backends::cuda::start(true); }", SAFE, ""),
    ("maker", _MATCH.format("Some(Vendor::Nvidia)", "None"), REVIEW, "names `Vendor::Nvidia`"),
    ("maker", _ENUM.format("/// Of NVIDIA.\n", ""), REVIEW, "doc comment of the copy speaks"),
    (
        "begin",
        "struct P { cuda_port: u16 } fn f() -> P { P { cuda_port: 8080 } }",
        REVIEW,
        "begins with `8080`",
    ),
    ("begin", "struct P { cuda_port: u16 } fn f() -> P { P { cuda_port: 0 } }", SAFE, ""),
    (
        "selection by a string",
        'fn f(s: &str) -> Device { match s { "cuda" | "gpu" => Device::Cuda(0), _ => x() } }',
        SAFE,
        "copy the arm",
    ),
    (
        "selection by a string",
        'fn f(s: &str) -> u8 { match s { "cuda" | "gpu" => 1, _ => 0 } }',
        REVIEW,
        "answers with `1`",
    ),
    ("option of NVRTC", _NVRTC.format("--gpu-architecture=sm_80"), REVIEW, "`--gpu-architecture`"),
    ("option of NVRTC", _NVRTC.format("compute_80"), REVIEW, "`compute_80`"),
    ("option of NVRTC", _NVRTC.format("--std=c++17"), SAFE, ""),
    (
        "kernel in a string",
        'fn cuda_source() -> String { load("__global__ void k() { __shfl_down_sync(m, v, 1); }") }',
        REVIEW,
        "`__shfl_down_sync`",
    ),
    (
        "kernel in a string",
        'fn cuda_source() -> String { load("__global__ void k() { x = threadIdx.x % 32; }") }',
        REVIEW,
        "`32`",
    ),
    (
        "kernel in a string",
        'fn cuda_source() -> String { load("__global__ void k() { x = threadIdx.x; }") }',
        SAFE,
        "",
    ),
    ("warp", "impl CudaStorage { const WARP_SIZE: u32 = 32; }", REVIEW, "`WARP_SIZE` is 32"),
    (
        "capability",
        "fn cuda_run(d: &CudaDevice) { if sm_version >= 90 { fast(d) } }",
        REVIEW,
        "`sm_version >= 90`",
    ),
    ("warp", "fn cuda_run() { let warp_size = 32; go(warp_size) }", REVIEW, "`warp_size` is 32"),
    (
        "name outside the program",
        'fn cuda_gpus() -> Option<String> { std::env::var("CUDA_VISIBLE_DEVICES").ok() }',
        REVIEW,
        "A string names `CUDA_VISIBLE_DEVICES`",
    ),
    (
        "name outside the program",
        'fn cuda_file() -> &\'static str { "libcublas.so.12" }',
        REVIEW,
        "`libcublas.so.12`",
    ),
    (
        "name outside the program",
        'fn cuda_home() -> PathBuf { PathBuf::from("/usr/local/cuda") }',
        REVIEW,
        "`/usr/local/cuda`",
    ),
    ("name outside the program", 'fn cuda_home() { var("APP_CUDA_HOME") }', SAFE, ""),
    (
        "maker",
        'fn cuda_node(i: u8) { open(format!("/dev/nvidia{i}")) }',
        REVIEW,
        "`/dev/nvidia{i}`",
    ),
    ("argument of an arm", _MATCH.format("out.push(1)", "out.push(0)"), REVIEW, "gives `1`"),
    ("argument of an arm", _MATCH.format("out.push(1)", "out.push(1)"), SAFE, ""),
    ("argument of an arm", _MATCH.format("id(2).get()", "id(1).get()"), REVIEW, "gives `2`"),
    ("argument of an arm", _MATCH.format('s.unit("D", 1)', 's.unit("D", 0)'), REVIEW, "gives `1`"),
    ("argument of an arm", _MATCH.format('out.name("cuda")', 'out.name("cpu")'), SAFE, ""),
    ("answer", _MATCH.format("lanes = 32", "lanes = 1"), REVIEW, "answers with `32`"),
    ("answer", "fn cuda_mask() -> u32 { let mask = 7; mask }", REVIEW, "returns `7`"),
    ("answer", "fn cuda_mask() -> u32 { let m = 7; let m = g(m); m }", SAFE, ""),
    (
        "answer of a method",
        "impl Backend for CudaBackend { fn vendor() -> u32 { 0x10de } }",
        REVIEW,
        "`vendor` returns `0x10de`, as CUDA's `vendor` does",
    ),
]


@pytest.mark.parametrize(("kind", "text", "trust", "said"), TABLE)
@pytest.mark.parametrize("gating", ["dummy", "cfg"])
def test_a_value_is_reviewed(
    kind: str, text: str, trust: Applicability, said: str, gating: str
) -> None:
    found = scan_of(crate(f"{text}\n"), gating=gating).findings
    copied = [f for f in found if f.status == "todo" or f.applicability is MANUAL]
    assert [f.applicability for f in copied if said in f.message][:1] == [trust], kind
    if trust is SAFE:
        assert {f.applicability for f in copied} == {SAFE}


def test_strict_fails_on_a_mention_that_is_unaccounted_for(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_bytes(MANIFEST)
    (tmp_path / "src/lib.rs").write_text("pub fn f() { let _ = call!(Device::Cuda(0)); }\n")
    profile = tmp_path / "port"
    profile.mkdir()
    (profile / "codebase.toml").write_text(
        'name = "fixture"\ncrate = "fixture"\nfirst_version = "0.1.0"\n'
    )
    options = ("scan", tmp_path, "--profile", str(profile), "--check")
    assert invoke(*options).code == 0
    assert invoke(*options, "--strict").code == 1


@pytest.mark.parametrize(
    ("asked", "trust"), [('s == "cuda" || s == "gpu"', REVIEW), ('s == "cuda"', SAFE)]
)
def test_a_text_that_two_branches_accept_is_reviewed(asked: str, trust: Applicability) -> None:
    text = f"fn f(s: &str) -> Device {{ if {asked} {{ Device::Cuda(0) }} else {{ x() }} }}"
    (found,) = (f for f in scan_of(crate(text + "\n")).findings if f.code == "PK402")
    assert found.applicability is trust
    assert ('accepts `"gpu"` before' in found.message) is (trust is REVIEW)


def test_a_string_that_is_the_name_of_a_peer_is_no_text_for_people() -> None:
    found = scan_of(crate('const NAMES: [&str; 2] = ["cuda", "metal"];\n')).findings
    said = [f.message for f in found if f.applicability is Applicability.KEEP]
    assert said == ["This string is the name of a peer, and the port leaves peers as they are"]
