"""Which kernels Rust code asks for by name, and whether they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_support import add_file, make_candle
from tree_support import MANIFEST, port_of

from portkit.engine.session import scan_tree
from portkit.hipify.symbols import Symbols
from portkit.verify.kernel_names import NAMES, compare_names
from portkit.verify.options import Options
from portkit.verify.requested_kernels import (
    ANYTHING,
    DTYPE,
    KernelRequest,
    Loader,
    find_kernel_requests,
    find_loader,
    list_dtypes,
)
from portkit.verify.settings import KernelNaming
from portkit.verify.step_runner import Verdict
from portkit.verify.verified_tree import VerifiedTree

if TYPE_CHECKING:
    from pathlib import Path

    from portkit.context.port_job import PortJob
    from portkit.verify.step_runner import Outcome

CANDLE = KernelNaming(
    loaders=("get_or_load_func", "get_or_load_custom_func"),
    suffixed="kernel_name",
    dtypes="DType::as_str",
    explained="is not implemented for",
)
DTYPES = """impl DType {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::F32 => "f32",
            Self::F8E4M3 => "f8e4m3",
        }
    }
}
"""
# Two macros that implement traits, one of them with two arms, and an implementation by hand.
OPS = """pub struct Exp;
pub struct Abs;
macro_rules! unary_op {
    ($op:ident, $name:literal, $e:expr) => {
        impl UnaryOpT for $op {
            const NAME: &'static str = $name;
            const KERNEL: &'static str = concat!("u", $name);
        }
    };
    ($op: ident, $name: literal, $e: expr, $f: ident) => {
        impl UnaryOpT for $op {
            const KERNEL: &'static str = concat!("u", $name);
        }
    };
}
macro_rules! bin_op {
    ($op:ident, $name:ident) => {
        impl BinaryOpT for $op {
            const KERNEL: &'static str = concat!("b", stringify!($name));
        }
    };
}
unary_op!(Exp, "exp", |v| v.exp(1, 2));
unary_op!(
    Log,
    "log", |v| v.ln(), vs_ln
);
bin_op!(Add, add);
impl UnaryOpT for Abs {
    const NAME: &'static str = "abs";
    const KERNEL: &'static str = "uabs";
}
"""


def job(body: str, outer: str = "fn rocm_fwd(&self)", **files: str) -> PortJob:
    """Return a crate with one function of ROCm's."""
    sources = {"lib": f"{outer} {{\n{body}\n}}\n", **files}
    tree = {f"src/{stem}.rs": text.encode() for stem, text in sources.items()}
    return port_of({"Cargo.toml": MANIFEST, **tree})


def names(body: str, outer: str = "fn rocm_fwd(&self)", **files: str) -> tuple[str, ...]:
    (call,) = find_kernel_requests(job(body, outer, **files), CANDLE)
    assert call.unknown == ""
    return call.names


# --- what is asked for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ('dev.get_or_load_func("ucopy_f32", &kernels::UNARY)?;', ("ucopy_f32",)),
        (
            'dev.get_or_load_func(&kernel_name::<T>("affine"), &kernels::AFFINE)?;',
            (f"affine_{DTYPE}",),
        ),
        (
            'let name = match op { Op::A => "eq", Op::B => "ne", _ => bail!("{op}") };\n'
            "dev.get_or_load_func(&kernel_name::<T>(name), &kernels::BINARY)?;",
            (f"eq_{DTYPE}", f"ne_{DTYPE}"),
        ),
        (
            'let ((p, _g), name) = match s {\n S::U8(x) => { let p = ptr(x); (p, "where_u8") }\n'
            ' _ => Err(E { msg: "no" }).w()?,\n};\n'
            "dev.get_or_load_func(name, &kernels::TERNARY)?;",
            ("where_u8",),
        ),
        (
            'let (name, big) = match op { A => ("sum", 1), B => ("max", 2) };\n'
            'let (cfg, chosen) = if big { (c(1), "sum_small") } else { (c(2), name) };\n'
            "dev.get_or_load_func(&kernel_name::<T>(chosen), &kernels::REDUCE)?;",
            (f"max_{DTYPE}", f"sum_small_{DTYPE}", f"sum_{DTYPE}"),
        ),
        (
            'let name = format!("cast_{}_{}", self.dtype().as_str(), dtype.as_str());\n'
            "dev.get_or_load_func(&name, &kernels::CAST)?;",
            (f"cast_{DTYPE}_{DTYPE}",),
        ),
        (
            'let name = match d { Q4 => "mul_q4", _ => return Err(e) };\n'
            'let name = format!("{name}_b{size}");\n'
            "dev.get_or_load_func(&name, &kernels::QUANTIZED)?;",
            (f"mul_q4_b{ANYTHING}",),
        ),
        ('dev.get_or_load_custom_func("rms", "module", rocm::LAYERNORM)?;', ("rms",)),
    ],
)
def test_names_are_read_from_the_syntax(body: str, wanted: tuple[str, ...]) -> None:
    assert names(body) == wanted


