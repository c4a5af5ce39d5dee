"""Renaming: token by token, as the Rust reference has tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from portkit.profiles.profile import load_vendor
from portkit.syntax.name_table import NameTable, normalize_rust, strip_comments_and_strings

NAMES = load_vendor("rocm").names
SMALL = NameTable(
    words={"CudaStream": "HipStream", "launch": "rocm_launch"},
    parts=(("CUDA", "ROCM"), ("Cuda", "Rocm"), ("cuda", "rocm")),
    prose={"CUDA": "ROCm", "Cuda": "ROCm"},
    kept_strings=r"\w+_cuda",
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("glow::lit(glow)", "glow_rocm::lit(glow)"),
        ("use glow;", "use glow_rocm;"),
        ("use ::glow::{self, lit as glow};", "use ::glow_rocm::{self, lit as glow};"),
        ("extern crate glow;", "extern crate glow_rocm;"),
        # The same word inside a path, of a field, a method or an item is no crate.
        ("own::glow::lit", "own::glow::lit"),
        ("Vec::<u8>::glow::<f32>()", "Vec::<u8>::glow::<f32>()"),
        ("self.glow::<f32>()", "self.glow::<f32>()"),
        ("fn glow() {}", "fn glow() {}"),
        ('"glow::lit"', '"glow::lit"'),
    ],
)
def test_a_crate_is_renamed_where_a_path_begins_at_it(before: str, after: str) -> None:
    assert replace(SMALL, crates={"glow": "glow_rocm"}).rust(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The low-level types carry HIP's names, the high-level ones the backend's.
        ("CudaStream", "HipStream"),
        ("CudaDevice", "RocmDevice"),
        ("QCudaStorage", "QRocmStorage"),
        ("cuda_backend::CudaError", "rocm_backend::RocmError"),
        ("NotCompiledWithCudaSupport", "NotCompiledWithRocmSupport"),
        ("CUDA_DEVICE", "ROCM_DEVICE"),
        ("cudarc::driver::CudaSlice", "hip::driver::HipSlice"),
        ("CudaRng::new", "HipRng::new"),
        ("curand", "hiprand"),
        ("compile_ptx", "compile_hsaco"),
        ("loadPtx(PTX, ptx2, is_ptx, nvPTX)", "loadHsaco(HSACO, hsaco2, is_hsaco, nvHSACO)"),
        # A short word is found by chance in others, and counts where a piece begins.
        ("is_gptx(GPTX, pptx)", "is_gptx(GPTX, pptx)"),
        # What is named after no platform stays.
        ("Barracuda", "Barrarocm"),
        ("MetalDevice", "MetalDevice"),
        ("cutile", "cutile"),
        # The library for convolutions, with what the port of candle's feature is called.
        ("cudnn", "miopen"),
        ("CudnnDataType", "MiopenDataType"),
        ("cudnnStatus_t", "miopenStatus_t"),
    ],
)
def test_identifiers(before: str, after: str) -> None:
    assert NAMES.rust(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"cuda"', '"rocm"'),
        ('"build with --features cuda"', '"build with --features rocm"'),
        ('"CUDA error"', '"ROCm error"'),
        ('"{cuda} of {0}"', '"{rocm} of {0}"'),
        # A counterpart of several words stands in prose; no name, option or path has spaces in it.
        ('"cannot load PTX: {x}"', '"cannot load code object: {x}"'),
        ('"ptx"', '"hsaco"'),
        ('"--ptx"', '"--hsaco"'),
        ('"nvcc --ptx file"', '"nvcc --hsaco file"'),
        ('"the file {dir}/ptx is missing"', '"the file {dir}/hsaco is missing"'),
        ('"/affine.ptx"', '"/affine.hsaco"'),
        # Part of a path or of an option, it is a name wherever in that it stands.
        ('"load ptx/mod.bin now"', '"load hsaco/mod.bin now"'),
        ('"the ptx-kernels of it"', '"the hsaco-kernels of it"'),
        (r'"in out\\ptx\\mod now"', r'"in out\\hsaco\\mod now"'),
        ('"-emit=ptx -x"', '"-emit=hsaco -x"'),
        ('"-D ptx=1"', '"-D hsaco=1"'),
        ("// the PTX of it", "// the code object of it"),
        # An escaped quote does not end a string, an escaped backslash before the quote does.
        (r'"a \" cuda"', r'"a \" rocm"'),
        (r'"cuda \\" + cuda_fn()', r'"rocm \\" + rocm_fn()'),
        # Raw strings end with as many hashes as they began with; byte and C strings are strings.
        ('r"C:\\cuda\\"', 'r"C:\\rocm\\"'),
        ('r#"a "cuda" b"#', 'r#"a "rocm" b"#'),
        ('r##"cuda"#x"##', 'r##"rocm"#x"##'),
        ('b"cuda"', 'b"rocm"'),
        ('br#"cuda"#', 'br#"rocm"#'),
        ('c"cuda"', 'c"rocm"'),
        # The symbol of a kernel is no prose, however it is quoted.
        ('"mul_mat_vec_q4_0_q8_1_cuda"', '"mul_mat_vec_q4_0_q8_1_cuda"'),
        ('"mul_mat_q8_1_cuda2"', '"mul_mat_q8_1_cuda2"'),
        ('r"quantize_cuda"', 'r"quantize_cuda"'),
        ('"the cuda kernel"', '"the rocm kernel"'),
    ],
)
def test_strings(before: str, after: str) -> None:
    assert NAMES.rust(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("// Runs on CUDA.", "// Runs on ROCm."),
        ("/// See [`CudaDevice`].", "/// See [`RocmDevice`]."),
        ("// CUDA-capable, cuda's own", "// ROCm-capable, rocm's own"),
        ("/* CUDA */ cuda", "/* ROCm */ rocm"),
        # Block comments nest: the identifier is still inside.
        ("/* a /* b */ CUDA */ CUDA", "/* a /* b */ ROCm */ ROCM"),
        ("/* a /* b /* c */ */ CUDA */ CUDA", "/* a /* b /* c */ */ ROCm */ ROCM"),
        # A quote in a comment opens no string, two slashes in a string begin no comment.
        ("// don't say CUDA\ncuda", "// don't say ROCm\nrocm"),
        ('"// CUDA" + CUDA', '"// ROCm" + ROCM'),
        ("// https://docs.example.org/cuda/CUDA.html and cuda", None),
        ('"http://example.org/cuda" // cuda', None),
        # The ending of kernels' sources by itself; which file another name means is not known.
        ("/// Function in the .cu file", "/// Function in the .hip file"),
        ("// a `.cuh` and (.cu sources)", "// a `.h` and (.hip sources)"),
        ("// k.cu file, a/.cu files, self.current", None),
        # Part of a path is an identifier, not prose.
        ("/// See [`Device::Cuda`] of CUDA.", "/// See [`Device::Rocm`] of ROCm."),
        ("// Cuda::new and `cudarc::driver`", "// Rocm::new and `hip::driver`"),
        ("// asked of cudarc alone", "// asked of HIP bindings alone"),
        (
            "// https://docs.nvidia.com/cuda/cublas/index.html#cublas-t-gemm",
            "// https://rocm.docs.amd.com/projects/rocBLAS/en/latest/reference/level-3.html",
        ),
        ("// https://docs.nvidia.com/cuda/cublas/index.html", None),
    ],
)
def test_comments_and_addresses(before: str, after: str | None) -> None:
    stays = before[:-4] + "rocm" if before.endswith("cuda") else before
    wanted = stays if after is None else after
    assert NAMES.rust(before) == wanted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fn f<'cuda>(x: &'cuda str)", "fn f<'rocm>(x: &'rocm str)"),
        ("impl<'a> F<'a> for Cuda<'a, '_>", "impl<'a> F<'a> for Rocm<'a, '_>"),
        ("'\"' + cuda + '\"'", "'\"' + rocm + '\"'"),
        ("'\\'' + cuda", "'\\'' + rocm"),
        ("b'\"' + cuda", "b'\"' + rocm"),
        ("'\\u{1F600}' + cuda + 'é'", "'\\u{1F600}' + rocm + 'é'"),
        ("'outer: loop { cuda() }", "'outer: loop { rocm() }"),
        ("r#cuda + r#type", "r#rocm + r#type"),
    ],
)
def test_lifetimes_characters_and_raw_identifiers(before: str, after: str) -> None:
    assert NAMES.rust(before) == after


def test_a_word_is_taken_whole() -> None:
    assert SMALL.rust("launch(relaunch)") == "rocm_launch(relaunch)"
    assert SMALL.text("launch it on CUDA, not on CUDART") == "rocm_launch it on ROCm, not on ROCMRT"


def test_prose_of_a_message_and_of_code_differ() -> None:
    assert SMALL.rust('CUDA("CUDA") // CUDA') == 'ROCM("ROCm") // ROCm'


@pytest.mark.parametrize(
    ("code", "bare"),
    [
        ('cuda("cuda", r#"cuda"#) // cuda', 'cuda("", "")  '),
        ("a /* cuda /* cuda */ cuda */ b", "a   b"),
        ("'\"' // cuda", "'\"'  "),
        ("&'a str", "&'a str"),
        # The prefix of a literal is left; a word may end in its letter (the Rust reference, chapter
        # "Tokens").
        ('f(br#"a"b"#, c"\\"", r"\\", b\'"\')', 'f(b"", c"", "", b\'"\')'),
        ('xr"\\"" + "a"', 'xr"" + ""'),
        ("fn f<'a>(x: &'a str, c: '\"') {}", "fn f<'a>(x: &'a str, c: '\"') {}"),
    ],
)
def test_code_without_comments_and_strings(code: str, bare: str) -> None:
    assert strip_comments_and_strings(code) == bare


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f(a, b)", "f(\n    a, // first\n    b,\n)"),
        ("S { a, b }", "S {\n    a,\n    b,\n}"),
        ("[1, 2]", "[\n1,\n2,\n]"),
        ("A => b,", "A => b"),
        ("let a = b;", "let a = b"),
        ("a\n/* c /* d */ */ b", "a b"),
    ],
)
def test_layout_does_not_count(one: str, other: str) -> None:
    assert normalize_rust(one) == normalize_rust(other)


@pytest.mark.parametrize(
    ("one", "other"), [("a + b", "a - b"), ('"a"', '"b"'), ("f(a)", "f(a, b)"), ("// a\nb", "c")]
)
def test_what_it_says_counts(one: str, other: str) -> None:
    assert normalize_rust(one) != normalize_rust(other)


# Pieces that a text about backends is made of, in any order.
_PIECES = st.sampled_from(
    [
        *("CudaDevice", "cuda", "CUDA", "Cuda::", "CudaStream", "cudarc::driver", "cublas", "ptx"),
        *(
            "new_cuda(",
            "as_cuda_slice",
            "x",
            " ",
            "\n",
            "(",
            ")",
            "<'a>",
            "'",
            '"',
            "\\",
            "r#",
            "#",
        ),
        *("// ", "/*", "*/", "https://example.org/cuda ", '"q8_cuda"', "b'c'", "é", "Metal", ","),
    ]
)
_TEXTS = st.lists(_PIECES, max_size=30).map("".join)


@given(_TEXTS)
def test_renaming_what_is_renamed_changes_nothing(text: str) -> None:
    once = NAMES.rust(text)
    assert NAMES.rust(once) == once
    assert NAMES.text(NAMES.text(text)) == NAMES.text(text)


@given(_TEXTS)
def test_addresses_are_never_touched(text: str) -> None:
    address = "https://example.org/CUDA/cuda_toolkit"
    assert address in NAMES.text(f"{text} {address} {text}")


@given(_TEXTS)
def test_lines_and_layout_are_never_touched(text: str) -> None:
    assert NAMES.rust(text).count("\n") == text.count("\n")


@given(st.text(max_size=60))
def test_any_text_can_be_renamed(text: str) -> None:
    if "c" not in text.lower() and "ptx" not in text.lower() and "nv" not in text.lower():
        assert NAMES.rust(text) == text
    strip_comments_and_strings(text)
    normalize_rust(text)


@given(st.lists(st.sampled_from(["a", "b", "(", ")", "{", "}", "=>", "+"]), max_size=20))
def test_layout_never_counts(tokens: list[str]) -> None:
    assert normalize_rust(" ".join(tokens)) == normalize_rust("\n    ".join(tokens))
    assert normalize_rust(" ".join(tokens)) == normalize_rust(" /* c */ ".join(tokens))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A code object is no text: what embeds one embeds bytes.
        (
            'const K: &str = include_str!(concat!(env!("OUT_DIR"), "/k.ptx"));',
            'const K: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/k.hsaco"));',
        ),
        (
            'static K: &\'static str = include_str!("k.ptx");',
            'static K: &\'static [u8] = include_bytes!("k.hsaco");',
        ),
        (
            'const K: &str = include_str!(concat!(concat!(env!("OUT_DIR"), "/k"), ".ptx"));',
            'const K: &[u8] = include_bytes!(concat!(concat!(env!("OUT_DIR"), "/k"), ".hsaco"));',
        ),
        ('load(include_str!(env!("K_PTX")))', 'load(include_bytes!(env!("K_HSACO")))'),
        # Other files stay text.
        (
            '[include_str!("a.txt"), include_str!("b.ptx")]',
            '[include_str!("a.txt"), include_bytes!("b.hsaco")]',
        ),
        ('const K: &str = include_str!("a.cu");', 'const K: &str = include_str!("a.cu");'),
        # The ending of a file is a name and no prose.
        ('format!("{kernel}.ptx")', 'format!("{kernel}.hsaco")'),
        ("// the ptx in k.ptx", "// the code object in k.hsaco"),
    ],
)
def test_files_that_hold_bytes(before: str, after: str) -> None:
    assert NAMES.rust(before) == after


@pytest.mark.parametrize(
    ("code", "reads"),
    [
        ('fs::read_to_string("k.ptx")', True),
        ('fs::read_to_string(dir.join(format!("{name}.ptx")))', True),
        ('fs::read("k.ptx")', False),
        ('fs::read_to_string("k.cu")', False),
        ('(fs::read_to_string(path), "k.ptx")', False),
    ],
)
def test_bytes_that_are_read_as_text(code: str, *, reads: bool) -> None:
    assert NAMES.text_of_bytes(NAMES.rust(code)) == reads


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("const PTX_SRC: &'static str;", "const HSACO_SRC: &'static [u8];"),
        ("const PTX: &str = $kernel;", "const HSACO: &[u8] = $kernel;"),
        ("fn load(add_ptx: &str)", "fn load(add_hsaco: &[u8])"),
        ("fn load<'a>(ptx_image : &'a str)", "fn load<'a>(hsaco_image : &'a [u8])"),
        # A name of one, or what is written out, is text.
        ("const PTX_ENTRY: &str = entry();", "const HSACO_ENTRY: &str = entry();"),
        ('const ADD_PTX: &str = "add.ptx";', 'const ADD_HSACO: &str = "add.hsaco";'),
        ('const PTX: &str = include_str!("k.cu");', 'const HSACO: &str = include_str!("k.cu");'),
        ("fn load(ptx: &String, ptx_path: &str)", "fn load(hsaco: &String, hsaco_path: &str)"),
    ],
)
def test_what_holds_a_code_object_is_bytes(before: str, after: str) -> None:
    assert NAMES.rust(before) == after
