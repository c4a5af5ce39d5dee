"""Every position in which Rust's grammar allows a ``cfg``.

Source: the Rust reference, chapter "Attributes" and those of the constructs that it names; rustc's
own parser is asked as well (``test_positions.py``). In each text ``@`` stands where the attribute
is set; what follows it is CUDA's, or something that no name tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

CONDITIONS: Final = (
    '#[cfg(feature = "cuda")]',
    '#[cfg(not(feature = "cuda"))]',
    '#[cfg(any(feature = "cuda", feature = "metal"))]',
    '#[cfg(all(unix, feature = "cuda"))]',
    '#[cfg_attr(feature = "cuda", allow(unused))]',
)

_ITEMS: Final = (
    "extern crate cuda_sys;",
    "extern crate gpu as cuda;",
    "use gpu::cuda::Stream;",
    "use gpu::{cuda::Stream, Cpu};",
    "pub(crate) use gpu::CudaDevice;",
    "use gpu::cuda::*;",
    "mod cuda_backend;",
    "mod cuda { pub fn f() {} }",
    "fn cuda() {}",
    "pub fn run(d: &CudaDevice) -> usize { d.cuda() }",
    "async fn cuda() {}",
    "unsafe fn cuda() {}",
    'extern "C" fn cuda() {}',
    "const fn cuda() {}",
    "fn cuda<T: Clone>(t: T) where T: Copy {}",
    "type Cuda = usize;",
    "struct Cuda;",
    "struct Cuda(usize);",
    "struct Cuda { a: usize }",
    "struct Cuda<T>(T) where T: Copy;",
    "enum Cuda { A }",
    "union Cuda { a: u8, b: u8 }",
    "const CUDA: usize = 1;",
    "const _: usize = cuda();",
    "static CUDA: usize = 1;",
    "static mut CUDA: usize = 1;",
    "trait Cuda {}",
    "unsafe trait Cuda {}",
    "impl Cuda {}",
    "impl Run for Cuda {}",
    "unsafe impl Send for Cuda {}",
    "impl<T> From<T> for Cuda where T: Copy {}",
    'extern "C" { fn cuda(); }',
    'unsafe extern "C" { fn cuda(); }',
    "macro_rules! cuda { () => {}; }",
    "cuda! { a }",
    "cuda!(a);",
    "gpu::cuda![a];",
)
_STATEMENTS: Final = (
    "let cuda = 1;",
    "let cuda;",
    "let a: Cuda = cuda();",
    "let Some(cuda) = a else { return };",
    "cuda();",
    "gpu::cuda::set(1);",
    "a.cuda();",
    "cuda()?;",
    "a = cuda();",
    "a += cuda();",
    "{ cuda() }",
    "{ cuda(); }",
    "unsafe { cuda() }",
    "if a { cuda() }",
    "if a { cuda() } else { b() }",
    "if let Device::Cuda(a) = b { a.run() }",
    "match a { _ => cuda() }",
    "loop { cuda() }",
    "while a { cuda() }",
    "for a in cuda() {}",
    "return cuda();",
    "break;",
    "cuda!(a);",
    "cuda! { a }",
    "|| cuda();",
    "async { cuda() };",
    "const { cuda() };",
)
_PLACES: Final = (
    # Fields and variants.
    "struct S { @cuda: usize }",
    "struct S { @pub cuda: usize, a: usize }",
    "struct S { a: usize, @pub(crate) cuda: Cuda, }",
    "struct S(@Cuda);",
    "struct S(u8, @pub Cuda, u8);",
    "struct S(u8, @pub(crate) CudaDevice,);",
    "union U { a: u8, @cuda: u8 }",
    "enum E { @Cuda }",
    "enum E { A, @Cuda, B }",
    "enum E { A, @Cuda(usize), }",
    "enum E { A, @Cuda { a: usize } }",
    "enum E { A = 1, @Cuda = 2 }",
    "enum E { A(@Cuda) }",
    "enum E { A { @cuda: usize } }",
    # Members.
    "trait T { @fn cuda(); }",
    "trait T { @fn cuda() {} fn a(); }",
    "trait T { @const CUDA: usize; }",
    "trait T { @type Cuda; }",
    "trait T { @cuda!(); }",
    "impl T for S { @fn cuda() {} }",
    "impl T for S { @const CUDA: usize = 1; }",
    "impl T for S { @type Cuda = u8; }",
    "impl S { @pub fn cuda(&self) {} }",
    "impl S { @fn run(&self) -> Cuda { cuda() } fn a() {} }",
    "impl S { @const CUDA: usize = 1; }",
    "impl S { @cuda!(); }",
    'extern "C" { @fn cuda(); }',
    'extern "C" { @static CUDA: u8; }',
    'extern "C" { @type Cuda; }',
    'extern "C" { @cuda!(); }',
    # Parameters.
    "fn f(@cuda: usize) {}",
    "fn f(a: usize, @cuda: Cuda, b: usize) {}",
    "fn f(a: usize, @cuda: Cuda,) {}",
    "fn f(@_: Cuda) {}",
    "impl S { fn f(@&self, cuda: u8) {} }",
    "impl S { fn f(&self, @cuda: Cuda) {} }",
    "trait T { fn f(&self, @cuda: Cuda); }",
    "type F = fn(@cuda: u8);",
    "type F = fn(a: u8, @Cuda) -> u8;",
    'extern "C" { fn f(a: u8, @cuda: u8); }',
    'extern "C" { fn f(a: u8, @...); }',
    "const F: fn() = || { let c = |@cuda: u8, b: u8| b; };",
    "fn f<@'cuda>(a: &'cuda u8) {}",
    "fn f<@Cuda>(a: Cuda) {}",
    "fn f<'a, @Cuda: Copy, B>(a: Cuda, b: &'a B) {}",
    "fn f<@const CUDA: usize>() {}",
    "struct S<@Cuda>(Cuda);",
    "impl<@Cuda> S<Cuda> {}",
    # Arms and patterns.
    "fn f() { match a { @Cuda => 1, _ => 0 } }",
    "fn f() { match a { Cpu => 0, @Device::Cuda(d) => d.run(), } }",
    "fn f() { match a { @Device::Cuda(d) if d.a() => { 1 } _ => 0 } }",
    "fn f() { match a { @Device::Cuda(_) | Device::Metal(_) => 1, _ => 0 } }",
    'fn f() { match a { @"cuda" => 1, _ => 0 } }',
    "fn f() { match a { Cpu => 0, @_ => cuda() } }",
    "fn f() { let S { @cuda, a } = s; }",
    "fn f() { let S { a, @cuda: b } = s; }",
    "fn f() { let S { a, @ref cuda, .. } = s; }",
    "fn f() { let S { @cuda: _, .. } = s; }",
    # Values of lists.
    "fn f() { S { @cuda, a } }",
    "fn f() { S { a, @cuda } }",
    "fn f() { S { a, @cuda, } }",
    "fn f() { S { a: 1, @cuda, ..d } }",
    "fn f() { S { @cuda: 1, a } }",
    "fn f() { S { a, @cuda: cuda() } }",
    "fn f() { S { a, @cuda: 1, } }",
    "fn f() { S { @a: cuda(), b } }",
    "fn f() { S { 0: a, @1: cuda() } }",
    "fn f() { [@cuda(), a] }",
    "fn f() { [a, @cuda()] }",
    "fn f() { [a, @cuda::N, b,] }",
    "fn f() { g(@cuda(), a) }",
    "fn f() { g(a, @cuda()) }",
    "fn f() { g(a, @&cuda, b,) }",
    "fn f() { a.g(@cuda()) }",
    "fn f() { (@cuda(), a) }",
    "fn f() { (a, @cuda()) }",
    "fn f() { (a, @cuda::N,) }",
)


def positions() -> tuple[str, ...]:
    """Return each text, sorted by what it is about, with ``@`` where the attribute is set."""
    return tuple(_every())


def _every() -> Iterator[str]:
    for item in _ITEMS:
        yield f"@{item}"
    for item in _ITEMS:
        if not item.startswith(("pub(crate)", "extern crate")):
            yield f"fn a() {{}}\n\nmod m {{\n    @{item}\n}}"
    for statement in _STATEMENTS:
        yield f"fn f() {{\n    a();\n    @{statement}\n    b();\n}}"
        yield f"fn f() {{ @{statement} b() }}"
    for tail in (
        "cuda()",
        "gpu::cuda::N",
        "S { cuda }",
        "{ cuda() }",
        "if a { cuda() }",
        "a.cuda()",
    ):
        yield f"fn f() {{\n    a();\n    @{tail}\n}}"
    yield from _PLACES


def spread(text: str) -> str:
    """Return a text with each member of its innermost list on a line of its own."""
    at = text.index("@")
    depth, start = 0, 0
    for i in range(at - 1, -1, -1):
        depth += {")": 1, "]": 1, "}": 1, "(": -1, "[": -1, "{": -1}.get(text[i], 0)
        if depth < 0:
            start = i + 1
            break
    out: list[str] = []
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[i], 0)
        if depth < 0:
            return f"{text[:start]}\n    {''.join(out).strip()}\n{text[i:]}"
        out.append(",\n    " if text[i] == "," and depth == 0 else text[i])
    return text