@pytest.mark.parametrize(
    ("trait", "wanted"),
    [
        ("UnaryOpT", (f"uabs_{DTYPE}", f"uexp_{DTYPE}", f"ulog_{DTYPE}")),
        ("crate::op::BinaryOpT", (f"badd_{DTYPE}",)),
    ],
)
def test_constants_of_a_trait_are_those_of_its_implementations(
    trait: str, wanted: tuple[str, ...]
) -> None:
    body = "fn f<T>(&self) { dev.get_or_load_func(&kernel_name::<T>(U::KERNEL), &kernels::M)?; }"
    assert names(body, f"impl<U: {trait}> Map1 for Rocm<U>", op=OPS) == wanted


@pytest.mark.parametrize(
    ("body", "unknown"),
    [
        ("dev.get_or_load_func(name, &kernels::UNARY)?;", "name"),
        ("let name = self.name();\ndev.get_or_load_func(name, &kernels::UNARY)?;", "self.name()"),
        (
            'let name = match op { A => "eq", B => other(op) };\n'
            "dev.get_or_load_func(name, &kernels::BINARY)?;",
            "other(op)",
        ),
        ("dev.get_or_load_func(&kernel_name::<T>(U::KERNEL), &kernels::M)?;", "U::KERNEL"),
    ],
)
def test_what_is_not_understood_is_said(body: str, unknown: str) -> None:
    (call,) = find_kernel_requests(job(body), CANDLE)
    assert (call.names, call.unknown) == ((), unknown)


@pytest.mark.parametrize("outer", ["fn cuda_fwd(&self)", "mod cuda"])
def test_calls_of_cuda_are_not_ours(outer: str) -> None:
    body = 'fn f() { dev.get_or_load_func("affine_f32", &kernels::AFFINE)?; }'
    assert find_kernel_requests(job(body, outer), CANDLE) == []
    assert len(find_kernel_requests(job(body, "mod rocm"), CANDLE)) == 1


def test_a_call_is_where_it_stands() -> None:
    (call,) = find_kernel_requests(
        job('\n  dev.get_or_load_func("a", &candle_kernels::FILL)?;'), CANDLE
    )
    assert (call.place, call.module) == ("src/lib.rs:3", "FILL")


def test_dtypes_are_those_of_the_tree() -> None:
    assert list_dtypes(job("", dtype=DTYPES), CANDLE) == ("u8", "f32", "f8e4m3")
    assert list_dtypes(job(""), CANDLE) == ()


def test_the_loader_says_what_it_does_with_a_name() -> None:
    body = """impl RocmDevice {
    pub fn get_or_load_func(&self, name: &str, mdl: &Module) -> Result<Func> {
        let kernel = name.replace("f8e4m3", "f8_e4m3");
        let other = name.replace("f8e4m3", "fp8_e4m3");
        crate::bail!("{name} is not implemented for {dtype}")
    }
}"""
    found = find_loader(job("", rocm_device=body), CANDLE)
    assert found == Loader((("f8e4m3", ("f8_e4m3", "fp8_e4m3")),), True)
    assert found.candidate_names("cast_f8e4m3_f8e4m3") == (
        "cast_f8_e4m3_f8_e4m3",
        "cast_fp8_e4m3_fp8_e4m3",
    )
    assert found.candidate_names("cast_u8_f32") == ("cast_u8_f32",)
    # CUDA's own loader is another.
    assert find_loader(job("", cuda_device=body), CANDLE) == Loader((), False)


# --- whether it is there -----------------------------------------------------------------------

KERNELS = {
    "affine": {"affine_u8", "affine_f32", "affine_f8_e4m3"},
    "fill": {"fill_u8", "fill_f32"},
    "unary": {"uabs_u8", "uabs_f32", "uabs_fp8_e4m3"},
    "quantized": {"mul_q4_b1", "mul_q4_b2"},
}
DEFINED = {module: Symbols(frozenset(found)) for module, found in KERNELS.items()}
KNOWN = ("u8", "f32", "f8e4m3")
SPELLED = Loader((("f8e4m3", ("f8_e4m3", "fp8_e4m3")),), True)


def asked(module: str, *wanted: str, unknown: str = "") -> KernelRequest:
    return KernelRequest("a.rs", 7, module, wanted, unknown)


def test_a_dtype_that_is_spelled_otherwise_is_wrong_until_the_loader_spells_it() -> None:
    call = asked("AFFINE", f"affine_{DTYPE}")
    found = compare_names([call], DEFINED, KNOWN, Loader((), True))
    assert found.wrong == ("a.rs:7: affine_f8e4m3 is asked for, and the kernel is affine_f8_e4m3",)
    for module, name in [("AFFINE", "affine"), ("UNARY", "uabs")]:
        found = compare_names([asked(module, f"{name}_{DTYPE}")], DEFINED, KNOWN, SPELLED)
        assert (found.found, found.wrong, found.unimplemented) == (3, (), {})


@pytest.mark.parametrize("name", [f"fill_{DTYPE}", "fill_f8e4m3"])
def test_a_dtype_that_is_missing_is_not_implemented(name: str) -> None:
    found = compare_names([asked("FILL", name)], DEFINED, KNOWN, SPELLED)
    assert found.wrong == ()
    assert found.unimplemented == {"fill": {"fill": ("f8_e4m3",)}}
    assert found.absent == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (asked("FILL", "full_f32"), "a.rs:7: fill.hip has no kernel full_f32"),
        (asked("FILL", f"full_{DTYPE}"), "a.rs:7: fill.hip has no kernel full_*"),
        (asked("FILL", "Fill_F32"), "a.rs:7: Fill_F32 is asked for, and the kernel is fill_f32"),
        (asked("SORT", "asort_f32"), "a.rs:7: there is no HIP source for the module SORT"),
        (
            asked("FILL", unknown="name()"),
            "a.rs:7: it cannot be told which kernel name() names",
        ),
        (
            asked("QUANTIZED", f"mul_q5_b{ANYTHING}"),
            "a.rs:7: quantized.hip has no kernel mul_q5_b*",
        ),
    ],
)
def test_what_is_not_there_is_wrong(call: KernelRequest, message: str) -> None:
    found = compare_names([call], DEFINED, KNOWN, SPELLED)
    assert (found.wrong, found.unimplemented) == ((message,), {})


def test_a_number_that_is_only_known_at_run_time_needs_one_kernel() -> None:
    found = compare_names([asked("QUANTIZED", f"mul_q4_b{ANYTHING}")], DEFINED, KNOWN, SPELLED)
    assert (found.found, found.wrong) == (1, ())


# --- the step ----------------------------------------------------------------------------------

LOADER = """impl RocmDevice {
    pub fn get_or_load_func(&self, fn_name: &str, mdl: &Module) -> Result<Func> {
        crate::bail!("{op} is not implemented for {dtype}")
    }
}
"""
FWD = """fn rocm_fwd(&self) {
    dev.get_or_load_func(&kernel_name::<T>("fill"), &kernels::FILL)?;
}
"""
FILL = 'extern "C" __global__ void fill_f32(float *x) {}\n'
FFI = 'extern "C" {\n    pub fn launch_gemm(n: i32) -> i32;\n}\n'
LAUNCHER = 'extern "C" int launch_gemm(int n) { return n; }\n'
CRATE = "candle-rocm-kernels"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A ported candle, as small as it can be."""
    root = make_candle(tmp_path / "candle")
    for path, text in {
        "candle-core/src/dtype.rs": DTYPES,
        "candle-core/src/rocm_device.rs": LOADER,
        "candle-core/src/fwd.rs": FWD,
        f"{CRATE}/src/fill.hip": FILL,
        f"{CRATE}/src/moe/gemm.hip": LAUNCHER,
        f"{CRATE}/src/ffi.rs": FFI,
    }.items():
        add_file(root, path, text.encode())
    return root


def take(root: Path) -> Outcome:
    return NAMES.take(VerifiedTree(scan_tree(root, gating="dummy"), Options(), lambda line: None))


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_the_step_passes_and_says_what_is_not_implemented(tree: Path) -> None:
    outcome = take(tree)
    assert outcome.verdict is Verdict.PASSED, outcome.evidence
    assert outcome.evidence == (
        "1 names that 1 places ask for are kernels",
        "2 more have no kernel of that dtype in the sources: the error says so",
        "fill: not for f8e4m3, u8: fill",
    )
    assert outcome.figures == {"found": 1, "not implemented": 2, "wrong": 0}


@pytest.mark.parametrize(
    ("path", "old", "new", "message"),
    [
        (
            "candle-core/src/fwd.rs",
            '"fill"',
            '"full"',
            "candle-core/src/fwd.rs:2: fill.hip has no kernel full_*",
        ),
        (
            f"{CRATE}/src/fill.hip",
            "fill_f32",
            "full_f32",
            "candle-core/src/fwd.rs:2: fill.hip has no kernel fill_*",
        ),
        (
            "candle-core/src/rocm_device.rs",
            "not implemented",
            "missing",
            "2 names differ from a kernel's in the dtype alone, and get_or_load_func and"
            " get_or_load_custom_func do not say that it is not implemented",
        ),
        (
            f"{CRATE}/src/moe/gemm.hip",
            "launch_gemm",
            "launch_other",
            f"{CRATE}/src/ffi.rs: no HIP source defines launch_gemm",
        ),
    ],
)
def test_the_step_fails(tree: Path, path: str, old: str, new: str, message: str) -> None:
    change(tree / path, old, new)
    outcome = take(tree)
    assert outcome.verdict is Verdict.FAILED
    assert outcome.evidence == (message,)


@pytest.mark.parametrize("crate", ["a-before", "z-after"])
def test_another_source_of_the_same_name_is_no_module(tree: Path, crate: str) -> None:
    add_file(tree, f"{crate}/src/fill.hip", b"// made at run time\n")
    outcome = take(tree)
    assert outcome.verdict is Verdict.PASSED, outcome.evidence


def test_the_step_is_skipped_where_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    outcome = take(make_candle(tmp_path / "candle"))
    assert outcome.verdict is Verdict.SKIPPED
    assert "is the tree ported?" in outcome.evidence[0]


def test_the_step_is_skipped_without_a_preprocessor(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = scan_tree(tree, gating="dummy")
    monkeypatch.setenv("CC", str(tmp_path / "none"))
    outcome = NAMES.take(VerifiedTree(scan, Options(), lambda line: None))
    assert outcome.verdict is Verdict.SKIPPED
    assert "install one, or set CC" in outcome.evidence[0]


def test_a_tree_without_a_profile_is_skipped(tree: Path) -> None:
    change(tree / "candle-core" / "Cargo.toml", "candle-core", "another")
    assert take(tree).verdict is Verdict.SKIPPED
